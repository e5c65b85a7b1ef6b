"""The ROS 2 graph by the wall clock: latency from joint state to effort command, rate held, and what of it is ROS."""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_cli.benches.result import BenchResult, BenchTable
from multi_qp_cli.node_processes import on_this_machine, require_ros, running, wait_for
from multi_qp_cli.options import require_known, require_positive
from multi_qp_controller.ros.node_table import Value, node_table
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import load_scenario

SUMMARY = "the ROS 2 graph by the wall clock: latency, rate and missed periods"

Array = NDArray[np.float64]

#: Of the parameter `realtime_priority`: as the nodes do by themselves.
UNASKED = -1
#: Scenes that are measured, and parameters that make them last.
SCENES = {"box": "path.duration=46", "king": ""}
#: The first seconds are not counted: caches are filled and code is compiled.
WARM_UP = 2.0
#: A node may take so long to start and to end [s]: after an installation it compiles its kernels, for minutes.
START_UP = 600.0


@dataclass(frozen=True)
class GraphTimes:
    """What was measured of one scene.

    Attributes:
        scene: its name.
        dt: control period [s].
        latency: from a state's stamp until the last robot has heard the answer [s], (n,).
        parts: of it, by what it was spent on [s], each (n,).
        periods: that passed.
        processor: processor time of the controller's loop for each answer, with all that it does between answers [s].
        fallbacks: answers without a solution.
        cores: processor time of both nodes by wall time.
        stolen: processor time that a virtual machine's host kept from all of its cores, by wall time.
        load: average load of the machine at the end, over 1 minute.
    """

    scene: str
    dt: float
    latency: Array
    parts: dict[str, Array]
    periods: int
    processor: Array
    fallbacks: int
    cores: float
    stolen: float
    load: float

    @property
    def missed(self) -> int:
        """Periods whose state was answered late, by more than a period, or not at all."""
        return self.periods - int((self.latency <= self.dt).sum())

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; times in milliseconds."""
        ms = self.latency * 1e3
        share = {name: float(np.median(part / self.latency)) for name, part in self.parts.items()}
        return {
            "dt_ms": self.dt * 1e3,
            "answers": len(ms),
            "periods": self.periods,
            "missed": self.missed,
            "rate_hz": len(ms) / (self.periods * self.dt),
            "latency_ms": {"median": float(np.median(ms)), "p99": float(np.percentile(ms, 99)), "max": float(ms.max())},
            "median_ms": {name: float(np.median(part) * 1e3) for name, part in self.parts.items()},
            "ros_share": 1.0 - share["tick"] - share["prediction"],
            "processor_ms": float(np.median(self.processor) * 1e3),
            "fallbacks": self.fallbacks,
            "cores": self.cores,
            "stolen": self.stolen,
            "load_average": self.load,
        }


def add_options(group: Any) -> None:
    """Declare what can be chosen; `--scene` is the QP's too."""
    group.add_argument("--duration", type=float, default=60.0, help="of each scene [s] (default 60)")
    group.add_argument(
        "--realtime-priority",
        type=int,
        default=UNASKED,
        metavar="N",
        help="of both nodes under SCHED_FIFO; 0: none (default: the nodes' own, 10 where the system allows it)",
    )
    group.add_argument("--no-keep-awake", action="store_true", help="let idle processors sleep during the bench of ROS")


def run(options: argparse.Namespace) -> BenchResult:
    """Measure."""
    require_ros()
    require_positive("--duration", options.duration, "number of seconds")
    if options.duration < 2 * WARM_UP:
        raise MultiQpError(f"--duration: expected {2 * WARM_UP:g} or above, the first {WARM_UP:g} s are not counted")
    scenes = options.scene or list(SCENES)
    for scene in scenes:
        require_known("--scene", "scene", scene, scenario_names())
    settings: dict[str, Value] = {
        "realtime_priority": options.realtime_priority,
        "keep_awake": not options.no_keep_awake,
    }
    measured = [measure(scene, duration=options.duration, settings=settings) for scene in scenes]
    return BenchResult(
        tables=[_table(measured)],
        data={"scenes": {times.scene: times.as_dict() for times in measured}},
        draw=lambda figure: _draw(figure, measured),
    )


def measure(scene: str, *, duration: float, settings: Mapping[str, Value] | None = None) -> GraphTimes:
    """Run a scene as a graph of two processes by the wall clock, in a domain of its own.

    Args:
        scene: its name.
        duration: of the run [s].
        settings: parameters of both nodes.

    Raises:
        MultiQpError: when a node fails.
    """
    dt = load_scenario(scene).spec.dt
    before, stolen_before = _processor_time(), _stolen_time()
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / f"{name}.npz") for name in ("simulator", "controller")}
        nodes = node_table(
            scene,
            use_sim_time=False,
            settings={"set": SCENES.get(scene, ""), **(settings or {})},
            simulator={"timing": files["simulator"]},
            controller={"timing": files["controller"], "duration": duration, "exit_at_end": True},
        )
        with running(nodes, environment=on_this_machine()) as processes:
            wait_for("multi_qp_controller", processes, timeout=duration + START_UP)
        heard, answers = (dict(np.load(files[name])) for name in ("simulator", "controller"))
    used, stolen = _processor_time() - before, _stolen_time() - stolen_before
    return evaluate(scene, dt, heard, answers, processor_time=used, stolen_time=stolen)


