"""Times of one scene: its ticks as they come, and beside some of them the same QP by everybody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from multi_qp_cli.benches.qp_profile import Profile
from multi_qp_cli.benches.result import spread
from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.formulations import Formulation, make_formulation
from multi_qp_controller.qp import Solution, Solver, make_solver
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import Run, make_backend

#: (formulation, solver, "cold" or "warm")
Key = tuple[str, str, str]
#: Solvers that take a warm start.
WARM = ("daqp", "proxqp")


@dataclass
class Solves:
    """Times of one solver on one formulation.

    Attributes:
        milliseconds: of each solve, on the processor.
        failures: how many found nothing.
        difference: the largest in q̈ and τ from the run's own answer, relative to the largest entry.
    """

    milliseconds: list[float] = field(default_factory=list)
    failures: int = 0
    difference: float = 0.0


@dataclass
class SceneTimes:
    """Times of one scene.

    Attributes:
        scene: its name.
        dofs: its degrees of freedom.
        tick: whole ticks, from state in to settled, by the clock [ms].
        cpu: whole ticks, by the time that this thread had the processor [ms].
        answer: of each tick, from state in to torque out, on the processor [ms].
        again: the same as `cpu` in further runs, one list each.
        parts: where the time of a tick goes, medians [µs].
        solves: of the recorded QPs.
    """

    scene: str
    dofs: int
    tick: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    answer: list[float] = field(default_factory=list)
    again: list[list[float]] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    solves: dict[Key, Solves] = field(default_factory=dict)

    def ratio(self, formulation: str, solver: str | None) -> float:
        """Return how many ticks a solver takes for the QP alone; None: the best of all but the dense reference."""
        medians = [
            spread(solves.milliseconds)["median"]
            for key, solves in self.solves.items()
            if key[0] == formulation and (key[1] == solver if solver else key[1] != "quadprog")
        ]
        return min(medians) / spread(self.cpu[10:])["median"] if medians else float("nan")

    def own(self) -> list[float]:
        """Return the least of each tick over all runs, which is its own; the rest is the machine's doing [ms].

        Ticks are compared in medians of their run: a processor that was faster in one of them would have its median
        from that one, and the slowest tick, which nothing hides in one of the others.
        """
        length = min(map(len, (self.cpu, *self.again)))
        runs = np.array([run[:length] for run in (self.cpu, *self.again)])
        medians = np.median(runs, axis=1)
        own: list[float] = ((runs / medians[:, None]).min(axis=0) * medians.min()).tolist()
        return own

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for `--json`."""
        return {
            "dofs": self.dofs,
            "tick_ms": spread(self.tick[10:]),
            "tick_cpu_ms": spread(self.cpu[10:]),
            "answer_cpu_ms": spread(self.answer[10:]),
            "tick_own_ms": {"runs": 1 + len(self.again), **spread(self.own()[10:])},
            "parts_us": self.parts,
            "solves": [
                {
                    "formulation": formulation,
                    "solver": solver,
                    "start": start,
                    "ms": spread(solves.milliseconds),
                    "failures": solves.failures,
                    "difference": solves.difference,
                }
                for (formulation, solver, start), solves in self.solves.items()
            ],
        }


