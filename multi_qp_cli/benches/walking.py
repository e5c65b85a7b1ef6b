"""Benchmark of the walking generator: time of a tick of the generator, its preview, and the whole controller."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import thread_time
from typing import Any, TypeVar

from multi_qp_cli.benches.result import BenchResult, BenchTable, spread
from multi_qp_cli.options import require_known
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario

SUMMARY = "the walking generator: CPU time of its tick and its preview, and of the whole tick"
SCENES = ("walk", "trot")
#: Largest median of the generator's tick, the preview included [ms].
BOUND = 0.5
#: Ticks at the beginning that are not measured: everything is compiled and cached in them.
_FIRST = 20

Result = TypeVar("Result")


def add_options(group: Any) -> None:
    """Declare the options."""
    group.add_argument("--walk-scene", action="append", metavar="NAME", help=f"one of {', '.join(SCENES)}; repeatable")
    group.add_argument("--seconds", type=float, default=10.0, help="simulated time per scene [s] (default 10)")


def run(options: argparse.Namespace) -> BenchResult:
    """Walk in MuJoCo, and measure every tick."""
    scenes = options.walk_scene or list(SCENES)
    for scene in scenes:
        require_known("--walk-scene", "scene", scene, SCENES)
    if not 1.0 <= options.seconds <= 1e3:
        raise MultiQpError(f"--seconds: expected 1 to 1000, got {options.seconds:g}")
    found = {scene: measure(scene, options.seconds) for scene in scenes}
    rows = [
        [scene, part, str(times["count"]), f"{times['median']:.3f}", f"{times['p99']:.3f}", f"{times['max']:.3f}"]
        for scene, parts in found.items()
        for part, times in parts.items()
    ]
    note = f"CPU time of the thread. Bound of the generator's median: {BOUND:g} ms."
    columns = ("scene", "part", "calls", "median [ms]", "p99 [ms]", "largest [ms]")
    return BenchResult([BenchTable("walking generator", columns, rows, note)], {"bound_ms": BOUND, "scenes": found})


def measure(scene: str, seconds: float) -> dict[str, dict[str, float]]:
    """Return the spread of the times [ms] of a scene: of `generator`, `preview` and `tick`."""
    from multi_qp_simulator.runner import make_backend, make_controller
    from walking.generator import WalkingGenerator

    scenario = load_scenario(scene)
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    times: dict[str, list[float]] = {"generator": [], "preview": [], "tick": []}
    for generator in controller.generators.values():
        assert isinstance(generator, WalkingGenerator)
        preview = generator.stepper.preview.best
        generator.update = _timed(generator.update, times["generator"])  # type: ignore[method-assign]
        generator.stepper.preview.best = _timed(preview, times["preview"])  # type: ignore[method-assign]
    step = _timed(controller.step, times["tick"])
    for tick in range(round(seconds / controller.dt)):
        if tick == _FIRST:
            for each in times.values():
                each.clear()
        command = step(backend.state, tick * controller.dt)
        outcome = backend.step(command, controller.dt)
        controller.measure_forces({name: -float(wrench[2]) for name, wrench in outcome.wrenches.items()})
        controller.post_update()
    return {part: spread(each) for part, each in times.items()}


def _timed(function: Callable[..., Result], times: list[float]) -> Callable[..., Result]:
    def run(*arguments: Any, **options: Any) -> Result:
        began = thread_time()
        result = function(*arguments, **options)
        times.append(1e3 * (thread_time() - began))
        return result

    return run
