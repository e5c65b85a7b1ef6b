"""Times of one scene: all ticks, and solves of the same QP by all solvers at some of them."""

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
from multi_qp_controller.qp import Solution, Solver, make_solver
from multi_qp_controller.qp.formulations import Formulation, make_formulation
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import Run, make_backend

#: (formulation, solver, "cold" or "warm")
Key = tuple[str, str, str]
#: Solvers with warm start.
WARM = ("daqp", "proxqp")


@dataclass
class Solves:
    """Times of one solver on one formulation.

    Attributes:
        milliseconds: CPU time of each solve.
        failures: number of solves without a solution.
        difference: the largest in q̈ and τ from the solution of the run, relative to the largest entry.
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
        tick: wall time of full ticks, `step` and `post_update` [ms].
        cpu: CPU time of full ticks [ms].
        answer: CPU time of `step`, from state to command [ms].
        again: as `cpu` in further runs, one list each.
        parts: median times of the parts of a tick [µs].
        solves: times of the recorded QPs.
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
        """Return the time of a solver for the QP alone, in ticks; None: of the fastest except the dense reference."""
        medians = [
            spread(solves.milliseconds)["median"]
            for key, solves in self.solves.items()
            if key[0] == formulation and (key[1] == solver if solver else key[1] != "quadprog")
        ]
        return min(medians) / spread(self.cpu[10:])["median"] if medians else float("nan")

    def own(self) -> list[float]:
        """Return the minimum of each tick over all runs, which excludes interference from the machine [ms].

        Ticks are normalised by the median of their run: otherwise, with a CPU that was faster in one run, the median
        would be of that run and the slowest tick of another.
        """
        length = min(map(len, (self.cpu, *self.again)))
        runs = np.array([run[:length] for run in (self.cpu, *self.again)])
        medians = np.median(runs, axis=1)
        own: list[float] = ((runs / medians[:, None]).min(axis=0) * medians.min()).tolist()
        return own

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for `--json`."""
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
    """Run a scene; solve its QP at `samples` evenly spaced ticks by all solvers in all formulations.

    With `profile`, timers run within the ticks, which makes these slightly longer.
    """
    scenario = load_scenario(name)
    expected = ticks or max(40, _length(name))
    controller = Controller(scenario)
    times = SceneTimes(name, scenario.scene.nv)
    timers = Profile(controller) if profile else None
    _time_ticks(controller, times.tick, times.cpu, times.answer, None if timers is None else timers.end_tick)
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
    if timers is not None:
        times.parts = timers.medians()
    return times


def measure_again(times: SceneTimes) -> None:
    """Run a scene again with a new controller through the same states, without other solvers."""
    scenario, cpu = load_scenario(times.scene), list[float]()
    controller = Controller(scenario)
    _time_ticks(controller, [], cpu, [])

    def observe(*_: object) -> None:
        if len(cpu) >= len(times.cpu):
            run.stop()

    run = Run(scenario, controller, make_backend("integrator", scenario), observers=[observe])
    run.execute()
    times.again.append(cpu)


def _time_ticks(
    controller: Controller,
    tick: list[float],
    cpu: list[float],
    answer: list[float],
    tick_ended: Callable[[float], None] | None = None,
) -> None:
    """Record wall and CPU time of every tick, and CPU time of `step` alone [ms].

    `tick_ended` is called with the wall time of each tick after it.
    """
    step, post_update = controller.step, controller.post_update

    def timed_step(state: State, time: float) -> Command:
        clock, busy = perf_counter(), thread_time()
        command = step(state, time)
        answer.append(1e3 * (thread_time() - busy))
        cpu.append(answer[-1])
        tick.append(1e3 * (perf_counter() - clock))
        return command

    def timed_post_update() -> None:
        if len(over) == len(tick):
            return  # `step` begins with it if it has not been called
        clock, busy = perf_counter(), thread_time()
        post_update()
        cpu[-1] += 1e3 * (thread_time() - busy)
        tick[-1] += 1e3 * (perf_counter() - clock)
        over.append(tick[-1])
        if tick_ended is not None:
            tick_ended(tick[-1])

    over: list[float] = []
    controller.step, controller.post_update = timed_step, timed_post_update  # type: ignore[method-assign]


def _length(name: str) -> int:
    """Return the approximate number of ticks of a scene, whose duration limit is much longer."""
    scenario = load_scenario(name)
    return int(min(scenario.spec.duration, 20.0) / scenario.spec.dt)


class _Peers:
    """All solvers, applied to the QP of the controller's last tick."""

    def __init__(self, controller: Controller, solvers: list[str], formulations: list[str], times: SceneTimes) -> None:
        self._qp_data = controller.qp_data
        self._formulations: dict[str, Formulation] = {
            name: make_formulation(name, controller.qp_data) for name in formulations
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
        """Solve a sample once with each solver."""
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
        begun = thread_time()  # CPU time: other processes may run on this machine
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
