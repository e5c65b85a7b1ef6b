"""Benchmark of ticks whose QP is infeasible or whose state is NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.constraints import JointLimitConstraint
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp import Solution
from multi_qp_controller.qp.physical_solution import Solved
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

#: Command, status, and CPU time [ms].
TimedCommand = tuple[Command, str, float]
Step = Callable[[Controller, State, int], TimedCommand]

#: Required accelerations of a knee [rad/s²], and the deadline of the controller, which no tick reaches here [s].
REQUIRED, DEADLINE = (2e4, 2e5, 2e6), 10.0
#: Regular ticks between two infeasible ones of a kind, and number of infeasible ticks of a kind.
BETWEEN, TIMES = 10, 20


def measure_infeasible(times: int = TIMES) -> dict[str, Any]:
    """Return CPU times of full ticks of `king` whose QP is infeasible, or whose state contains NaN.

    Infeasible: a lower bound on the acceleration of a knee that exceeds its torque limit even without contacts.
    Measured are the time until infeasibility is proven, with a controller of default settings, and full ticks with
    their fallback, with a controller with a deadline. The scene continues meanwhile: every infeasible tick is at a new
    state and follows the preceding regular tick, and its time is compared with the regular ticks of the run.
    """
    scenario = load_scenario("king")
    running = Controller(scenario)
    unlimited, time_limited = Controller(scenario), Controller(scenario, deadline=DEADLINE)
    backend = Integrator(scenario)
    entry = int(scenario.scene.actuated_v[list(_knees(scenario))[0]])
    kinds: dict[str, tuple[Controller, Step]] = {"NaN": (time_limited, _not_finite)}
    for required in REQUIRED:
        kinds[f"until proven infeasible, {required:g} rad/s²"] = unlimited, _requiring(entry, required, _until_proven)
        kinds[f"infeasible, {required:g} rad/s²"] = time_limited, _requiring(entry, required, _timed)
    regular: list[float] = []
    times_ms: dict[str, list[float]] = {name: [] for name in kinds}
    statuses: dict[str, list[str]] = {name: [] for name in kinds}
    for _ in range(times):
        states = []
        for tick in range(len(regular), len(regular) + BETWEEN):
            states.append(backend.state)
            command, _, spent = _timed(running, backend.state, tick)
            regular.append(spent)
            backend.step(command, running.dt)
        last = len(regular) - 1
        for controller in (unlimited, time_limited):
            for k, state in enumerate(states, len(regular) - BETWEEN):
                controller.step(state, k * controller.dt)
        for name, (controller, step) in kinds.items():
            for _ in range(2):  # the first may be a cold start
                controller.step(states[-1], last * controller.dt)
            command, status, spent = step(controller, backend.state, last + 1)
            times_ms[name].append(spent)
            statuses[name].append(status)
            if command.diagnostics.status is Status.OK:
                raise RuntimeError(f"an infeasible tick was reported as solved: {name}")
    tick_ms = float(np.median(regular[10:]))
    return {
        name: {
            "recognised_ms": float(np.median(spent)),
            "slowest_ms": max(spent),
            "tick_ms": tick_ms,
            "answers": dict(Counter(statuses[name])),
        }
        for name, spent in times_ms.items()
    }


def _not_finite(controller: Controller, state: State, tick: int) -> TimedCommand:
    return _timed(controller, State(np.full_like(state.q, np.nan), state.v), tick)


def _requiring(entry: int, required: float, step: Step) -> Step:
    def infeasible(controller: Controller, state: State, tick: int) -> TimedCommand:
        with _required(controller, entry, required):
            return step(controller, state, tick)

    return infeasible


@contextmanager
def _required(controller: Controller, entry: int, required: float) -> Iterator[None]:
    """Set a lower bound on the acceleration of one joint [rad/s²], beyond its torque limit."""
    limits = next(one for one in controller.qp_data.bounds if isinstance(one, JointLimitConstraint))
    update = limits.update

    def require(kinematics: Kinematics | None, lower: Array, upper: Array) -> None:
        update(kinematics, lower, upper)
        lower[entry], upper[entry] = required, required + 1.0

    limits.update = require  # type: ignore[method-assign]
    try:
        yield
    finally:
        limits.update = update  # type: ignore[method-assign]


def _timed(controller: Controller, state: State, tick: int) -> TimedCommand:
    """Return the command of a state, its status, and the CPU time [ms]."""
    begun = thread_time()
    command = controller.step(state, tick * controller.dt)
    return command, command.diagnostics.status.value, 1e3 * (thread_time() - begun)


class _Ended(Exception):
    """Raised at the end of the solve, with its status, to end the tick."""


def _until_proven(controller: Controller, state: State, tick: int) -> TimedCommand:
    """Return the fallback of a tick that is ended after the solve, the status of the solve, and the CPU time [ms]."""
    block_solver = controller.cascade.block_solver
    assert block_solver is not None
    solve = block_solver.solve

    def end_after_solve(start: Solution | None, *, penalty: float | None = None) -> Solved:
        raise _Ended(solve(start, penalty=penalty).solution.status)

    block_solver.solve = end_after_solve  # type: ignore[method-assign]
    command, _, times_ms = _timed(controller, state, tick)
    block_solver.solve = solve  # type: ignore[method-assign]
    kind, _, ended = command.diagnostics.message.partition(": ")
    if kind != _Ended.__name__:
        raise RuntimeError(command.diagnostics.message)
    return command, ended, times_ms


def _knees(scenario: Scenario) -> Iterator[int]:
    names = scenario.scene.actuated_joint_names
    return (motor for motor, name in enumerate(names) if "KNEE" in name)
