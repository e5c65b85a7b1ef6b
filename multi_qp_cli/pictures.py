"""Off-screen videos and stills of a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from multi_qp_cli.output import writing
from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario

#: Fewest and most pixels of a side.
_LEAST, _MOST = 16, 8192


def size_of(text: str) -> tuple[int, int]:
    """Parse a size such as 960x540.

    Raises:
        MultiQpError: when the size is invalid.
    """
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise MultiQpError(f"--size: expected WIDTHxHEIGHT, as 960x540, got '{text}'") from None
    if not (_LEAST <= min(width, height) and max(width, height) <= _MOST):
        raise MultiQpError(f"--size: expected {_LEAST}x{_LEAST} to {_MOST}x{_MOST}, got '{text}'")
    return width, height


def write_video_of(
    path: Path,
    scenario: Scenario,
    snapshots: list[Snapshot],
    size: tuple[int, int],
    options: argparse.Namespace,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write the video according to the options; `progress` receives the completed fraction."""
    from multi_qp_viewer import write_video

    camera = options.camera
    if camera == "fixed":
        camera = camera_of(scenario) or camera
    try:
        with writing(path):
            write_video(
                path,
                scenario.scene,
                snapshots,
                fps=options.fps,
                width=size[0],
                height=size[1],
                camera=camera,
                speed=options.speed,
                progress=progress,
            )
    except ValueError as error:
        raise MultiQpError(f"--video: {error}") from None


def write_still(
    path: Path, scenario: Scenario, snapshots: list[Snapshot], size: tuple[int, int], at: float | None
) -> None:
    """Write a picture of the tick nearest to `at` [s], by default of the middle of the run.

    A time after the end of the run gives the last tick and a note on standard error.
    """
    from PIL import Image

    from multi_qp_viewer import render_frame

    if not snapshots:
        raise MultiQpError("--still: the run has no tick to draw")
    moment = 0.5 * (snapshots[0].time + snapshots[-1].time) if at is None else at
    nearest = min(snapshots, key=lambda snapshot: abs(snapshot.time - moment))
    try:
        frame = render_frame(scenario.scene, nearest, camera=camera_of(scenario), width=size[0], height=size[1])
    except ValueError as error:
        raise MultiQpError(f"--still: {error}") from None
    with writing(path):
        Image.fromarray(frame).save(path)
    end = snapshots[-1].time
    if moment > 2.0 * end - snapshots[-2:][0].time + 1e-9:  # more than one period after the last snapshot
        print(f"multi-qp: --at: the last tick is at {end:.2f} s; '{path}' shows it, not {moment:g} s", file=sys.stderr)


def camera_of(scenario: Scenario) -> Any:
    """Return the scenario's camera, None where it has none."""
    from multi_qp_viewer import Camera

    spec = scenario.spec.camera
    return None if spec is None else Camera(position=spec.position, target=spec.target, fov=spec.fov)
