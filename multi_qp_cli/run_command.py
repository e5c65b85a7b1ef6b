"""`multi-qp run`: runs a scenario, in the viewer or headless."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from multi_qp_cli.interaction import Interaction
from multi_qp_cli.options import add_scenario_options, load_from, output_path, require_known, require_positive
from multi_qp_cli.report_view import print_report
from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_controller.formulations import FORMULATIONS
from multi_qp_controller.observe import take_snapshot
from multi_qp_controller.qp import solver_names
from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.runner import BACKENDS, Observer, Run, RunResult, make_backend

#: Snapshots a second, for the viewer and for videos.
SNAPSHOT_RATE = 50.0


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "run",
        help="run a scenario",
        description="Run a scenario: in the browser viewer, or with --headless to its end.",
    )
    add_scenario_options(parser)
    parser.add_argument("--headless", action="store_true", help="no viewer: run to the end as fast as possible")
    parser.add_argument("--backend", default="integrator", help=f"who plays the world: {', '.join(BACKENDS)}")
    parser.add_argument("--solver", help=f"QP solver: {', '.join(solver_names())}")
    parser.add_argument("--formulation", help=f"how the QP is written: {', '.join(FORMULATIONS)}")
    parser.add_argument("--dt", type=float, help="control period [s]")
    parser.add_argument("--duration", type=float, help="longest simulated time [s]")
    parser.add_argument("--report", metavar="FILE.json", help="write the report here")
    parser.add_argument("--log", metavar="FILE.npz", help="write the log of every tick here")
    parser.add_argument("--video", metavar="FILE", help="render a video off screen: .mp4 or .gif")
    parser.add_argument("--camera", choices=("fixed", "follow"), default="fixed", help="camera of the video")
    parser.add_argument("--size", default="960x540", metavar="WxH", help="of the video (default 960x540)")
    parser.add_argument("--fps", type=float, default=25.0, help="pictures a second of the video (default 25)")
    parser.add_argument("--speed", type=float, default=1.0, help="of the video: 2 is twice as fast (default 1)")
    parser.add_argument("--port", type=int, default=8080, help="of the viewer (default 8080, or the next free one)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the scenario that the options name and return the exit status."""
    _check(options)
    paths = _Outputs(options)
    scenario = load_from(options)
    if options.headless:
        result, snapshots = _run_once(scenario, options, record=paths.video is not None)
    else:
        result, snapshots = _run_in_viewer(scenario, options, record=paths.video is not None)
    print_report(result.report)
    paths.write(result, scenario, snapshots, options)
    return 0 if result.succeeded else 1


def _check(options: argparse.Namespace) -> None:
    """Refuse what is wrong in the options themselves, before any work is done."""
    require_known("--backend", "backend", options.backend, BACKENDS)
    require_known("--solver", "solver", options.solver, solver_names())
    require_known("--formulation", "formulation", options.formulation, FORMULATIONS)
    for option in ("dt", "duration"):
        require_positive(f"--{option}", getattr(options, option), "number of seconds")
    for option in ("fps", "speed"):
        require_positive(f"--{option}", getattr(options, option), "number")
    if not 0 <= options.port <= 65535:
        raise MultiQpError(f"--port: expected a number from 0 to 65535, got {options.port}")


