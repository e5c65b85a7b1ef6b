"""Command `multi-qp run`: one run of a scenario, in the viewer or headless."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from multi_qp_cli.mismatch_options import add_mismatch_options, mismatch_from, with_mismatch
from multi_qp_cli.options import (
    add_qp_options,
    add_scenario_options,
    check_qp_options,
    load_from,
    output_path,
    require_known,
    require_within,
)
from multi_qp_cli.output import Failures, write_json, writing
from multi_qp_cli.pictures import size_of, write_still, write_video_of
from multi_qp_cli.plan_command import with_plan
from multi_qp_cli.progress import run_progress
from multi_qp_cli.report_view import print_report
from multi_qp_cli.runs import SNAPSHOT_RATE, every, make_run
from multi_qp_controller.snapshot import Snapshot
from multi_qp_ros.recording import BagRecorder
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.runner import BACKENDS, RunResult


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "run",
        description="Run a scenario: in the browser viewer, or with --headless to its end.",
    )
    add_scenario_options(parser)
    add_mismatch_options(parser)
    parser.add_argument("--headless", action="store_true", help="no viewer: run to the end as fast as possible")
    parser.add_argument(
        "--backend", default="integrator", help=f"simulator backend (default integrator): {', '.join(BACKENDS)}"
    )
    add_qp_options(parser)
    parser.add_argument("--dt", type=float, help="control period [s]")
    parser.add_argument("--duration", type=float, help="maximum simulated time [s], also of phases for a user")
    parser.add_argument("--report", metavar="FILE.json", help="write the report here")
    parser.add_argument("--log", metavar="FILE.npz", help="write the log of every tick here")
    parser.add_argument("--record", metavar="FILE.mcap", help="record every tick here, for replay and ROS 2 tools")
    parser.add_argument("--video", metavar="FILE", help="render a video off screen: .mp4 or .gif")
    parser.add_argument("--still", metavar="FILE.png", help="render one picture off screen")
    parser.add_argument("--at", type=float, metavar="S", help="simulated time of the still (default: the middle) [s]")
    parser.add_argument("--camera", choices=("fixed", "follow"), default="fixed", help="camera of the video")
    parser.add_argument("--size", default="960x540", metavar="WxH", help="size of video and still (default 960x540)")
    parser.add_argument("--fps", type=float, default=25.0, help="frames per second of the video (default 25)")
    parser.add_argument("--speed", type=float, default=1.0, help="playback speed of the video (default 1)")
    parser.add_argument(
        "--port", type=int, default=8080, help="port of the viewer (default 8080, or the next free one)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the scenario and return the exit status."""
    _check(options)
    paths = _Outputs(options)
    scenario, incomplete = with_plan(load_from(options))
    scenario = with_mismatch(scenario, mismatch_from(options, scenario.spec.mismatch))
    failures = Failures()
    with _recorder(paths.record, scenario, options, failures) as recorder:
        if options.headless:
            result, snapshots = _run_once(scenario, options, recorder, film=paths.drawn)
        else:
            from multi_qp_cli.viewer_session import ViewerSession  # imports a web server

            session = ViewerSession(scenario, options, recorder, film=paths.drawn)
            result, snapshots, scenario = session.execute()
    if recorder is not None:
        result.report["recording"] = recorder.report()
    result.report["incomplete"] = incomplete or None
    print_report(result.report)
    paths.write(result, scenario, snapshots, options, failures)
    failures.raise_if_any()
    return 0 if result.succeeded and not incomplete else 1


def _check(options: argparse.Namespace) -> None:
    """Validate the options before any work is done."""
    require_known("--backend", "backend", options.backend, BACKENDS)
    check_qp_options(options)
    if (options.mismatch or options.push) and options.backend != "mujoco":
        raise MultiQpError("--mismatch and --push require a physics simulation: add --backend mujoco")
    for option, limit in (("dt", "period"), ("duration", "time"), ("fps", "speed"), ("speed", "speed")):
        require_within(f"--{option}", getattr(options, option), limit)
    if options.at is not None and not 0.0 <= options.at < math.inf:
        raise MultiQpError(f"--at: expected a time of 0 s or later, got {options.at:g}")
    if options.at is not None and options.still is None:
        raise MultiQpError("--at is the time of a still: add --still FILE.png")
    if not 0 <= options.port <= 65535:
        raise MultiQpError(f"--port: expected a number from 0 to 65535, got {options.port}")


class _Outputs:
    """Output files, checked before the run and written after it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.report = output_path("--report", options.report)
        self.log = output_path("--log", options.log, suffixes=(".npz",))
        self.record = output_path("--record", options.record, suffixes=(".mcap",))
        self.video = output_path("--video", options.video, suffixes=(".mp4", ".gif"))
        self.still = output_path("--still", options.still, suffixes=(".png",))
        self.size = size_of(options.size)

    def write(
        self,
        result: RunResult,
        scenario: Scenario,
        snapshots: list[Snapshot],
        options: argparse.Namespace,
        failures: Failures,
    ) -> None:
        """Write all files; an error of one does not prevent the others."""
        if self.report is not None:
            with failures.collect():
                write_json(self.report, result.report, allow_nan=False)
        if self.log is not None:
            with failures.collect(), writing(self.log):
                result.log.save(self.log)
        if self.video is not None:
            with failures.collect():
                write_video_of(self.video, scenario, snapshots, self.size, options)
        if self.still is not None:
            with failures.collect():
                write_still(self.still, scenario, snapshots, self.size, options.at)

    @property
    def drawn(self) -> bool:
        """Whether a video or a still is written."""
        return self.video is not None or self.still is not None


@contextmanager
def _recorder(
    path: Path | None, scenario: Scenario, options: argparse.Namespace, failures: Failures
) -> Iterator[BagRecorder | None]:
    """Yield a recorder if there is a path, and close its file in any case."""
    if path is None:
        yield None
        return
    recorder = BagRecorder(path, scenario, backend=options.backend)
    try:
        yield recorder
    finally:
        with failures.collect():
            recorder.close()


def _run_once(
    scenario: Scenario, options: argparse.Namespace, recorder: BagRecorder | None, *, film: bool
) -> tuple[RunResult, list[Snapshot]]:
    snapshots: list[Snapshot] = []
    run = make_run(scenario, options, real_time=False)
    if film:
        run.observe(every(SNAPSHOT_RATE, run, snapshots.append))
    if recorder is not None:
        recorder.attach(run.controller)
        run.observe(recorder)
    with run_progress(scenario.name) as progress:
        try:
            return run.execute(progress), snapshots
        except KeyboardInterrupt:
            return run.interrupted(), snapshots
