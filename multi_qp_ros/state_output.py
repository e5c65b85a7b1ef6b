"""Publishers of joint states and odometry of all subsystems of a scene."""

from __future__ import annotations

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros import conversions, topics
from multi_qp_ros.raw_messages import MessageTemplate
from multi_qp_ros.state_assembly import JointIndices, entries, joints_of
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem


class StateOutput:
    """Publishers of the state of a scene."""

    def __init__(self, node: Any, scene: Scene) -> None:
        self._robots = []
        for name, subsystem in scene.subsystems.items():
            joints = joints_of(scene, subsystem)
            if joints:
                publisher = node.create_publisher(JointState, topics.joint_states(name), topics.STATE_QOS)
                self._robots.append((publisher, _JointNumbers(joints)))
        self._roots = []
        for name, subsystem in scene.subsystems.items():
            if subsystem.floating:
                publisher = node.create_publisher(Odometry, topics.odom(name), topics.STATE_QOS)
                q, v = subsystem.q_slice.start, subsystem.v_slice.start
                self._roots.append((publisher, _odometry_template(subsystem), slice(q, q + 7), slice(v, v + 6)))

    def publish(self, state: State, stamp: int) -> None:
        """Publish the state of a time [ns]."""
        for publisher, numbers in self._robots:
            publisher.publish(numbers.fill(state, stamp))
        for publisher, template, q, v in self._roots:
            publisher.publish(template.fill(stamp, np.concatenate([state.q[q], state.v[v]])))


class _JointNumbers:
    """JointState template of one robot: positions, then velocities."""

    def __init__(self, joints: tuple[JointIndices, ...]) -> None:
        n = len(joints)
        self._q, self._v = entries([joint.q_index for joint in joints]), entries([joint.v_index for joint in joints])
        self._continuous = np.flatnonzero([joint.continuous for joint in joints])
        self._numbers = np.zeros(2 * n)
        self._angles, self._speeds = self._numbers[:n], self._numbers[n:]
        self._sines = np.array([joint.q_index + 1 for joint in joints])[self._continuous]
        names = [joint.name for joint in joints]
        self._template = MessageTemplate(
            lambda numbers: JointState(
                name=names, position=conversions.doubles(numbers[:n]), velocity=conversions.doubles(numbers[n:])
            ),
            2 * n,
        )

    def fill(self, state: State, stamp: int) -> Any:
        angles, k = self._angles, self._continuous
        angles[:], self._speeds[:] = state.q[self._q], state.v[self._v]
        if len(k):
            angles[k] = np.arctan2(state.q[self._sines], angles[k])
        return self._template.fill(stamp, self._numbers)


def _odometry_template(subsystem: Subsystem) -> MessageTemplate:
    def make(numbers: list[float]) -> Odometry:
        q, v = np.zeros(subsystem.q_slice.stop), np.zeros(subsystem.v_slice.stop)
        q[subsystem.q_slice.start :][:7], v[subsystem.v_slice.start :][:6] = numbers[:7], numbers[7:]
        return conversions.odometry(subsystem, State(q, v), 0)

    return MessageTemplate(make, 13)
