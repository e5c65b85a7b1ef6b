"""Benchmark of limbs that meet obstacles: time of a tick of their generator, and of the whole controller."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from multi_qp_cli.benches.result import BenchResult
from multi_qp_scene.errors import MultiQpError

SUMMARY = "limbs that meet obstacles: CPU time of their generator with 1 and with 70 obstacles, and of the whole tick"
#: Largest median of the generator's tick by scene, with 1 and with 70 obstacles [ms].
BOUNDS = {"bag": 1.0, "thicket": 4.0}


def add_options(group: Any) -> None:
    """Declare the options."""
    group.add_argument(
        "--upper-body-seconds", type=float, default=10.0, metavar="S", help="simulated time per scene [s] (default 10)"
    )


def run(options: argparse.Namespace) -> BenchResult:
    """Walk in MuJoCo, and measure every tick."""
    from multi_qp_cli.benches.generator_times import measure_ticks, table_of

    seconds = options.upper_body_seconds
    if not 1.0 <= seconds <= 1e3:
        raise MultiQpError(f"--upper-body-seconds: expected 1 to 1000, got {seconds:g}")
    found = {scene: measure_ticks(scene, seconds, _methods) for scene in BOUNDS}
    bounds = ", ".join(f"{scene} {bound:g} ms" for scene, bound in BOUNDS.items())
    note = f"CPU time of the thread. Bounds of the generator's median: {bounds}."
    return BenchResult([table_of("limbs that meet obstacles", found, note)], {"bounds_ms": BOUNDS, "scenes": found})


def _methods(controller: Any) -> Iterator[tuple[str, Any, str]]:
    yield "generator", controller.generators["arms"], "update"
    yield "walking", controller.generators["gait"], "update"
