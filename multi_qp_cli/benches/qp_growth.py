"""How the tick grows with the number of characters, and how soon a hopeless tick is recognised."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
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

#: Sizes of the crowd, unless the user chooses.
SIZES = (1, 2, 4, 8, 16, 32)
#: Sizes from here on count for the exponent.
SMALLEST_FITTED = 4
_TICKS = 25
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
    patient = Controller(scenario)
    controller, world = Controller(scenario, deadline=DEADLINE), Integrator(scenario)
    usual = []
    for tick in range(ticks):
        command, took = _timed(controller, world.state, tick)
        usual.append(took)
        patient.step(world.state, tick * patient.dt)
        world.step(command, controller.dt)
    median = float(np.median(usual[10:]))
    found: dict[str, Any] = {}
    limits = controller.statement.joint_limits
    patient_limits = patient.statement.joint_limits
    patient_update = patient_limits.update
    update, entry = limits.update, int(scenario.scene.actuated_v[list(_knees(scenario))[0]])
    for asked in HOPELESS:

        def ask(q: Array, v: Array, asked: float = asked) -> None:
            update(q, v)
            limits.lower[entry], limits.upper[entry] = asked, asked + 1.0

        def ask_patient(q: Array, v: Array, asked: float = asked) -> None:
            patient_update(q, v)
            patient_limits.lower[entry], patient_limits.upper[entry] = asked, asked + 1.0

        patient_limits.update = ask_patient  # type: ignore[method-assign]
        proofs = [_until_proven(patient, world.state, ticks) for _ in range(10)]
        patient_limits.update = patient_update  # type: ignore[method-assign]
        found[f"until it is proven, {asked:g} rad/s²"] = _hopeless(proofs, median) | {"answer": "no solution"}
        limits.update = ask  # type: ignore[method-assign]
        answers = [_timed(controller, world.state, ticks) for _ in range(10)]
        limits.update = update  # type: ignore[method-assign]
        if any(command.diagnostics.status is Status.OK for command, _ in answers):
            raise RuntimeError(f"a QP that asks for {asked:g} rad/s² was called solved")
        found[f"infeasible, {asked:g} rad/s²"] = _hopeless(answers, median)
        _timed(controller, world.state, ticks)
    blind = State(np.full_like(world.state.q, np.nan), world.state.v)
    found["NaN"] = _hopeless([_timed(controller, blind, ticks) for _ in range(10)], median)
    return found


def _timed(controller: Controller, state: State, tick: int) -> tuple[Command, float]:
    """Return the answer to a state, and the time on the processor that it took [ms]."""
    begun = thread_time()
    command = controller.step(state, tick * controller.dt)
    return command, 1e3 * (thread_time() - begun)


class _Proven(Exception):
    """Ends a tick where its search has found that there is no solution."""


def _until_proven(controller: Controller, state: State, tick: int) -> tuple[Command, float]:
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


def _hopeless(answers: list[tuple[Command, float]], median: float) -> dict[str, Any]:
    status = answers[-1][0].diagnostics.status.value
    return {"recognised_ms": float(np.median([took for _, took in answers])), "tick_ms": median, "answer": status}
