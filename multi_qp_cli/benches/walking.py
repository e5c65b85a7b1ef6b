"""Benchmark of the walking generator: time of a tick of the generator, its preview, and the whole controller."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from multi_qp_cli.benches.result import BenchResult
from multi_qp_cli.options import require_known
from multi_qp_scene.errors import MultiQpError

SUMMARY = "the walking generator: CPU time of its tick and its preview, and of the whole tick"
SCENES = ("walk", "trot")
#: Largest median of the generator's tick, the preview included [ms].
BOUND = 0.5


def add_options(group: Any) -> None:
    """Declare the options."""
    group.add_argument("--walk-scene", action="append", metavar="NAME", help=f"one of {', '.join(SCENES)}; repeatable")
    group.add_argument("--seconds", type=float, default=10.0, help="simulated time per scene [s] (default 10)")


def run(options: argparse.Namespace) -> BenchResult:
    """Walk in MuJoCo, and measure every tick."""
    from multi_qp_cli.benches.generator_times import measure_ticks, table_of

    scenes = options.walk_scene or list(SCENES)
    for scene in scenes:
        require_known("--walk-scene", "scene", scene, SCENES)
    if not 1.0 <= options.seconds <= 1e3:
        raise MultiQpError(f"--seconds: expected 1 to 1000, got {options.seconds:g}")
    found = {scene: measure_ticks(scene, options.seconds, _methods) for scene in scenes}
    note = f"CPU time of the thread. Bound of the generator's median: {BOUND:g} ms."
    return BenchResult([table_of("walking generator", found, note)], {"bound_ms": BOUND, "scenes": found})


def _methods(controller: Any) -> Iterator[tuple[str, Any, str]]:
    for generator in controller.generators.values():
        yield "generator", generator, "update"
        yield "preview", generator.stepper.preview, "best"
