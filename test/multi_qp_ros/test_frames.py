"""Tree of frames: the product of its transforms is the forward kinematics of the scene."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from rosbags.typesys import Stores, get_typestore

from multi_qp_ros import transforms
from multi_qp_ros.scene_templates import FrameTemplates
from multi_qp_scene import load_scenario
from multi_qp_scene.kinematic_trees import KinematicTrees

TYPES = get_typestore(Stores.ROS2_JAZZY)


@pytest.fixture(scope="module", params=["box", "valve"])
def scene(request):
    return load_scenario(request.param).scene


@pytest.fixture(scope="module")
def q(scene):
    step = np.random.default_rng(3).uniform(-0.4, 0.4, scene.nv)
    return pin.integrate(scene.model, scene.q0, step)


def transforms_of(scene, q, stamp, *, fixed):
    data = KinematicTrees(scene.model).place(q)
    return decoded(FrameTemplates(scene).fill(data, stamp, fixed=fixed))


def decoded(message: bytes):
    """Read transforms with a library independent of this project; tf2_msgs is not among the wheels."""
    return TYPES.deserialize_cdr(message, "tf2_msgs/msg/TFMessage").transforms


def pose(message):
    t, r = message.transform.translation, message.transform.rotation
    return pin.XYZQUATToSE3(np.array([t.x, t.y, t.z, r.x, r.y, r.z, r.w]))


def in_world(messages):
    """Put a tree of messages together, from the root down, as tf2 does."""
    parents = {m.child_frame_id: (m.header.frame_id, pose(m)) for m in messages}

    def placement(name):
        if name == "world":
            return pin.SE3.Identity()
        parent, X = parents[name]
        return placement(parent) * X

    return {name: placement(name) for name in parents}


def test_the_tree_holds_every_link_and_surface_where_it_is(scene, q):
    messages = [*transforms_of(scene, q, 5, fixed=True), *transforms_of(scene, q, 5, fixed=False)]
    assert len({m.child_frame_id for m in messages}) == len(messages)
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, q)
    parts = {**scene.subsystems, **scene.environment}
    links = {link for part in parts.values() for link in part.links}
    placements = in_world(messages)
    assert placements.keys() == links | scene.surfaces.keys()
    for name, X in placements.items():
        kind = pin.FrameType.OP_FRAME if name in scene.surfaces else pin.FrameType.BODY
        expected = data.oMf[scene.model.getFrameId(name, kind)]
        assert X.isApprox(expected, 1e-9), name


def test_only_moving_frames_are_published_again(scene):
    moving = {m.child_frame_id for m in transforms_of(scene, scene.q0, 0, fixed=False)}
    assert len(moving) == scene.model.njoints - 1
    before = {m.child_frame_id: pose(m) for m in transforms_of(scene, scene.q0, 0, fixed=True)}
    assert not moving & before.keys()


def test_static_frames_are_published_first():
    text: dict[str, list] = {}
    node = SimpleNamespace(
        create_publisher=lambda kind, topic, qos: SimpleNamespace(publish=text.setdefault(topic, []).append)
    )
    scenario = load_scenario("walk")
    output, q = transforms.TransformOutput(node, scenario), scenario.scene.q0
    output.send(q, 1_000_000_000)
    output.send(q, 2_000_000_000)
    assert [len(messages) for messages in (text["/tf"], text["/tf_static"])] == [2, 1]
    moving = decoded(text["/tf"][-1])
    assert {m.header.stamp.sec for m in moving} == {2}
    assert [m.header.frame_id for m in moving if m.child_frame_id == "humanoid/base_footprint"] == ["world"]


def test_there_is_tf_where_tf2_msgs_is():
    assert transforms.has_tf() == (find_spec("tf2_msgs") is not None)