def evaluate(
    scene: str,
    dt: float,
    heard: dict[str, Array],
    answers: dict[str, Array],
    *,
    processor_time: float,
    stolen_time: float = 0.0,
) -> GraphTimes:
    """Return what the records of both nodes amount to.

    Args:
        scene: its name.
        dt: control period [s].
        heard: of the simulator: `stamp` and `heard` [ns], a row for each robot and command.
        answers: of the controller: `stamp`, `sent` [ns]; `answer`, `tick`, `prediction`, `processor` [s]; `failed`.
        processor_time: of both [s].
        stolen_time: that the host of a virtual machine took meanwhile [s].

    Raises:
        MultiQpError: when there are none.
    """
    if not len(answers["stamp"]):
        raise MultiQpError(f"{scene}: the controller never answered")
    duration = (answers["sent"][-1] - answers["sent"][0]) * 1e-9
    # a state counts once, when its first answer was sent
    stamps, first = np.unique(answers["stamp"], return_index=True)
    counted = stamps > stamps[0] + WARM_UP * 1e9
    stamps, first = stamps[counted], first[counted]
    robots = np.full(len(stamps), -np.inf)
    row = np.searchsorted(stamps, heard["stamp"])
    known = (row < len(stamps)) & (stamps[np.minimum(row, len(stamps) - 1)] == heard["stamp"])
    np.maximum.at(robots, row[known], heard["heard"][known])
    there = np.isfinite(robots)
    stamps, first, robots = stamps[there], first[there], robots[there]
    sent, answer = answers["sent"][first], answers["answer"][first]
    tick, prediction = answers["tick"][first], answers["prediction"][first]
    parts = {
        "state to controller": (sent - stamps) * 1e-9 - answer,
        "prediction": prediction,
        "tick": tick,
        "messages": answer - tick - prediction,
        "controller to robot": (robots - sent) * 1e-9,
    }
    periods = round((stamps[-1] - stamps[0]) * 1e-9 / dt) + 1
    latency = (robots - stamps) * 1e-9
    late = answers["stamp"] > stamps[0] - 1.0
    processor, fallbacks = np.diff(answers["processor"][late]), int(answers["failed"][late].sum())
    cores, stolen = processor_time / duration, stolen_time / duration
    return GraphTimes(scene, dt, latency, parts, periods, processor, fallbacks, cores, stolen, os.getloadavg()[0])


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _stolen_time() -> float:
    """Return what the host of a virtual machine has kept from it so far, of all cores [s]; 0 where nobody tells."""
    try:
        ticks = int(Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[8])
    except (OSError, IndexError, ValueError):
        return 0.0
    return ticks / float(os.sysconf("SC_CLK_TCK"))


def _table(measured: list[GraphTimes]) -> BenchTable:
    told = [times.as_dict() for times in measured]
    latency = [figures["latency_ms"] for figures in told]
    rows = [["period, ms", *(f"{figures['dt_ms']:.2f}" for figures in told)]]
    rows += [[f"latency, {name}, ms", *(f"{of[name]:.2f}" for of in latency)] for name in ("median", "p99", "max")]
    rows.append(["rate held, Hz", *(f"{figures['rate_hz']:.1f}" for figures in told)])
    rows.append(["missed periods", *(f"{figures['missed']} of {figures['periods']}" for figures in told)])
    rows.append(["spent on ROS", *(f"{100.0 * figures['ros_share']:.0f} %" for figures in told)])
    rows += [[f"  {name}, ms", *(f"{of['median_ms'][name]:.2f}" for of in told)] for name in measured[0].parts]
    rows.append(["processor time an answer, ms", *(f"{figures['processor_ms']:.2f}" for figures in told)])
    rows.append(["answers without a solution", *(f"{times.fallbacks}" for times in measured)])
    rows.append(["cores used", *(f"{times.cores:.2f}" for times in measured)])
    rows.append(["cores taken by the host", *(f"{times.stolen:.3f}" for times in measured)])
    rows.append(["load average", *(f"{times.load:.1f}" for times in measured)])
    return BenchTable(
        title="From joint state to effort command",
        columns=["", *(times.scene for times in measured)],
        rows=rows,
        note="Latency: from a state's stamp until the last robot has its efforts. Missed: answered "
        "later than one period, or not at all. ROS: all but prediction and tick; medians.",
    )


def _draw(figure: Any, measured: list[GraphTimes]) -> None:
    for axes, times in zip(figure.subplots(1, len(measured), squeeze=False)[0], measured, strict=True):
        axes.hist(times.latency * 1e3, bins=80, log=True)
        axes.axvline(times.dt * 1e3, color="black", linestyle="--", label="period")
        axes.set(title=times.scene, xlabel="latency [ms]", ylabel="answers")
        axes.legend()
