"""Execution of jobs on the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata as metadata
import logging
import platform
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.executor import Item, Lost, Result
from multi_qp_scene.resources import PACKAGE_NAME, resource_dirs

try:
    import distributed
    from distributed.comm.core import connect
except ImportError as error:
    raise MultiQpError("--cluster needs Dask: pip install 'multi_qp_controller[cluster]'") from error

#: Time for the scheduler to answer [s].
ANSWER = 5.0
#: Time without any worker after which the run ends: a worker that died is started again within seconds [s].
ABSENCE = 30.0
#: Interval between two looks at the workers [s].
LOOK = 2.0
#: Libraries that results depend on.
LIBRARIES = ("numpy", "scipy", "numba", "pin", "mujoco", "casadi", "crocoddyl", "distributed")


class ClusterExecutor:
    """Executor with the workers of a Dask cluster.

    A job whose worker dies is repeated by the scheduler, as often as its configuration allows; then it is lost.
    """

    in_process = False

    def __init__(self, address: str) -> None:
        """Connect.

        Args:
            address: of the scheduler, as `tcp://host:8786`.

        Raises:
            MultiQpError: there is no scheduler, it has no workers, or they have other code or several threads.
        """
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is in our messages
        self._address = address
        try:
            asyncio.run(asyncio.wait_for(_reached(address), ANSWER))  # a failed Client would block for 10 s more
            self._client: Any = distributed.Client(address, timeout=ANSWER)
        except ValueError as error:
            raise MultiQpError(f"--cluster: expected an address as tcp://host:8786, got '{address}': {error}") from None
        except (OSError, TimeoutError):
            raise MultiQpError(
                f"--cluster: no Dask scheduler answers at '{address}' within {ANSWER:.0f} s; start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`"
            ) from None
        self._running: dict[Any, int] = {}
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    def _check_workers(self) -> None:
        if not self._client.scheduler_info()["workers"]:
            raise MultiQpError(
                f"--cluster: the scheduler at '{self._address}' has no workers; "
                f"start some with `dask worker {self._address} --nthreads 1`"
            )
        answers = self._client.run(require_same, state_of_code(), on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, MultiQpError):
                raise answer
            if isinstance(answer, Exception):  # without our package, or with one that has no such function
                raise MultiQpError(f"--cluster: the worker {worker} cannot execute {PACKAGE_NAME}: {answer}")

    def as_completed(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result | Lost]]:
        """Yield the index of each item with its result; see `Executor`."""
        call = partial(_on_worker, state_of_code(), work)
        self._running = {self._client.submit(call, item, pure=False): k for k, item in enumerate(items)}
        seen = monotonic()
        while self._running:
            try:
                done = distributed.wait(list(self._running), timeout=LOOK, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            except CancelledError:
                raise self._gone("the scheduler") from None
            if done or self._client.scheduler_info()["workers"]:
                seen = monotonic()
            elif monotonic() - seen > ABSENCE:
                raise self._gone("all workers")
            for future in done:
                yield self._running.pop(future), _result(future)

    def _gone(self, what: str) -> MultiQpError:
        return MultiQpError(f"--cluster: {what} of '{self._address}' ended; {len(self._running)} jobs are not done")

    def close(self) -> None:
        """Cancel jobs that wait, restart the workers that execute one, and disconnect."""
        with suppress(Exception):  # the cluster may be gone
            if self._running and self._client.status == "running":
                keys = {future.key for future in self._running}
                processing = self._client.processing()
                self._client.cancel(list(self._running), force=True)
                ours = [worker for worker, tasks in processing.items() if keys & set(tasks)]
                if ours:
                    self._client.restart_workers(ours, timeout=ANSWER, raise_for_error=False)
        self._running = {}
        with suppress(Exception):
            self._client.close(timeout=ANSWER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Cancel what is still executed, and disconnect."""
        self.close()


async def _reached(address: str) -> None:
    await (await connect(address, timeout=ANSWER)).close()


def _result(future: Any) -> Any:
    try:
        return future.result()
    except RuntimeError as error:
        if "deserialization" not in str(error):
            raise
        raise MultiQpError(f"--cluster: {PACKAGE_NAME} is not installed where the scheduler is executed") from error
    except distributed.KilledWorker as error:
        return Lost(f"its workers died, the last one at {error.last_worker.address}")


def _on_worker(state: dict[str, str], work: Callable[[Any], Any], item: Any) -> Any:
    """Call a function on a worker, which may have joined the cluster after the others were checked."""
    from threadpoolctl import threadpool_limits

    require_same(state)
    with threadpool_limits(1):
        return work(item)


@cache
def state_of_code() -> dict[str, str]:
    """Return versions of Python and of libraries, and a hash of this package with its models and scenarios."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            found[library] = "missing"
    packages = (metadata.distribution(PACKAGE_NAME).read_text("top_level.txt") or "").split()
    files = [path for name in packages for path in (Path(__file__).parents[1] / name).rglob("*.py")]
    data = [folder / name for folder in resource_dirs()[:1] for name in ("config", "urdf")]
    files += [path for folder in data for path in folder.rglob("*") if path.is_file()]
    hashes = sorted(hashlib.sha256(path.read_bytes()).digest() for path in files)
    return {**found, PACKAGE_NAME: hashlib.sha256(b"".join(hashes)).hexdigest()[:12]}


def require_same(state: dict[str, str], dask_worker: Any = None) -> None:
    """Check that a worker has one thread and the code of the client.

    Args:
        state: of the client's code.
        dask_worker: the worker; that of the present job if None.

    Raises:
        MultiQpError: it has not.
    """
    worker = dask_worker or distributed.get_worker()
    if worker.state.nthreads != 1:  # threads would share kernels and what jobs have set up
        raise MultiQpError(
            f"--cluster: the worker {worker.address} has {worker.state.nthreads} threads; expected one: "
            "`dask worker ADDRESS --nthreads 1 --nworkers N`"
        )
    here = state_of_code()
    other = [f"{name} {here.get(name)} instead of {value}" for name, value in state.items() if here.get(name) != value]
    if other:
        raise MultiQpError(
            f"--cluster: the worker {worker.address} has {', '.join(other)}; install the same, and restart it"
        )
