"""Footprint of a walking robot: pose and twist in its own frame."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from rosbags.typesys import Stores, get_typestore

from multi_qp_ros.footprint import footprints, walking_robots
from multi_qp_scene import load_scenario
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scene import State

TYPES = get_typestore(Stores.ROS2_JAZZY)


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("walk")


def odometry(scenario, state):
    footprint = footprints(scenario)["humanoid"]
    data = KinematicTrees(scenario.scene.model).place(state.q)
    return TYPES.deserialize_cdr(footprint.fill(data, state, 7_000_000_000), "nav_msgs/msg/Odometry")


def test_the_twist_is_the_motion_of_the_pose_in_its_own_frame(scenario):
    model, rng, dt = scenario.scene.model, np.random.default_rng(0), 1e-5
    tilted = np.zeros(model.nv)
    tilted[:6] = 0.4, -0.3, 0.1, 0.0, 0.0, 2.0
    q, v = pin.integrate(model, scenario.scene.q0, tilted), rng.uniform(-0.5, 0.5, model.nv)
    now, later = (odometry(scenario, State(pin.integrate(model, q, v * t), v)) for t in (0.0, dt))

    def planar(message):
        p, o = message.pose.pose.position, message.pose.pose.orientation
        assert (o.x, o.y) == pytest.approx((0.0, 0.0), abs=1e-12)
        return np.array([p.x, p.y]), 2.0 * np.arctan2(o.z, o.w)

    (place, yaw), (place_later, yaw_later) = planar(now), planar(later)
    ahead = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    twist = now.twist.twist
    np.testing.assert_allclose([twist.linear.x, twist.linear.y], ahead @ (place_later - place) / dt, atol=1e-3)
    assert twist.angular.z == pytest.approx((yaw_later - yaw) / dt, abs=1e-3)
    assert (twist.linear.z, twist.angular.x, twist.angular.y) == (0.0, 0.0, 0.0)


def test_it_is_on_the_ground_below_the_root_link(scenario):
    message = odometry(scenario, scenario.scene.initial_state())
    root = scenario.scene.q0[:3]
    p = message.pose.pose.position
    assert (p.x, p.y, p.z) == pytest.approx((root[0], root[1], 0.0), abs=1e-6)
    assert (message.header.frame_id, message.child_frame_id) == ("world", "humanoid/base_footprint")


def test_only_robots_with_a_walking_generator_have_one(scenario):
    assert walking_robots(scenario) == {"humanoid": ("humanoid/left_sole", "humanoid/right_sole")}
    assert not walking_robots(load_scenario("stand"))
