"""How the tick grows with the number of characters, and how soon a hopeless tick is recognised."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_cli.benches.crowd import load_crowd
from multi_qp_cli.benches.result import spread
from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.physical import Solved
from multi_qp_controller.qp import Solution
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

Array = NDArray[np.float64]
#: An answer, and the time that it took [ms].
Timed = tuple[Command, float]
Answer = Callable[[Controller, State, int], Timed]

#: Sizes of the crowd, unless the user chooses.
SIZES = (1, 2, 4, 8, 16, 32)
#: Sizes from here on count for the exponent.
SMALLEST_FITTED = 4
_TICKS, _REPETITIONS = 25, 20
#: What is asked of a knee [rad/s²], and the controller's deadline, which no tick shall reach here [s].
HOPELESS, DEADLINE = (2e3, 2e4, 2e5), 10.0


def measure_growth(sizes: list[int], kind: str = "chain") -> dict[str, Any]:
    """Run a crowd of each size for a few ticks, all sizes in turn; fit t ∝ N^p to the medians, on the processor."""
    with tempfile.TemporaryDirectory() as folder:
        scenarios = {size: load_crowd(kind, size, Path(folder)) for size in sorted(set(sizes))}
    controllers = {size: Controller(scenario) for size, scenario in scenarios.items()}
    worlds = {size: Integrator(scenario) for size, scenario in scenarios.items()}
    ticks: dict[int, list[float]] = {size: [] for size in scenarios}
    for tick in range(_TICKS):
        for size, controller in controllers.items():
            begun = thread_time()
            command = controller.step(worlds[size].state, tick * controller.dt)
            ticks[size].append(1e3 * (thread_time() - begun))
            worlds[size].step(command, controller.dt)
    times = {str(size): spread(values[5:]) for size, values in ticks.items()}
    fitted = [(float(n), t["median"]) for n, t in times.items() if int(n) >= SMALLEST_FITTED]
    exponent = None
    if len(fitted) > 1:
        sizes_and_times = np.log(np.array(fitted))
        exponent = float(np.polyfit(sizes_and_times[:, 0], sizes_and_times[:, 1], 1)[0])
    return {"ms": times, "exponent": exponent}


def measure_hopeless(ticks: int = 30) -> dict[str, Any]:
    """Return what whole ticks of `king` take whose QP has no solution, or whose state holds a NaN, on the processor.

    A knee is asked for accelerations that it has no torque for: at least so many rad/s², beyond any motor's. First
    until the search has proven that there is no solution, by a controller as it is by default; then whole ticks with
    what they answer, by one with a deadline, as for a world that does not wait.
    """
    scenario = load_scenario("king")
    patient, hurried = Controller(scenario), Controller(scenario, deadline=DEADLINE)
    world = Integrator(scenario)
    for tick in range(ticks):
        command = patient.step(world.state, tick * patient.dt)
        hurried.step(world.state, tick * hurried.dt)
        world.step(command, patient.dt)
    found: dict[str, Any] = {}
    entry = int(scenario.scene.actuated_v[list(_knees(scenario))[0]])
    for asked in HOPELESS:
        for name, controller, answer in (
            ("until it is proven", patient, _until_proven),
            ("infeasible", hurried, _timed),
        ):

            def hopeless(controller: Controller = controller, answer: Answer = answer, asked: float = asked) -> Timed:
                with _asked(controller, entry, asked):
                    return answer(controller, world.state, ticks)

            measured = _by_turns(hopeless, controller, world.state, ticks)
            if measured.pop("ok"):
                raise RuntimeError(f"a QP that asks for {asked:g} rad/s² was called solved")
            found[f"{name}, {asked:g} rad/s²"] = measured
    blind = State(np.full_like(world.state.q, np.nan), world.state.v)
    found["NaN"] = _by_turns(lambda: _timed(hurried, blind, ticks), hurried, world.state, ticks)
    found["NaN"].pop("ok")
    return found


def _by_turns(hopeless: Callable[[], Timed], controller: Controller, state: State, tick: int) -> dict[str, Any]:
    """Return what hopeless ticks and usual ones take by turns, medians, and the last answer."""
    times, usual, answered = [], [], False
    for _ in range(_REPETITIONS):
        command, took = hopeless()
        times.append(took)
        answered = answered or command.diagnostics.status is Status.OK
        _timed(controller, state, tick)  # which starts from nothing
        usual.append(_timed(controller, state, tick)[1])
    status = command.diagnostics.status.value
    median, expected = float(np.median(times)), float(np.median(usual))
    return {"recognised_ms": median, "tick_ms": expected, "answer": status, "ok": answered}


@contextmanager
def _asked(controller: Controller, entry: int, asked: float) -> Iterator[None]:
    """Have the controller ask for an acceleration of one joint [rad/s²], beyond what any motor gives."""
    limits = controller.statement.joint_limits
    update = limits.update

    def ask(q: Array, v: Array) -> None:
        update(q, v)
        limits.lower[entry], limits.upper[entry] = asked, asked + 1.0

    limits.update = ask  # type: ignore[method-assign]
    try:
        yield
    finally:
        limits.update = update  # type: ignore[method-assign]


def _timed(controller: Controller, state: State, tick: int) -> Timed:
    """Return the answer to a state, and the time on the processor that it took [ms]."""
    begun = thread_time()
    command = controller.step(state, tick * controller.dt)
    return command, 1e3 * (thread_time() - begun)


class _Proven(Exception):
    """Ends a tick where its search has found that there is no solution."""


def _until_proven(controller: Controller, state: State, tick: int) -> Timed:
    """Return what a tick falls back to that ends with the proof that there is no solution; the time until then [ms]."""
    formulation, solve = controller.formulation, controller.formulation.solve

    def watched(start: Solution | None, *, price: float | None = None) -> Solved | None:
        solved = solve(start, price=price)
        if solved is None or solved.solution.status != "infeasible":
            raise RuntimeError("a hopeless QP was not found to be one")
        raise _Proven

    formulation.solve = watched  # type: ignore[method-assign]
    command, took = _timed(controller, state, tick)
    formulation.solve = solve  # type: ignore[method-assign]
    if not command.diagnostics.message.startswith(_Proven.__name__):
        raise RuntimeError(command.diagnostics.message)
    return command, took


def _knees(scenario: Scenario) -> Iterator[int]:
    names = scenario.scene.actuated_joint_names
    return (motor for motor, name in enumerate(names) if "KNEE" in name)
