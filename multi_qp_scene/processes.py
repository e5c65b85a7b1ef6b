"""Execution of jobs in worker processes on this machine."""

from __future__ import annotations

import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self

from multi_qp_scene.executor import Item, Lost, Result

# spawned processes: threads of the parent, as of a progress bar, do not survive a fork
_CONTEXT = get_context("spawn")


class _Worker:
    """A process that calls one function with the items that it receives."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.connection, there = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()
        self.connection.send(work)

    def stop(self) -> int | None:
        """End the process, and return its exit code; negative is that of a signal."""
        self.connection.close()
        self.process.terminate()
        self.process.join()
        return self.process.exitcode


class LocalExecutor:
    """Executor with processes of one core each; with one worker, jobs are executed in this process.

    A job whose process dies is repeated once; then it is lost. Items are taken when a process is free.
    """

    def __init__(self, workers: int) -> None:
        self.in_process = workers <= 1
        self._count = workers
        self._workers: dict[Connection, _Worker] = {}

    def as_completed(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result | Lost]]:
        """Yield the index of each item with its result; see `Executor`."""
        if self.in_process:
            yield from ((k, work(item)) for k, item in enumerate(items))
            return
        try:
            yield from self._side_by_side(work, enumerate(items))
        finally:
            self.close()

    def _side_by_side(
        self, work: Callable[[Item], Result], jobs: Iterator[tuple[int, Item]]
    ) -> Iterator[tuple[int, Result | Lost]]:
        again: deque[tuple[int, Item]] = deque()
        repeated: set[int] = set()
        free: list[_Worker] = []
        busy: dict[Connection, tuple[int, Item]] = {}
        while True:
            while len(busy) < self._count and (job := again.popleft() if again else next(jobs, None)) is not None:
                worker = free.pop() if free else self._new_worker(work)
                worker.connection.send(job[1])
                busy[worker.connection] = job
            if not busy:
                return
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                k, item = busy.pop(connection)
                try:
                    result, error = connection.recv()
                except (EOFError, OSError):
                    code = self._workers.pop(connection).stop()
                    if k in repeated:
                        yield k, Lost(f"its process ended twice, the last time with exit code {code}")
                    else:
                        repeated.add(k)
                        again.append((k, item))
                    continue
                free.append(self._workers[connection])
                if error is not None:
                    raise error
                yield k, result

    def _new_worker(self, work: Callable[[Any], Any]) -> _Worker:
        worker = _Worker(work)
        self._workers[worker.connection] = worker
        return worker

    def close(self) -> None:
        """Terminate all processes."""
        while self._workers:
            self._workers.popitem()[1].stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Terminate all processes."""
        self.close()


def _serve(connection: Connection) -> None:
    """Receive a function, then items; answer each with a result or an exception."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it silently, since the parent reports
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before numpy is imported, with the function
    try:
        work = connection.recv()
        while True:
            connection.send(_answer(work, connection.recv()))
    except (EOFError, BrokenPipeError):  # the parent is gone, or needs no more
        return


def _answer(work: Callable[[Any], Any], item: Any) -> tuple[Any, Exception | None]:
    try:
        return work(item), None
    except Exception as error:
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return None, error