def measure_scene(
    name: str, *, solvers: list[str], formulations: list[str], samples: int, ticks: int | None, profile: bool = False
) -> SceneTimes:
    """Run a scene; solve its QP at `samples` ticks, spread over the run, by every solver in every formulation.

    With `profile`, stopwatches run inside the ticks, which makes these a little longer.
    """
    scenario = load_scenario(name)
    expected = ticks or max(40, _length(name))
    controller = Controller(scenario)
    times = SceneTimes(name, scenario.scene.nv)
    stopwatches = Profile(controller) if profile else None
    _on_the_clock(
        controller, times.tick, times.cpu, times.answer, None if stopwatches is None else stopwatches.end_tick
    )
    peers = _Peers(controller, solvers, formulations, times)
    every = max(2, expected // samples)

    def observe(_: Controller, command: Command) -> None:
        tick = len(times.tick) - 1
        if command.diagnostics.status is Status.OK:
            if tick % every == every - 2:
                peers.warm_up()
            elif tick % every == every - 1:
                peers.solve(command)
        if ticks is not None and len(times.tick) >= ticks:
            run.stop()

    run = Run(scenario, controller, make_backend("integrator", scenario), observers=[observe])
    run.execute()
    if stopwatches is not None:
        times.parts = stopwatches.medians()
    return times


def measure_again(times: SceneTimes) -> None:
    """Run a scene once more, by a controller of its own, through the same states: nobody else is measured beside it."""
    scenario, cpu = load_scenario(times.scene), list[float]()
    controller = Controller(scenario)
    _on_the_clock(controller, [], cpu, [])

    def observe(*_: object) -> None:
        if len(cpu) >= len(times.cpu):
            run.stop()

    run = Run(scenario, controller, make_backend("integrator", scenario), observers=[observe])
    run.execute()
    times.again.append(cpu)


def _on_the_clock(
    controller: Controller,
    tick: list[float],
    cpu: list[float],
    answer: list[float],
    settled: Callable[[float], None] | None = None,
) -> None:
    """Note from outside how long every tick takes, by the clock and on the processor, and its answer alone [ms].

    `settled` is told how long each tick took by the clock, once it is over.
    """
    step, settle = controller.step, controller.settle

    def timed_step(state: State, time: float) -> Command:
        clock, busy = perf_counter(), thread_time()
        command = step(state, time)
        answer.append(1e3 * (thread_time() - busy))
        cpu.append(answer[-1])
        tick.append(1e3 * (perf_counter() - clock))
        return command

    def timed_settle() -> None:
        if len(over) == len(tick):
            return  # a step begins with it: it has been done
        clock, busy = perf_counter(), thread_time()
        settle()
        cpu[-1] += 1e3 * (thread_time() - busy)
        tick[-1] += 1e3 * (perf_counter() - clock)
        over.append(tick[-1])
        if settled is not None:
            settled(tick[-1])

    over: list[float] = []
    controller.step, controller.settle = timed_step, timed_settle  # type: ignore[method-assign]


def _length(name: str) -> int:
    """Return about how many ticks a scene takes; its longest duration is much longer."""
    scenario = load_scenario(name)
    return int(min(scenario.spec.duration, 20.0) / scenario.spec.dt)


class _Peers:
    """The other solvers, on the statement of the controller's last tick."""

    def __init__(self, controller: Controller, solvers: list[str], formulations: list[str], times: SceneTimes) -> None:
        self._statement = controller.statement
        self._formulations: dict[str, Formulation] = {
            name: make_formulation(name, controller.statement) for name in formulations
        }
        self._solvers: dict[str, Solver] = {name: make_solver(name) for name in solvers}
        self._times = times
        self._starts: dict[tuple[str, str], Solution] = {}

    def warm_up(self) -> None:
        """Solve the tick before a sample, for the warm starts."""
        self._starts.clear()
        for formulation, made in self._formulations.items():
            made.prepare()
            problem = made.build()
            for solver in WARM:
                if solver in self._solvers:
                    self._starts[formulation, solver] = self._solvers[solver].solve(problem)

    def solve(self, command: Command) -> None:
        """Solve a sample: everybody once, one after the other."""
        for formulation, made in self._formulations.items():
            made.prepare()
            problem = made.build()
            for name, solver in self._solvers.items():
                self._timed((formulation, name, "cold"), solver, problem, made, None, command)
                start = self._starts.get((formulation, name))
                if start is not None and start.found:
                    self._timed((formulation, name, "warm"), solver, problem, made, start, command)

    def _timed(
        self, key: Key, solver: Solver, problem: Any, made: Formulation, start: Solution | None, command: Command
    ) -> None:
        begun = thread_time()  # of the processor: others may run on this machine
        solution = solver.solve(problem, warm_start=start)
        elapsed = 1e3 * (thread_time() - begun)
        solves = self._times.solves.setdefault(key, Solves())
        solves.milliseconds.append(elapsed)
        if not solution.found:
            solves.failures += 1
            return
        answer = made.recover(solution.x)
        for value, expected in ((answer.acceleration, command.a), (answer.torque, command.tau)):
            worst = float(np.abs(value - expected).max() / max(1.0, np.abs(expected).max()))
            solves.difference = max(solves.difference, worst)
