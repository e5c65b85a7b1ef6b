"""Runs of `multi-qp run` in the viewer: again on request, of another scene, and with their files."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

from multi_qp_cli.interaction import Interaction
from multi_qp_cli.mismatch_options import mismatch_from, with_mismatch
from multi_qp_cli.output import Console
from multi_qp_cli.pictures import camera_of, size_of, write_video_of
from multi_qp_cli.plan_command import with_plan
from multi_qp_cli.runs import SNAPSHOT_RATE, every, make_run
from multi_qp_controller.snapshot import Snapshot
from multi_qp_ros.recording import BagRecorder
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.schema.scenario_file import ParameterSpec
from multi_qp_simulator.runner import Run, RunResult
from multi_qp_viewer import BrowserViewer, render_frame
from multi_qp_viewer.curves import Series
from multi_qp_viewer.downloads import MakeFile
from multi_qp_viewer.scene_menu import ScenePreview

#: Size of the still of a scene [pixels].
STILL = 480, 270


class ViewerSession:
    """Runs in real time in the viewer, one after the other; Ctrl-C ends the session.

    The page can request another run of the same scene, or of any other of `multi-qp list`. Without `--record`, whose
    file is of one scene.
    """

    def __init__(
        self, scenario: Scenario, options: argparse.Namespace, recorder: BagRecorder | None, *, film: bool
    ) -> None:
        """Open the page.

        Args:
            scenario: the first scenario.
            options: of `multi-qp run`.
            recorder: of all runs, or None.
            film: whether snapshots of the last run are returned.

        Raises:
            MultiQpError: when the scenario cannot be run.
        """
        self._options, self._recorder, self._film = options, recorder, film
        self._run: Run | None = make_run(scenario, options, real_time=True)  # before a page opens
        self._scenario = scenario
        self._first = scenario.name, options.scenario
        self._requested = threading.Event()
        self._next: Run | None = None
        self._present: Run | None = None
        self._snapshots: list[Snapshot] = []
        self._console = Console(stderr=True)
        self._viewer = BrowserViewer(
            scenario.scene, title=_title(scenario), port=options.port, on_restart=self._restart
        )
        self._interaction = Interaction(self._viewer.controls)
        if recorder is None:
            names = sorted({*scenario_names(), scenario.name})
            self._menu = self._viewer.add_scene_menu(names, scenario.name, preview=self._preview, on_run=self._request)

    def execute(self) -> tuple[RunResult, list[Snapshot], Scenario]:
        """Run until Ctrl-C; return result, snapshots and scenario of the last run."""
        run, result = self._run, None
        try:
            name, url = self._scenario.name, self._viewer.url
            self._console.print(f"[bold]{name}[/bold] in the viewer at {url}  (Ctrl-C ends)", soft_wrap=True)
            _open_browser(url)
            while True:
                run, result = self._begin(), None
                result = run.execute()
                self._viewer.finish()
                self._viewer.downloads.offer(self._files(run.scenario, result))
                if not self._requested.is_set():
                    self._console.print(f"{result.report['ended']}; the viewer stays open, Ctrl-C ends")
                    self._requested.wait()
        except KeyboardInterrupt:
            if run is None:
                raise
            result = run.interrupted() if run.result is None else run.result
        finally:
            self._viewer.close()
        assert result is not None
        return result, self._snapshots, self._scenario

    def _begin(self) -> Run:
        """Return the next run, which the page shows from now on."""
        self._requested.clear()
        self._interaction.clear()
        self._viewer.downloads.offer({})
        run, self._next = self._next or self._run, None
        self._run = None
        if run is None:
            self._scenario.scene.loads.reset()
            run = make_run(self._scenario, self._options, real_time=True)
        if run.scenario is not self._scenario:
            self._scenario = run.scenario
            self._viewer.set_scene(run.scenario.scene, title=_title(run.scenario))
        self._viewer.player.begin()
        self._snapshots.clear()
        run.observe(every(SNAPSHOT_RATE, run, self._viewer.show))
        run.observe(self._interaction)
        self._viewer.show_curves(_RunSource(run))
        if self._film:
            run.observe(every(SNAPSHOT_RATE, run, self._snapshots.append))
        if self._recorder is not None:
            self._recorder.attach(run.controller)
            run.observe(self._recorder)
        self._present = run
        return run

    def _restart(self) -> None:
        """Run again."""
        self._requested.set()
        if self._present is not None:
            self._present.stop()

    # -- called from threads of the viewer

    def _load(self, name: str, parameters: Mapping[str, float]) -> Scenario:
        own, place = self._first
        return load_scenario(place if name == own else name, parameters=parameters, seed=self._options.seed)

    def _preview(self, name: str) -> ScenePreview:
        """Return what the menu shows of a scene; of the present one, its present parameters and no still."""
        if name == self._scenario.name:
            return ScenePreview(self._scenario.spec.description, None, _parameters(self._scenario))
        scenario = self._load(name, {})
        snapshot = Snapshot(time=0.0, q=scenario.scene.q0, state="", status="ok", tick_ms=0.0)
        width, height = STILL
        picture = render_frame(
            scenario.scene, snapshot, camera=camera_of(scenario), width=width, height=height, overlays=False
        )
        return ScenePreview(scenario.spec.description, picture, _parameters(scenario))

    def _request(self, name: str, parameters: Mapping[str, float]) -> None:
        """Prepare a run of a scene, and replace the present one by it."""
        scenario, _ = with_plan(self._load(name, parameters))
        scenario = with_mismatch(scenario, mismatch_from(self._options, scenario.spec.mismatch))
        self._next = make_run(scenario, self._options, real_time=True)
        self._restart()

    def _files(self, scenario: Scenario, result: RunResult) -> dict[str, MakeFile]:
        snapshots = self._viewer.player.history.snapshots()

        def report(_: Callable[[float], None]) -> bytes:
            return json.dumps(result.report, indent=2, allow_nan=False).encode()

        def log(_: Callable[[float], None]) -> bytes:
            file = io.BytesIO()
            result.log.save(file)
            return file.getvalue()

        def video(progress: Callable[[float], None]) -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "video.mp4"
                size = size_of(self._options.size)
                write_video_of(path, scenario, snapshots, size, self._options, progress)
                return path.read_bytes()

        name = scenario.name
        return {f"{name}_report.json": report, f"{name}_log.npz": log, f"{name}.mp4": video}


def _parameters(scenario: Scenario) -> dict[str, ParameterSpec]:
    """Return the parameters of a scenario with their present values as defaults."""
    values = scenario.parameters
    return {key: spec.model_copy(update={"default": values[key]}) for key, spec in scenario.spec.parameters.items()}


class _RunSource:
    """Curves of a run for the viewer."""

    def __init__(self, run: Run) -> None:
        self.scene, self._recorder = run.scenario.scene, run.recorder

    def __len__(self) -> int:
        return len(self._recorder)

    def series(self, ticks: slice) -> Series:
        """Return some of the ticks."""
        log = self._recorder.log(ticks)
        return Series(**{field.name: getattr(log, field.name) for field in fields(Series)})


def _title(scenario: Scenario) -> str:
    return f"multi-qp · {scenario.name}"


def _open_browser(url: str) -> None:
    """Open the page in a browser if there is a display."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)
