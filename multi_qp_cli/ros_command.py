"""Command `multi-qp ros`: a scenario as a ROS 2 graph of node processes, without launch_ros."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from multi_qp_cli.node_processes import require_ros, running, wait_for
from multi_qp_cli.options import add_scenario_options, load_from, output_path, require_within
from multi_qp_cli.report_view import print_report
from multi_qp_ros.footprint import walking_robots
from multi_qp_ros.node_table import BACKENDS, NodeSpec, node_table, planning_nodes
from multi_qp_scene.errors import MultiQpError


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "ros",
        description="Run a scenario as a ROS 2 graph: controller and simulator are nodes in separate processes.",
    )
    add_scenario_options(parser)
    parser.add_argument("--headless", action="store_true", help="as fast as possible instead of in real time")
    parser.add_argument(
        "--backend", choices=BACKENDS, default="integrator", help="simulator backend; none: real robots"
    )
    parser.add_argument("--wall-clock", action="store_true", help="run by the wall clock instead of in lock-step")
    parser.add_argument(
        "--realtime-priority",
        type=int,
        metavar="N",
        help="SCHED_FIFO priority of the control loop's nodes; 0: none (default: 10 with --wall-clock, if allowed)",
    )
    parser.add_argument(
        "--no-keep-awake",
        action="store_true",
        help="with --wall-clock: let idle CPUs sleep, which saves power and adds milliseconds of latency",
    )
    parser.add_argument("--dt", type=float, help="control period [s]")
    parser.add_argument("--duration", type=float, help="maximum duration of the run [s]")
    parser.add_argument("--namespace", default="", help="namespace of all nodes and topics")
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warn", "error"),
        default="warn",
        help="log level of the nodes (default warn)",
    )
    parser.add_argument(
        "--goal",
        nargs="+",
        metavar="X",
        help="planning goal of the base: x y z, or x y z yaw [m, rad]; 'none': wait for one (default: the scenario's)",
    )
    parser.add_argument("--viewer", action="store_true", help="show the run in the browser, with interactive controls")
    parser.add_argument(
        "--port", type=int, default=8080, help="port of the viewer (default 8080, or the next free one)"
    )
    parser.add_argument("--report", metavar="FILE.json", help="write the report here")
    parser.add_argument("--record", metavar="FILE.mcap", help="record every tick here, for replay and ROS 2 tools")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the graph until the controller ends, and return its exit status."""
    for option, limit in (("dt", "period"), ("duration", "time")):
        require_within(f"--{option}", getattr(options, option), limit)
    if not 1 <= options.port <= 65535:
        raise MultiQpError(f"--port: expected a number from 1 to 65535, got {options.port}")
    report = output_path("--report", options.report)
    output_path("--record", options.record, suffixes=(".mcap",))
    scenario = load_from(options)  # errors of the file are reported before any process starts
    goal = _goal(options.goal)
    if options.goal is not None and scenario.spec.plan is None:
        raise MultiQpError(f"--goal: {scenario.name} has no `plan`")
    require_ros()
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        planning = planning_nodes(scenario.spec.plan is not None, goal=goal, headless=options.headless)
        walks = bool(walking_robots(scenario))
        nodes = _nodes(options, str(scenario.path.resolve()), written, {**planning, "walks": walks})
        with running(nodes, namespace=options.namespace, log_level=options.log_level) as processes:
            essential = {node.name: processes[node.name] for node in nodes if node.essential}
            failures = {node.name: node.failure for node in nodes if node.failure is not None}
            status = wait_for("multi_qp_controller", essential, failing=(processes, failures))
        if written.exists():
            text = written.read_text(encoding="utf-8")
            content = json.loads(text)
            print_report(content)
            if options.goal not in (None, ["none"]) and content["completed"] and status == 1:
                status = 0
                print("the plan to the given goal was executed; the goals above are those of the file", file=sys.stderr)
            if report is not None:
                report.write_text(text, encoding="utf-8")
    return status if status in (0, 1, 2) else 1


def _nodes(options: argparse.Namespace, scenario: str, report: Path, more: Mapping[str, Any]) -> list[NodeSpec]:
    settings: dict[str, bool | int | float | str] = {"seed": options.seed}
    if options.realtime_priority is not None:
        settings["realtime_priority"] = options.realtime_priority
    if options.no_keep_awake:
        settings["keep_awake"] = False
    if options.parameters:
        settings["set"] = ", ".join(options.parameters)
    if options.dt is not None:
        settings["dt"] = options.dt
    controller: dict[str, bool | int | float | str] = {"exit_at_end": True, "report": str(report)}
    if options.duration is not None:
        controller["duration"] = options.duration
    if options.record is not None:
        controller["record"] = str(Path(options.record).absolute())
    headless = options.headless and not options.wall_clock
    return node_table(
        scenario,
        backend=options.backend,
        use_sim_time=not options.wall_clock and options.backend != "none",
        speed=0.0 if headless else 1.0,
        settings=settings,
        controller=controller,
        viewer={"port": options.port} if options.viewer else None,
        **more,
    )


def _goal(given: list[str] | None) -> str:
    """Return the goal as a parameter of the contact planner node."""
    if given is None:
        return "scenario"
    if given == ["none"]:
        return "none"
    try:
        numbers = [float(part) for part in given]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 4) or not all(map(isfinite, numbers)):
        raise MultiQpError(f"--goal: expected x y z, x y z yaw or 'none', got '{' '.join(given)}'")
    return " ".join(map(repr, numbers))
