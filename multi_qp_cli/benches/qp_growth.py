"""How the tick grows with the number of characters, and how soon a hopeless tick is recognised."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from multi_qp_cli.benches.crowd import load_crowd
from multi_qp_cli.benches.result import spread
from multi_qp_controller.controller import Controller
from multi_qp_controller.qp import make_solver
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

#: Sizes of the crowd, unless the user chooses.
SIZES = (1, 2, 4, 8)
#: Sizes from here on count for the exponent.
SMALLEST_FITTED = 4
_TICKS = 25


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
    """Return how long it takes to see that a problem of `king` has no solution, and that a state holds a NaN."""
    scenario = load_scenario("king")
    controller, world = Controller(scenario), Integrator(scenario)
    usual = []
    for tick in range(ticks):
        command = controller.step(world.state, tick * controller.dt)
        usual.append(command.diagnostics.tick_ms)
        world.step(command, controller.dt)
    median = float(np.median(usual[10:]))
    formulation = controller.formulation
    solver = make_solver(controller.solver_name)
    infeasible = []
    for _ in range(10):
        begun = perf_counter()
        problem = formulation.build()
        row = int(np.flatnonzero(np.isfinite(problem.l) & np.isfinite(problem.u))[0])
        # the same acceleration shall be above what another copy of its row keeps it below
        problem.C[-1], problem.l[-1], problem.u[-1] = problem.C[row], problem.u[row] + 1.0, np.inf
        solution = solver.solve(problem)
        infeasible.append(1e3 * (perf_counter() - begun))
        if solution.status != "infeasible":
            raise RuntimeError(f"an infeasible problem was called {solution.status}")
        formulation.prepare()
    blind = []
    for _ in range(10):
        state = State(np.full_like(world.state.q, np.nan), world.state.v)
        begun = perf_counter()
        controller.step(state, ticks * controller.dt)
        blind.append(1e3 * (perf_counter() - begun))
    return {
        "infeasible": {"recognised_ms": float(np.median(infeasible)), "tick_ms": median},
        "NaN": {"recognised_ms": float(np.median(blind)), "tick_ms": median},
    }
