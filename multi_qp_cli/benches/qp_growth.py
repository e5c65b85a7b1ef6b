"""Growth of the tick time with the number of characters."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from multi_qp_cli.benches.crowd import load_crowd
from multi_qp_cli.benches.result import spread
from multi_qp_controller.controller import Controller
from multi_qp_simulator.integrator import Integrator

#: Default numbers of characters.
SIZES = (1, 2, 4, 8, 16, 32)
#: Smallest number of characters in the fit of the exponent.
SMALLEST_FITTED = 4
_TICKS = 25


def measure_growth(sizes: list[int], kind: str = "chain") -> dict[str, Any]:
    """Run each size for a few ticks, interleaved; fit t ∝ N^p to the median CPU times."""
    with tempfile.TemporaryDirectory() as folder:
        scenarios = {size: load_crowd(kind, size, Path(folder)) for size in sorted(set(sizes))}
    controllers = {size: Controller(scenario) for size, scenario in scenarios.items()}
    backends = {size: Integrator(scenario) for size, scenario in scenarios.items()}
    ticks: dict[int, list[float]] = {size: [] for size in scenarios}
    for tick in range(_TICKS):
        for size, controller in controllers.items():
            begun = thread_time()
            command = controller.step(backends[size].state, tick * controller.dt)
            ticks[size].append(1e3 * (thread_time() - begun))
            backends[size].step(command, controller.dt)
    times = {str(size): spread(values[5:]) for size, values in ticks.items()}
    fitted = [(float(n), t["median"]) for n, t in times.items() if int(n) >= SMALLEST_FITTED]
    exponent = None
    if len(fitted) > 1:
        sizes_and_times = np.log(np.array(fitted))
        exponent = float(np.polyfit(sizes_and_times[:, 0], sizes_and_times[:, 1], 1)[0])
    return {"ms": times, "exponent": exponent}
