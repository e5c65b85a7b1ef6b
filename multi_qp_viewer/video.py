"""Off-screen rendering of pictures and videos of a run, without a window, a display or OpenGL.

The scene is converted to triangles once; each picture is then ray cast on the CPU, in one or more processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_scene.executor import Lost, in_order
from multi_qp_scene.processes import LocalExecutor
from multi_qp_viewer import marks
from multi_qp_viewer.camera import Camera
from multi_qp_viewer.captions import Caption
from multi_qp_viewer.encoding import check_format, encode
from multi_qp_viewer.ghost import Ghosts
from multi_qp_viewer.meshes import Piece, pieces, rgba
from multi_qp_viewer.picture import Overlay, RenderJob, render
from multi_qp_viewer.pose import ScenePose
from multi_qp_viewer.raytracer import ShadedBody
from multi_qp_viewer.render_overlays import overlays_of
from multi_qp_viewer.scene_view import (
    DrawableScene,
    character_weight,
    drawn_geometry,
    moving_subsystems,
    scene_bounds,
    subsystem_of,
)

Frame = NDArray[np.uint8]
CameraChoice = Literal["fixed", "follow"] | Camera

FOLLOW_TIME = 0.6  # time constant of the following camera [s]
MOST_PICTURES = 100_000  # of one video: more than an hour
BOUNDS_SAMPLES = 25  # snapshots over which the bounds for the fixed camera are computed


class SceneRenderer:
    """Scene as bodies for the ray caster."""

    def __init__(self, scene: DrawableScene) -> None:
        """Convert the scene's geometry to triangles.

        Args:
            scene: the scene.
        """
        self.scene = scene
        geometries = drawn_geometry(scene)
        self._pose = ScenePose(scene.model, geometries)
        self._weight = character_weight(scene)
        self._ghosts = Ghosts(scene)
        parts = [(index, piece) for index, g in enumerate(geometries) for piece in pieces(g)]
        self._owner = np.array([index for index, _ in parts], dtype=int)
        self._subsystems = np.array([subsystem_of(g.name) for g in geometries])
        self.bodies = [_body(piece, tuple(rgba(geometries[index])), index) for index, piece in parts]

    def job(self, snapshot: Snapshot, *, camera: Camera, width: int, height: int, overlays: bool = True) -> RenderJob:
        """Return the contents of one picture, ready to be sent to another process."""
        rotations, positions = self._pose.placements(snapshot.q)
        status = "" if snapshot.status == "ok" else snapshot.status
        color = marks.STATUS.get(snapshot.status, (0.0, 0.0, 0.0))
        drawings = marks.drawings_of(snapshot, weight=self._weight, picture=True)
        marked = (*overlays_of(drawings), *self._ghosts.overlays(snapshot)) if overlays else ()
        return RenderJob(
            rotations=rotations[self._owner],
            positions=positions[self._owner],
            camera=camera,
            width=width,
            height=height,
            center=(round(camera.target[0], 2), round(camera.target[1], 2)),
            overlays=marked,
            caption=Caption(snapshot.state, snapshot.time, status, color) if overlays else None,
        )

    def middle(self, snapshot: Snapshot, subsystem: str) -> Array:
        """Return the mean position of a subsystem's geometry, (3,) [m]."""
        _, positions = self._pose.placements(snapshot.q)
        return np.asarray(positions[self._subsystems == subsystem].mean(axis=0))


def render_frame(
    scene: DrawableScene,
    snapshot: Snapshot,
    *,
    camera: Camera | None = None,
    width: int = 960,
    height: int = 540,
    overlays: bool = True,
    extra: Sequence[Overlay] = (),
) -> Frame:
    """Return one picture of a tick, (height, width, 3).

    Args:
        scene: the scene.
        snapshot: the tick.
        camera: the view; a three-quarter front view of the whole scene if None.
        width: of the picture [pixels].
        height: of the picture [pixels].
        overlays: draw forces, centres of mass, pairs, targets and text too.
        extra: further overlays.
    """
    _check_size(width, height)
    view = camera or _framing(scene, [snapshot], aspect=width / height)
    renderer = SceneRenderer(scene)
    job = renderer.job(snapshot, camera=view, width=width, height=height, overlays=overlays)
    return render(renderer.bodies, replace(job, overlays=(*job.overlays, *extra)))


