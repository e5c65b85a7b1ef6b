from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import coal
import imageio.v3 as iio
import numpy as np
import pinocchio as pin
import pytest

from multi_qp_viewer import Camera, render_frame, write_video
from multi_qp_viewer.captions import Caption, draw_caption
from multi_qp_viewer.scene_view import drawn_geometry, scene_bounds
from multi_qp_viewer.video import frames_at

SIZE = {"width": 160, "height": 90}


def box_pixels(picture):
    """Return the pixels of the ochre box."""
    red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
    return (red > blue + 60) & (green > blue + 30)


def test_frame_has_its_size_and_shows_the_scene(scene, snapshots):
    picture = render_frame(scene, snapshots[0], **SIZE)
    assert picture.shape == (90, 160, 3)
    assert picture.dtype == np.uint8
    red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
    assert np.sum((red > green + 40) & (red > blue + 40)) > 50
    assert np.sum((blue > red + 40) & (blue > green + 20)) > 50


def test_rendering_is_deterministic(scene, snapshots):
    first = render_frame(scene, snapshots[0], **SIZE)
    np.testing.assert_array_equal(first, render_frame(scene, snapshots[0], **SIZE))


def test_moved_object_moves_in_the_picture(scene, snapshots):
    camera = Camera(position=(0.0, -4.0, 1.0), target=(0.0, 0.0, 1.0))  # looks along +y, with x to the right
    joint = scene.model.joints[scene.model.getJointId("box/root_joint")]
    moved = scene.q0.copy()
    moved[joint.idx_q + 2] += 0.4
    pictures = [
        render_frame(scene, replace(snapshots[0], q=q), camera=camera, overlays=False, **SIZE)
        for q in (scene.q0, moved)
    ]
    before, after = (np.mean(np.nonzero(box_pixels(picture))[0]) for picture in pictures)
    assert before - after == pytest.approx(0.4 * 90 / (2 * np.tan(camera.fov / 2) * 3.8), rel=0.15)


def test_objects_cast_a_soft_shadow_on_the_floor(scene, snapshots):
    camera = Camera(position=(3.0, 2.0, 4.0), target=(0.0, 0.6, 0.0), fov=1.0)
    away = scene.q0.copy()
    for name in ("red", "blue", "box"):
        away[scene.model.joints[scene.model.getJointId(f"{name}/root_joint")].idx_q] += 100.0
    full = render_frame(scene, snapshots[0], camera=camera, overlays=False, width=240, height=160).astype(int)
    empty = render_frame(scene, replace(snapshots[0], q=away), camera=camera, overlays=False, width=240, height=160)
    grey = (np.ptp(full, axis=2) < 30) & (np.ptp(empty.astype(int), axis=2) < 20)  # floor in both
    darkening = (empty.astype(int) - full).mean(axis=2)[grey]
    assert np.sum(darkening > 30) > 100  # full shadow
    assert np.sum((darkening > 6) & (darkening < 20)) > 50  # penumbra
    assert np.median(np.abs(darkening)) < 2  # unchanged elsewhere


def test_overlays_can_be_left_out(scene, snapshots):
    plain = render_frame(scene, snapshots[0], overlays=False, **SIZE).astype(int)
    full = render_frame(scene, snapshots[0], **SIZE).astype(int)
    green = [np.sum((p[..., 1] > p[..., 0] + 40) & (p[..., 1] > p[..., 2] + 25)) for p in (plain, full)]
    assert green[0] == 0  # no force arrow
    assert green[1] > 5
    assert np.any(plain[-20:, :30] != full[-20:, :30])  # the state's name


def test_ground_is_replaced_by_the_floor_of_the_renderer(scene):
    names = [geometry.name for geometry in drawn_geometry(scene)]
    assert not any(name.startswith("ground/") for name in names)
    assert "table/top_0" in names


def test_automatic_camera_frames_the_scene(scene):
    lower, upper = scene_bounds(scene, scene.q0)
    camera = Camera.framing(lower, upper, aspect=16 / 9)
    corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T
    pixels, depth = camera.project(corners, width=1600, height=900)
    assert np.all(depth > 0)
    assert np.all((pixels > 0) & (pixels < [1600, 900]))
    assert np.ptp(pixels[:, 1]) > 700 or np.ptp(pixels[:, 0]) > 1200  # and not from too far away
    assert camera.position[0] > upper[0]  # in front of characters that face +x


def test_rays_and_projection_agree():
    camera = Camera(position=(2.0, 1.0, 1.5), target=(0.0, 0.0, 0.7))
    pixels = np.array([[10.5, 20.5], [600.0, 333.0]])
    rays = camera.directions(pixels, width=960, height=540)
    back, _ = camera.project(np.array(camera.position) + 3.0 * rays, width=960, height=540)
    np.testing.assert_allclose(back, pixels, atol=1e-3)


