"""How soon a tick is recognised whose QP has no solution, or whose state is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.physical import Solved
from multi_qp_controller.qp import Solution
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

Array = NDArray[np.float64]
#: An answer, how it is called, and the time that it took [ms].
Timed = tuple[Command, str, float]
Answer = Callable[[Controller, State, int], Timed]

#: What is asked of a knee [rad/s²], and the controller's deadline, which no tick shall reach here [s].
HOPELESS, DEADLINE = (2e4, 2e5, 2e6), 10.0
#: So many ticks of the run are between two hopeless ones of a kind, and so many of a kind there are.
BETWEEN, TIMES = 10, 20


def measure_hopeless(times: int = TIMES) -> dict[str, Any]:
    """Return what whole ticks of `king` take whose QP has no solution, or whose state holds a NaN, on the processor.

    A knee is asked for accelerations that it has no torque for, in the air either: at least so many rad/s². First
    until the search has proven that there is no solution, by a controller as it is by default; then whole ticks with
    what they answer, by one with a deadline, as for a world that does not wait. The scene runs on meanwhile: every
    hopeless tick is at a new state and follows the usual tick before it, as in a run; what it takes is compared with
    the ticks of that run, each once, from the tick before.
    """
    scenario = load_scenario("king")
    running = Controller(scenario)
    patient, hurried = Controller(scenario), Controller(scenario, deadline=DEADLINE)
    world = Integrator(scenario)
    entry = int(scenario.scene.actuated_v[list(_knees(scenario))[0]])
    kinds: dict[str, tuple[Controller, Answer]] = {"NaN": (hurried, _blind)}
    for asked in HOPELESS:
        kinds[f"until it is proven, {asked:g} rad/s²"] = patient, _asking(entry, asked, _until_proven)
        kinds[f"infeasible, {asked:g} rad/s²"] = hurried, _asking(entry, asked, _timed)
    usual: list[float] = []
    took: dict[str, list[float]] = {name: [] for name in kinds}
    answers: dict[str, list[str]] = {name: [] for name in kinds}
    for _ in range(times):
        states = []
        for tick in range(len(usual), len(usual) + BETWEEN):
            states.append(world.state)
            command, _, spent = _timed(running, world.state, tick)
            usual.append(spent)
            world.step(command, running.dt)
        last = len(usual) - 1
        for controller in (patient, hurried):
            for k, state in enumerate(states, len(usual) - BETWEEN):
                controller.step(state, k * controller.dt)
        for name, (controller, answer) in kinds.items():
            for _ in range(2):  # the first may start from nothing
                controller.step(states[-1], last * controller.dt)
            command, called, spent = answer(controller, world.state, last + 1)
            took[name].append(spent)
            answers[name].append(called)
            if command.diagnostics.status is Status.OK:
                raise RuntimeError(f"a hopeless tick was called solved: {name}")
    tick_ms = float(np.median(usual[10:]))
    return {
        name: {
            "recognised_ms": float(np.median(spent)),
            "slowest_ms": max(spent),
            "tick_ms": tick_ms,
            "answers": dict(Counter(answers[name])),
        }
        for name, spent in took.items()
    }


def _blind(controller: Controller, state: State, tick: int) -> Timed:
    return _timed(controller, State(np.full_like(state.q, np.nan), state.v), tick)


def _asking(entry: int, asked: float, answer: Answer) -> Answer:
    def hopeless(controller: Controller, state: State, tick: int) -> Timed:
        with _asked(controller, entry, asked):
            return answer(controller, state, tick)

    return hopeless


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
    return command, command.diagnostics.status.value, 1e3 * (thread_time() - begun)


class _Ended(Exception):
    """Ends a tick where its search for a solution did, and says how."""


def _until_proven(controller: Controller, state: State, tick: int) -> Timed:
    """Return what a tick falls back to that ends with the search for a solution, how that ended, and when [ms]."""
    formulation, solve = controller.formulation, controller.formulation.solve

    def watched(start: Solution | None, *, price: float | None = None) -> Solved | None:
        solved = solve(start, price=price)
        raise _Ended("nothing" if solved is None else solved.solution.status)

    formulation.solve = watched  # type: ignore[method-assign]
    command, _, took = _timed(controller, state, tick)
    formulation.solve = solve  # type: ignore[method-assign]
    kind, _, ended = command.diagnostics.message.partition(": ")
    if kind != _Ended.__name__:
        raise RuntimeError(command.diagnostics.message)
    return command, ended, took


def _knees(scenario: Scenario) -> Iterator[int]:
    names = scenario.scene.actuated_joint_names
    return (motor for motor, name in enumerate(names) if "KNEE" in name)