def write_video(
    path: str | Path,
    scene: DrawableScene,
    snapshots: Sequence[Snapshot],
    *,
    fps: float = 25.0,
    width: int = 960,
    height: int = 540,
    camera: CameraChoice = "fixed",
    follow: str | None = None,
    speed: float = 1.0,
    overlays: bool = True,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write a run as .mp4 or .gif and return the path.

    Args:
        path: output file; its suffix selects the format.
        scene: the scene.
        snapshots: of the run, in order of time.
        fps: pictures per second of video.
        width: of the picture [pixels]; even for mp4.
        height: of the picture [pixels]; even for mp4.
        camera: "fixed" frames the whole run, "follow" centres a subsystem, or a camera.
        follow: subsystem to follow; the first that moves if None.
        speed: run time per video time; 2 is twice as fast.
        overlays: draw forces, centres of mass, pairs, targets and text too.
        workers: processes; None uses one per CPU for long videos and none for short ones.
        progress: called after every picture with the completed fraction; by default a bar on a terminal.

    Raises:
        ValueError: for another suffix, no snapshots, or impossible sizes, rates or names.
    """
    target = check_format(Path(path), width=width, height=height)
    _check_size(width, height)
    if not snapshots:
        raise ValueError("there are no snapshots to make a video of")
    if fps <= 0 or speed <= 0:
        raise ValueError(f"fps and speed must be positive, not {fps} and {speed}")
    chosen = frames_at(snapshots, fps=fps, speed=speed)
    renderer = SceneRenderer(scene)
    views = _views(renderer, chosen, camera=camera, follow=follow, aspect=width / height, step=speed / fps)
    jobs = (
        renderer.job(snapshot, camera=view, width=width, height=height, overlays=overlays)
        for snapshot, view in zip(chosen, views, strict=True)
    )
    pictures = _render_all(renderer.bodies, jobs, count=len(chosen), workers=workers)
    shown = _with_progress(pictures, len(chosen), target.name) if progress is None else pictures
    encode(target, _counted(shown, len(chosen), progress), fps=fps, width=width, height=height)
    return target


def frames_at(snapshots: Sequence[Snapshot], *, fps: float, speed: float = 1.0) -> list[Snapshot]:
    """Return the newest snapshot at the time of each picture; the last picture shows the end of the run."""
    times = np.array([snapshot.time for snapshot in snapshots])
    step = speed / fps
    count = int(np.floor((times[-1] - times[0]) / step + 1e-6)) + 1
    if count > MOST_PICTURES:
        raise ValueError(f"a video of {count} pictures is too long: use a lower fps or a higher speed")
    times_of_frames = times[0] + step * np.arange(count) + 1e-9
    return [snapshots[index] for index in np.searchsorted(times, times_of_frames, side="right") - 1]


def _views(
    renderer: SceneRenderer,
    snapshots: Sequence[Snapshot],
    *,
    camera: CameraChoice,
    follow: str | None,
    aspect: float,
    step: float,
) -> list[Camera]:
    """Return one camera per picture."""
    if isinstance(camera, Camera):
        return [camera] * len(snapshots)
    if camera == "fixed":
        return [_framing(renderer.scene, snapshots, aspect=aspect)] * len(snapshots)
    if camera != "follow":
        raise ValueError(f'camera is "fixed", "follow" or a Camera, not {camera!r}')
    name = follow or next(iter(moving_subsystems(renderer.scene)), None)
    if name is None:
        raise ValueError("there is nothing to follow: no subsystem moves")
    lower, upper = scene_bounds(renderer.scene, snapshots[0].q, only=name)
    reach = 0.35 * (upper - lower) * [1, 1, 0] + 0.15
    first = Camera.framing(lower - reach, upper + reach, aspect=aspect)
    shifts = np.array([renderer.middle(snapshot, name) for snapshot in snapshots])
    shifts = _smoothed(shifts - shifts[0], step / FOLLOW_TIME)
    return [first.moved(np.round(shift, 4)) for shift in shifts]


def _smoothed(track: Array, share: float) -> Array:
    """Filter a track by a low-pass forwards and backwards, without lag."""
    gain = 1.0 - np.exp(-share)
    for _ in range(2):
        track = track.copy()
        for index in range(1, len(track)):
            track[index] = track[index - 1] + gain * (track[index] - track[index - 1])
        track = track[::-1]
    return track


def _framing(scene: DrawableScene, snapshots: Sequence[Snapshot], *, aspect: float) -> Camera:
    """Return a camera that frames the whole run."""
    picked = np.unique(np.linspace(0, len(snapshots) - 1, BOUNDS_SAMPLES).astype(int))
    boxes = [scene_bounds(scene, snapshots[index].q) for index in picked]
    lower, upper = zip(*boxes, strict=True)
    return Camera.framing(np.min(lower, axis=0), np.max(upper, axis=0), aspect=aspect)


def _render_all(
    bodies: Sequence[ShadedBody], jobs: Iterator[RenderJob], *, count: int, workers: int | None
) -> Iterator[Frame]:
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    with LocalExecutor(workers or (os.cpu_count() or 1 if count > 40 else 1)) as executor:
        for picture in in_order(executor.as_completed(partial(render, bodies), jobs)):
            if isinstance(picture, Lost):
                raise RuntimeError(f"a picture could not be rendered: {picture.why}")
            yield picture


def _with_progress(pictures: Iterator[Frame], count: int, name: str) -> Iterator[Frame]:
    if not sys.stderr.isatty():
        return pictures
    from rich.console import Console
    from rich.progress import track

    return iter(track(pictures, description=f"Rendering {name}", total=count, console=Console(stderr=True)))


def _counted(pictures: Iterator[Frame], count: int, progress: Callable[[float], None] | None) -> Iterator[Frame]:
    for done, picture in enumerate(pictures, 1):
        yield picture
        if progress is not None:
            progress(done / count)


def _body(piece: Piece, color: tuple[float, ...], group: int) -> ShadedBody:
    shape, scale, offset = piece.shape, np.array(piece.scale), np.array(piece.offset)
    normals = shape.normals / scale
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    red, green, blue, opacity = color
    return ShadedBody(
        (shape.vertices * scale + offset).astype(np.float32),
        normals.astype(np.float32),
        shape.faces,
        (red, green, blue, opacity),
        group,
    )


def _check_size(width: int, height: int) -> None:
    if width < 16 or height < 16:
        raise ValueError(f"a picture of {width} x {height} pixels is too small; 16 x 16 is the least")
