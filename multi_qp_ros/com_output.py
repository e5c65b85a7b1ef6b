"""Publishers of the centres of mass of subsystems, as messages that plotting tools display."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PointStamped, Vector3Stamped
from rclpy.publisher import Publisher

from multi_qp_ros import conversions, topics
from multi_qp_ros.qos import OFFERED_STATE_QOS
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem, SubsystemKind


class CoMOutput:
    """Publishers of position and velocity of the centre of mass of each robot and object, in `world`."""

    def __init__(self, node: Any, scene: Scene) -> None:
        self._model, self._data = scene.model, scene.model.createData()
        self._outputs: list[tuple[Subsystem, Publisher, Publisher]] = [
            (
                subsystem,
                node.create_publisher(PointStamped, topics.com(name), OFFERED_STATE_QOS),
                node.create_publisher(Vector3Stamped, topics.com_velocity(name), OFFERED_STATE_QOS),
            )
            for name, subsystem in scene.subsystems.items()
            if subsystem.kind is not SubsystemKind.ARTICULATED
        ]

    def publish(self, state: State, stamp: int) -> None:
        """Publish the centres of mass at a state of a time [ns], unless the state is not finite."""
        if not state.is_finite:
            return
        data = self._data
        pin.centerOfMass(self._model, data, state.q, state.v, True)
        for subsystem, position, velocity in self._outputs:
            joints = subsystem.root_joints
            share = np.array([data.mass[j] for j in joints]) / sum(data.mass[j] for j in joints)
            com = share @ [data.oMi[j].act(data.com[j]) for j in joints]
            speed = share @ [data.oMi[j].rotation @ data.vcom[j] for j in joints]
            point, vector = PointStamped(), Vector3Stamped()
            for message in (point, vector):
                message.header.frame_id = "world"
                message.header.stamp = conversions.to_stamp(stamp)
            point.point.x, point.point.y, point.point.z = map(float, com)
            vector.vector.x, vector.vector.y, vector.vector.z = map(float, speed)
            position.publish(point)
            velocity.publish(vector)
