"""Longest stalls of processes or messages that a scene tolerates in real-time mode, at times throughout its run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np

from multi_qp_controller.command import Status
from multi_qp_ros.delayed_graph import DelayedGraph, Stall
from multi_qp_scene.scenario import Scenario

#: Kinds of stalls: processes without CPU time, or lost messages.
STALL_KINDS: dict[str, Callable[[float], Stall]] = {
    "controller": lambda length: Stall(length, controller=True),
    "robots": lambda length: Stall(length, robots=True),
    "both": lambda length: Stall(length, controller=True, robots=True),
    "states": lambda length: Stall(length, states=True),
    "commands": lambda length: Stall(length, commands=True),
}
#: Duration of a run after a stall [s]; failures occur within a third of it.
AFTERWARDS = 0.8
#: A stall is tolerated if none of this number of last commands is a fallback.
LAST = 5


@dataclass(frozen=True)
class StallTrial:
    """Result of one stall.

    Attributes:
        at: beginning of the stall [s].
        state: state of the controller at the beginning.
        kind: key of `STALL_KINDS`.
        length: duration of the stall [s].
        tolerated: whether the last commands are not fallbacks and the robots' state is finite.
        fastest: largest speed of any joint or base from the beginning on [rad/s, m/s].
        fallbacks: number of commands without a QP solution.
    """

    at: float
    state: str
    kind: str
    length: float
    tolerated: bool
    fastest: float
    fallbacks: int


def try_stalls(
    load: Callable[[], Scenario],
    lengths: Sequence[float],
    *,
    every: float,
    until: float,
    kinds: Sequence[str] = tuple(STALL_KINDS),
    seed: int = 0,
    dt: float | None = None,
    jobs: int = 1,
) -> Iterator[StallTrial]:
    """Simulate a run without stalls, and try every stall at random times of it, each in a forked process.

    Args:
        load: loads the scenario.
        lengths: durations of stalls [s].
        every: length of the intervals in each of which one time is drawn [s].
        until: end time, if the run does not end earlier [s].
        kinds: keys of `STALL_KINDS`.
        seed: seed of the times and of the delays.
        dt: control period [s]; the scenario's if None.
        jobs: number of parallel processes.

    Returns:
        The trials in the order of their times.
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


def _side_by_side(graph: DelayedGraph, stalls: Sequence[tuple[str, float]]) -> list[StallTrial]:
    context = get_context("fork")  # a copy of the present state of this process
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
    graph.stall(STALL_KINDS[kind](length))
    graph.go(at + length + AFTERWARDS)
    last = graph.statuses[-LAST:]
    tolerated = not graph.simulated_robot.broken and bool(last) and Status.FALLBACK not in last
    answer.send(StallTrial(at, state, kind, length, tolerated, graph.fastest, graph.statuses.count(Status.FALLBACK)))


def tolerated_by_state(trials: Sequence[StallTrial]) -> dict[str, dict[str, float]]:
    """Return the longest stall [s] tolerated at all times of a state, like all shorter ones, by state and kind.

    It is 0 where the shortest one was not tolerated.
    """
    lengths = sorted({trial.length for trial in trials})
    well: dict[tuple[str, str, float], bool] = defaultdict(lambda: True)
    for trial in trials:
        well[trial.state, trial.kind, trial.length] &= trial.tolerated
    found: dict[str, dict[str, float]] = {}
    for trial in trials:
        longest = 0.0
        for length in lengths:
            if not well[trial.state, trial.kind, length]:
                break
            longest = length
        found.setdefault(trial.state, {})[trial.kind] = longest
    return found
