"""Times of the ticks of a scene with motion generators in MuJoCo: of some methods, and of the whole controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import thread_time
from typing import Any, TypeVar

from multi_qp_cli.benches.result import BenchTable, spread
from multi_qp_controller.controller import Controller
from multi_qp_scene.scenario import load_scenario

#: Ticks at the beginning that are not measured: everything is compiled and cached in them.
_FIRST = 20
#: Headers of `table_of`.
_COLUMNS = ("scene", "part", "calls", "median [ms]", "p99 [ms]", "largest [ms]")

Result = TypeVar("Result")
Methods = Callable[[Controller], Iterable[tuple[str, Any, str]]]


def measure_ticks(
    scene: str, seconds: float, methods: Methods, parameters: Mapping[str, float] | None = None
) -> dict[str, dict[str, float]]:
    """Return the spread of the times [ms] of a scene.

    Args:
        scene: name of the scenario.
        seconds: simulated time [s].
        methods: function that returns, for a controller, the name of a part, an object and the name of its method,
            for each method to measure.
        parameters: of the scenario.

    Returns:
        The spread by part, and of `tick`, the whole tick of the controller.
    """
    from multi_qp_simulator.garbage import collected_between_ticks
    from multi_qp_simulator.runner import make_backend, make_controller, warm_up

    scenario = load_scenario(scene, parameters=dict(parameters or {}))
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    warm_up(controller)
    times: dict[str, list[float]] = {}
    for part, item, name in methods(controller):
        setattr(item, name, _timed(getattr(item, name), times.setdefault(part, [])))
    step = _timed(controller.step, times.setdefault("tick", []))
    with collected_between_ticks() as between:  # as in a run
        for tick in range(round(seconds / controller.dt)):
            if tick == _FIRST:
                for each in times.values():
                    each.clear()
            command = step(backend.state, tick * controller.dt)
            outcome = backend.step(command, controller.dt)
            controller.measure_forces({name: -float(wrench[2]) for name, wrench in outcome.wrenches.items()})
            controller.post_update()
            between()
    return {part: spread(each) for part, each in times.items()}


def table_of(title: str, found: Mapping[str, Mapping[str, Mapping[str, float]]], note: str) -> BenchTable:
    """Return the table of the times of several scenes."""
    rows = [
        [scene, part, str(times["count"]), f"{times['median']:.3f}", f"{times['p99']:.3f}", f"{times['max']:.3f}"]
        for scene, parts in found.items()
        for part, times in parts.items()
    ]
    return BenchTable(title, _COLUMNS, rows, note)


def _timed(function: Callable[..., Result], times: list[float]) -> Callable[..., Result]:
    def run(*arguments: Any, **options: Any) -> Result:
        began = thread_time()
        result = function(*arguments, **options)
        times.append(1e3 * (thread_time() - began))
        return result

    return run