class _Outputs:
    """Files to write after the run, checked before it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.report = output_path("--report", options.report)
        self.log = output_path("--log", options.log, suffixes=(".npz",))
        self.video = output_path("--video", options.video, suffixes=(".mp4", ".gif"))
        self.size = _size(options.size)

    def write(
        self, result: RunResult, scenario: Scenario, snapshots: list[Snapshot], options: argparse.Namespace
    ) -> None:
        try:
            if self.report is not None:
                self.report.write_text(json.dumps(result.report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
            if self.log is not None:
                result.log.save(self.log)
        except OSError as error:
            raise MultiQpError(f"cannot write '{error.filename}': {error.strerror}") from None
        if self.video is not None:
            _write_video(self.video, scenario, snapshots, self.size, options)


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise MultiQpError(f"--size: expected WIDTHxHEIGHT, as 960x540, got '{text}'") from None
    return width, height


def _write_video(
    path: Path,
    scenario: Scenario,
    snapshots: list[Snapshot],
    size: tuple[int, int],
    options: argparse.Namespace,
) -> None:
    from multi_qp_viewer import Camera, write_video

    camera: Any = options.camera
    if scenario.spec.camera is not None and options.camera == "fixed":
        spec = scenario.spec.camera
        camera = Camera(position=spec.position, target=spec.target, fov=spec.fov)
    try:
        write_video(
            path,
            scenario.scene,
            snapshots,
            fps=options.fps,
            width=size[0],
            height=size[1],
            camera=camera,
            speed=options.speed,
        )
    except ValueError as error:
        raise MultiQpError(f"--video: {error}") from None


def _prepare(scenario: Scenario, options: argparse.Namespace) -> Controller:
    return Controller(scenario, dt=options.dt, solver=options.solver, formulation=options.formulation)


def _run_once(scenario: Scenario, options: argparse.Namespace, *, record: bool) -> tuple[RunResult, list[Snapshot]]:
    snapshots: list[Snapshot] = []
    controller = _prepare(scenario, options)
    observers: list[Observer] = [every(SNAPSHOT_RATE, controller.dt, snapshots.append)] if record else []
    run = _make_run(scenario, controller, options, observers, real_time=False)
    with _progress(scenario.name) as progress:
        try:
            return run.execute(progress), snapshots
        except KeyboardInterrupt:
            return run.interrupted(), snapshots


def _make_run(
    scenario: Scenario,
    controller: Controller,
    options: argparse.Namespace,
    observers: list[Observer],
    *,
    real_time: bool,
) -> Run:
    return Run(
        scenario,
        controller,
        make_backend(options.backend, scenario),
        backend_name=options.backend,
        duration=options.duration,
        observers=observers,
        real_time=real_time,
        attended=real_time,
    )


def _run_in_viewer(
    scenario: Scenario, options: argparse.Namespace, *, record: bool
) -> tuple[RunResult, list[Snapshot]]:
    """Run in real time in front of the viewer, again whenever the user asks; Ctrl-C ends it."""
    from multi_qp_viewer import BrowserViewer

    controller = _prepare(scenario, options)
    make_backend(options.backend, scenario)  # a wrong name shall be refused before a page opens
    again = threading.Event()
    current: list[Run] = []

    def restart() -> None:
        again.set()
        if current:
            current[0].stop()

    viewer = BrowserViewer(scenario.scene, title=f"multi-qp · {scenario.name}", port=options.port, on_restart=restart)
    console = Console(stderr=True)
    snapshots: list[Snapshot] = []
    result = None
    try:
        console.print(f"[bold]{scenario.name}[/bold] in the viewer at [bold]{viewer.url}[/bold]  (Ctrl-C ends)")
        _open_browser(viewer.url)
        interaction = Interaction(viewer)
        while True:
            again.clear()
            snapshots.clear()
            observers: list[Observer] = [every(SNAPSHOT_RATE, controller.dt, viewer.show), interaction]
            if record:
                observers.append(every(SNAPSHOT_RATE, controller.dt, snapshots.append))
            run = _make_run(scenario, controller, options, observers, real_time=True)
            current[:] = [run]
            result = run.execute()
            viewer.finish()
            if not again.is_set():
                console.print(f"{result.report['ended']}; the viewer stays open, Ctrl-C ends")
                again.wait()
            interaction.clear()
            scenario.scene.loads.reset()
            viewer.restart()
            controller = _prepare(scenario, options)
    except KeyboardInterrupt:
        if not current:
            raise
        if result is None or current[0].result is None:
            result = current[0].interrupted()
    finally:
        viewer.close()
    return result, snapshots


def _open_browser(url: str) -> None:
    """Open the page where there is a screen to open it on."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)


def every(rate: float, dt: float, take: Callable[[Snapshot], None]) -> Observer:
    """Return an observer that takes a snapshot `rate` times a second of simulated time."""
    ticks = max(1, round(1.0 / (rate * dt)))
    count = 0

    def observe(controller: Controller, command: Command) -> None:
        nonlocal count
        if count % ticks == 0:
            take(take_snapshot(controller, command))
        count += 1

    return observe


@contextmanager
def _progress(name: str) -> Any:
    """Show a progress bar where standard error is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("[bold]{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda fraction, state: bar.update(task, completed=fraction, description=f"{name}: {state}")