def test_invalid_cameras_are_refused():
    with pytest.raises(ValueError, match="same point"):
        Camera(position=(0.0, 0.0, 0.0), target=(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="fov"):
        Camera(position=(1.0, 0.0, 0.0), target=(0.0, 0.0, 0.0), fov=4.0)


@pytest.mark.parametrize(("fps", "speed", "count"), [(25, 1.0, 51), (10, 1.0, 21), (10, 2.0, 11), (10, 0.5, 41)])
def test_frames_follow_time(snapshots, fps, speed, count):
    chosen = frames_at(snapshots, fps=fps, speed=speed)
    times = np.arange(count) * speed / fps
    assert len(chosen) == count
    assert np.all(np.array([snapshot.time for snapshot in chosen]) <= times + 1e-6)
    assert np.all(np.array([snapshot.time for snapshot in chosen]) > times - 0.021)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_video_reads_back(tmp_path, scene, snapshots, suffix):
    path = write_video(tmp_path / f"run{suffix}", scene, snapshots[:26], fps=10, width=96, height=64)
    pictures = iio.imread(path, index=None) if suffix == ".gif" else iio.imread(path)
    assert pictures.shape[:3] == (6, 64, 96)
    expected = render_frame(scene, snapshots[0], width=96, height=64, camera=None)
    assert np.mean(np.abs(pictures[0, ..., :3].astype(int) - expected)) < 12


def test_parallel_rendering_gives_the_same_pictures(tmp_path, scene, snapshots):
    alone = write_video(tmp_path / "one.gif", scene, snapshots[:26], fps=10, width=96, height=64, workers=1)
    shared = write_video(tmp_path / "two.gif", scene, snapshots[:26], fps=10, width=96, height=64, workers=2)
    assert alone.read_bytes() == shared.read_bytes()


def test_following_camera_centres_its_subsystem(tmp_path, scene, snapshots):
    joint = scene.model.joints[scene.model.getJointId("blue/root_joint")]
    run = []
    for index in range(20):
        q = scene.q0.copy()
        q[joint.idx_q + 1] += 0.15 * index
        run.append(replace(snapshots[0], time=0.1 * index, q=q))
    options = {"fps": 2, "width": 96, "height": 64, "overlays": False}
    path = write_video(tmp_path / "f.gif", scene, run, camera="follow", follow="blue", **options)
    pictures = iio.imread(path, index=None)[..., :3].astype(int)
    blue = (pictures[..., 2] > pictures[..., 0] + 40) & (pictures[..., 2] > pictures[..., 1] + 10)
    columns = [np.mean(np.nonzero(frame)[1]) for frame in blue]
    assert np.max(np.abs(np.array(columns) - 48)) < 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "run.avi"}, ".mp4 or .gif"),
        ({"path": "missing/run.gif"}, "no folder"),
        ({"path": "run.mp4", "width": 97}, "even"),
        ({"snapshots": []}, "no snapshots"),
        ({"fps": 0}, "positive"),
        ({"speed": -1.0}, "positive"),
        ({"width": 2}, "too small"),
        ({"camera": "orbit"}, "follow"),
        ({"camera": "follow", "follow": "green"}, "blue"),
        ({"workers": 0}, "workers"),
    ],
)
def test_invalid_arguments_raise(tmp_path, scene, snapshots, options, message):
    options = {"path": "run.gif", "snapshots": snapshots[:3], "width": 96, "height": 64, **options}
    path = tmp_path / options.pop("path")
    with pytest.raises(ValueError, match=message):
        write_video(path, scene, options.pop("snapshots"), **options)


def test_distant_walls_are_not_framed(scene):
    lower, upper = scene_bounds(scene, scene.q0)
    wall = pin.GeometryObject("wall/wall_0", 0, pin.SE3(np.eye(3), np.array([0.0, -1.5, 1.0])), coal.Box(40, 0.1, 2))
    visual = scene.visual_model.copy()
    visual.addGeometryObject(wall)
    walled = SimpleNamespace(**{**vars(scene), "visual_model": visual})
    wide_lower, wide_upper = scene_bounds(walled, scene.q0)
    assert wide_lower[1] < lower[1]
    assert np.all(wide_upper - wide_lower < upper - lower + 3.5)


def test_long_caption_in_a_small_picture_does_not_cover_the_time():
    pictures = np.zeros((2, 120, 160, 3), dtype=np.uint8)
    for picture, name in zip(pictures, ("lift", "reach_over_with_the_left_hand"), strict=True):
        draw_caption(picture, Caption(name, 12.5))
    bright = [picture.max(axis=2).astype(int) > 100 for picture in pictures]
    row = np.flatnonzero(bright[0].any(axis=1))
    assert not bright[0][: row[0]].any()
    assert bright[1][: row[0] - 2, 100:].any()  # the time is one line higher


def test_a_picture_of_no_time_has_none_in_its_caption():
    picture = np.full((120, 160, 3), 100, dtype=np.uint8)
    draw_caption(picture, Caption("", math.nan))
    assert (picture == 100).all()
    draw_caption(picture, Caption("", 0.0))
    assert not (picture == 100).all()
