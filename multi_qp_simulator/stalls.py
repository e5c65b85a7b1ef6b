"""How long a stall a scene survives by the wall clock, at moments of its whole run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np

from multi_qp_controller.command import Status
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.delayed_graph import DelayedGraph, Stall

#: What may stall: whose process has no processor, or which messages are lost.
KINDS: dict[str, Callable[[float], Stall]] = {
    "controller": lambda length: Stall(length, controller=True),
    "robots": lambda length: Stall(length, robots=True),
    "both": lambda length: Stall(length, controller=True, robots=True),
    "states": lambda length: Stall(length, states=True),
    "commands": lambda length: Stall(length, commands=True),
}
#: For how long a run goes on after a stall [s]: what comes apart does so within a third of it.
AFTERWARDS = 0.8
#: A stall is survived if none of so many answers at the end is a fallback.
LAST = 5


@dataclass(frozen=True)
class Trial:
    """What came of one stall.

    Attributes:
        at: when it began [s].
        state: of the controller then.
        kind: of `KINDS`.
        length: of the stall [s].
        survived: whether the run went on well after it.
        fastest: largest speed of any joint or base from its beginning on [rad/s, m/s].
        fallbacks: answers without a solution.
    """

    at: float
    state: str
    kind: str
    length: float
    survived: bool
    fastest: float
    fallbacks: int


def try_stalls(
    load: Callable[[], Scenario],
    lengths: Sequence[float],
    *,
    every: float,
    until: float,
    kinds: Sequence[str] = tuple(KINDS),
    seed: int = 0,
    dt: float | None = None,
    jobs: int = 1,
) -> Iterator[Trial]:
    """Go through a run without stalls, and try every stall at moments of it, each in a copy of the process.

    Args:
        load: loads the scenario.
        lengths: of stalls [s].
        every: one moment is drawn in each span of so long [s].
        until: where to end, if the run has not ended by then [s].
        kinds: of `KINDS`.
        seed: of the moments, and of delays.
        dt: control period [s]; the scenario's if None.
        jobs: how many copies at a time.

    Returns:
        The trials, moment by moment.
    """
    graph, rng = DelayedGraph(load, dt=dt, seed=seed), np.random.default_rng(seed)
    stalls = [(kind, length) for kind in kinds for length in lengths]
    start = 0.0
    while start < until:
        graph.go(min(until, start + every * rng.random()))
        if graph.ended:
            return
        if graph.statuses:
            for first in range(0, len(stalls), jobs):
                yield from _side_by_side(graph, stalls[first : first + jobs])
        start += every


def _side_by_side(graph: DelayedGraph, stalls: Sequence[tuple[str, float]]) -> list[Trial]:
    context = get_context("fork")  # the copy goes on from where this process is
    copies = []
    for stall in stalls:
        here, there = context.Pipe(duplex=False)
        copies.append((context.Process(target=_try, args=(graph, *stall, there)), here))
        copies[-1][0].start()
        there.close()
    trials = [here.recv() for _, here in copies]
    for copy, _ in copies:
        copy.join()
    return trials


def _try(graph: DelayedGraph, kind: str, length: float, answer: Connection) -> None:
    at, state = graph.now, graph.phase
    graph.statuses.clear()
    graph.fastest = 0.0
    graph.stall(KINDS[kind](length))
    graph.go(at + length + AFTERWARDS)
    last = graph.statuses[-LAST:]
    survived = not graph.stand_in.broken and bool(last) and Status.FALLBACK not in last
    answer.send(Trial(at, state, kind, length, survived, graph.fastest, graph.statuses.count(Status.FALLBACK)))


def survived_by_state(trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
    """Return the longest stall [s] that was survived at all moments of a state, with all shorter ones, by kind.

    0 where the shortest one was not.
    """
    lengths = sorted({trial.length for trial in trials})
    well: dict[tuple[str, str, float], bool] = defaultdict(lambda: True)
    for trial in trials:
        well[trial.state, trial.kind, trial.length] &= trial.survived
    found: dict[str, dict[str, float]] = {}
    for trial in trials:
        longest = 0.0
        for length in lengths:
            if not well[trial.state, trial.kind, length]:
                break
            longest = length
        found.setdefault(trial.state, {})[trial.kind] = longest
    return found
