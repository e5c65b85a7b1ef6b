"""Reference motions as ghosts beside the robots that follow them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_scene import load_scenario
from multi_qp_viewer import BrowserViewer, Camera, render_frame

SIZE = {"width": 160, "height": 90}


@pytest.fixture(scope="module")
def followed(scene):
    """Return the toy scene, in which the first robot has a configuration of its own."""
    second = scene.model.joints[scene.model.getJointId("blue/root_joint")].idx_q
    red = SimpleNamespace(name="red", color=None, q_slice=slice(0, second))
    return SimpleNamespace(**vars(scene) | {"subsystems": {**scene.subsystems, "red": red}})


def beside(scene, snapshot, shift):
    """Return a snapshot in which the reference of the first robot is beside it by (3,) [m]."""
    own = snapshot.q[scene.subsystems["red"].q_slice].copy()
    own[:3] += shift
    return replace(snapshot, references={"red": own})


def test_a_ghost_is_drawn_where_the_reference_is(followed, snapshots):
    camera = Camera(position=(-0.55, -4.0, 1.0), target=(-0.55, 0.0, 1.0))  # looks along +y, with x to the right
    bare = render_frame(followed, snapshots[0], camera=camera, **SIZE).astype(int)
    both = render_frame(followed, beside(followed, snapshots[0], [-0.8, 0.0, 0.0]), camera=camera, **SIZE).astype(int)
    _, columns = np.nonzero(np.abs(both - bare).sum(axis=2) > 20)
    assert len(columns) > 100
    # 0.8 m to the left, at a distance of 4 m
    assert 80 - columns.mean() == pytest.approx(0.8 * 90 / (2 * np.tan(camera.fov / 2) * 4.0), rel=0.15)
    bodies = [
        render_frame(followed, snapshot, camera=camera, overlays=False, **SIZE)
        for snapshot in (snapshots[0], beside(followed, snapshots[0], [-0.8, 0.0, 0.0]))
    ]
    np.testing.assert_array_equal(*bodies)


def test_the_page_shows_the_ghost_while_there_is_one(followed, snapshots):
    with BrowserViewer(followed, title="ghost", port=8930) as viewer:
        viewer.show(snapshots[0])
        viewer.refresh()
        assert viewer._server.scene.get_handle_by_name("/world/reference/0") is None
        viewer.show(beside(followed, snapshots[1], [0.0, 0.0, 1.0]))
        viewer.refresh()
        body, ghost = (viewer._server.scene.get_handle_by_name(f"/world/{node}/0") for node in ("bodies", "reference"))
        assert ghost.visible and ghost.batched_opacities.max() < 0.5
        shifted = body.batched_positions[: len(ghost.batched_positions)] + [0.0, 0.0, 1.0]
        np.testing.assert_allclose(ghost.batched_positions, shifted, atol=1e-5)
        viewer.set_layer("Reference motion", False)
        viewer.show(beside(followed, snapshots[2], [0.0, 0.0, 1.0]))
        viewer.refresh()
        assert not ghost.visible
        viewer.set_layer("Reference motion", True)
        viewer.show(snapshots[3])
        viewer.refresh()
        assert not ghost.visible


def test_the_reference_of_a_modal_generator_is_in_the_snapshot():
    scenario = load_scenario("squat")
    controller = Controller(scenario)
    snapshot = take_snapshot(controller, controller.step(scenario.scene.initial_state(), 0.0))
    motion = controller.generator("squat").tracked.motion
    own = snapshot.references["humanoid"]
    np.testing.assert_allclose(own[:3], motion.q[0, :3], atol=2e-3)  # the next tick's
    assert len(own) == motion.q.shape[1]
    other = load_scenario("stand")
    controller = Controller(other)
    assert not take_snapshot(controller, controller.step(other.scene.initial_state(), 0.0)).references
