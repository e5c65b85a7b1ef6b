"""Benchmark of the ROS 2 graph by the wall clock: latency from joint state to effort command, rate, share of ROS."""

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

from multi_qp_cli.benches.result import BenchResult, BenchTable
from multi_qp_cli.node_processes import on_this_machine, require_ros, running, wait_for
from multi_qp_cli.options import require_known, require_within
from multi_qp_ros.node_table import Value, node_table
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import load_scenario

SUMMARY = "the ROS 2 graph by the wall clock: latency, rate and missed periods"


#: Value of the parameter `realtime_priority` for the default of the nodes.
NODE_DEFAULT = -1
#: Scenes, and parameters that make them long enough.
SCENES = {"box": "path.duration=46", "king": ""}
#: The first seconds are not counted: caches are filled and code is compiled [s].
WARM_UP = 2.0
#: Longest time for nodes to start and end [s]: after an installation, kernels are compiled for minutes.
START_UP = 600.0


@dataclass(frozen=True)
class GraphTimes:
    """Measurements of one scene.

    Attributes:
        scene: its name.
        dt: control period [s].
        latency: from the stamp of a state until the last robot has received the command [s], (n,).
        parts: parts of the latency [s], each (n,).
        periods: number of elapsed periods.
        processor: CPU time of the controller's loop per command, including work between commands [s].
        fallbacks: commands without a solution.
        cores: CPU time of both nodes per wall time.
        stolen: steal time of a virtual machine, over all cores, per wall time.
        load: load average of the machine at the end, over 1 minute.
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
        """Number of periods with a latency above one period, or without a command."""
        return self.periods - int((self.latency <= self.dt).sum())

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; times in milliseconds."""
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
    """Declare the options; `--scene` is shared with the target `qp`."""
    group.add_argument("--duration", type=float, default=60.0, help="duration of each scene [s] (default 60)")
    group.add_argument(
        "--realtime-priority",
        type=int,
        default=NODE_DEFAULT,
        metavar="N",
        help="SCHED_FIFO priority of both nodes; 0: none (default: that of the nodes, 10 where allowed)",
    )
    group.add_argument("--no-keep-awake", action="store_true", help="let idle CPUs sleep during the benchmark")


def run(options: argparse.Namespace) -> BenchResult:
    """Measure."""
    require_ros()
    require_within("--duration", options.duration, "time")
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
    """Run a scene as a graph of two processes by the wall clock, in a separate domain.

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
        received, answers = (dict(np.load(files[name])) for name in ("simulator", "controller"))
    used, stolen = _processor_time() - before, _stolen_time() - stolen_before
    return evaluate(scene, dt, received, answers, processor_time=used, stolen_time=stolen)


def evaluate(
    scene: str,
    dt: float,
    received: dict[str, Array],
    answers: dict[str, Array],
    *,
    processor_time: float,
    stolen_time: float = 0.0,
) -> GraphTimes:
    """Evaluate the timing records of both nodes.

    Args:
        scene: its name.
        dt: control period [s].
        received: of the simulator: `stamp` and `received` [ns], one row per robot and command.
        answers: of the controller: `stamp`, `sent` [ns]; `answer`, `tick`, `prediction`, `processor` [s]; `failed`.
        processor_time: CPU time of both [s].
        stolen_time: steal time of a virtual machine meanwhile [s].

    Raises:
        MultiQpError: when finite are no records.
    """
    if not len(answers["stamp"]):
        raise MultiQpError(f"{scene}: the controller sent no command")
    duration = (answers["sent"][-1] - answers["sent"][0]) * 1e-9
    # only the first command for a state counts
    stamps, first = np.unique(answers["stamp"], return_index=True)
    counted = stamps > stamps[0] + WARM_UP * 1e9
    stamps, first = stamps[counted], first[counted]
    robots = np.full(len(stamps), -np.inf)
    row = np.searchsorted(stamps, received["stamp"])
    known = (row < len(stamps)) & (stamps[np.minimum(row, len(stamps) - 1)] == received["stamp"])
    np.maximum.at(robots, row[known], received["received"][known])
    finite = np.isfinite(robots)
    stamps, first, robots = stamps[finite], first[finite], robots[finite]
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
    """Return the steal time of a virtual machine over all cores [s]; 0 where unknown."""
    try:
        ticks = int(Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[8])
    except (OSError, IndexError, ValueError):
        return 0.0
    return ticks / float(os.sysconf("SC_CLK_TCK"))


def _table(measured: list[GraphTimes]) -> BenchTable:
    results = [times.as_dict() for times in measured]
    latency = [figures["latency_ms"] for figures in results]
    rows = [["period, ms", *(f"{figures['dt_ms']:.2f}" for figures in results)]]
    rows += [[f"latency, {name}, ms", *(f"{of[name]:.2f}" for of in latency)] for name in ("median", "p99", "max")]
    rows.append(["rate, Hz", *(f"{figures['rate_hz']:.1f}" for figures in results)])
    rows.append(["missed periods", *(f"{figures['missed']} of {figures['periods']}" for figures in results)])
    rows.append(["share of ROS", *(f"{100.0 * figures['ros_share']:.0f} %" for figures in results)])
    rows += [[f"  {name}, ms", *(f"{of['median_ms'][name]:.2f}" for of in results)] for name in measured[0].parts]
    rows.append(["CPU time per command, ms", *(f"{figures['processor_ms']:.2f}" for figures in results)])
    rows.append(["commands without a solution", *(f"{times.fallbacks}" for times in measured)])
    rows.append(["cores used", *(f"{times.cores:.2f}" for times in measured)])
    rows.append(["steal time, cores", *(f"{times.stolen:.3f}" for times in measured)])
    rows.append(["load average", *(f"{times.load:.1f}" for times in measured)])
    return BenchTable(
        title="From joint state to effort command",
        columns=["", *(times.scene for times in measured)],
        rows=rows,
        note="Latency: from the stamp of a state until the last robot has received its efforts. Missed: latency above "
        "one period, or no command. ROS: all but prediction and tick; medians.",
    )


def _draw(figure: Any, measured: list[GraphTimes]) -> None:
    for axes, times in zip(figure.subplots(1, len(measured), squeeze=False)[0], measured, strict=True):
        axes.hist(times.latency * 1e3, bins=80, log=True)
        axes.axvline(times.dt * 1e3, color="black", linestyle="--", label="period")
        axes.set(title=times.scene, xlabel="latency [ms]", ylabel="commands")
        axes.legend()
