"""Execution of independent jobs in this process, in worker processes, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Lost:
    """Outcome of a job whose worker died, as that of its repetition did.

    Attributes:
        why: for messages.
    """

    why: str


class Executor(Protocol):
    """Execution of a function for many items; a context manager, whose end terminates what is still executed.

    Attributes:
        in_process: whether jobs are executed in this process, one after another.
    """

    in_process: bool

    def as_completed(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result | Lost]]:
        """Yield the index of each item with its result, in the order of completion.

        Args:
            work: function of one item; of a module, or a `functools.partial` of one, unless in this process.
            items: what it is called with.

        Raises:
            MultiQpError: the workers are gone, or do not fit.
            Exception: of `work`; it ends the execution.
        """
        ...

    def close(self) -> None:
        """Terminate what is still executed."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Terminate what is still executed."""
        ...


def in_order(results: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """Yield results in the order of their indices, each as soon as those before it are complete."""
    waiting: dict[int, Result] = {}
    following = 0
    for k, result in results:
        waiting[k] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def executor_of(workers: int, cluster: str | None = None) -> Executor:
    """Return the executor of this machine, or that of a cluster.

    Args:
        workers: number of processes on this machine; with 1, jobs are executed in this process.
        cluster: address of a Dask scheduler, as `tcp://host:8786`; used instead if given.

    Raises:
        MultiQpError: the cluster does not answer, or its workers do not fit.
    """
    if cluster is not None:
        from multi_qp_scene.cluster import ClusterExecutor  # Dask is an optional dependency

        return ClusterExecutor(cluster)
    from multi_qp_scene.processes import LocalExecutor

    return LocalExecutor(workers)
