"""Publishers of joint states and odometry of all subsystems of a scene."""

from __future__ import annotations

from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros import topics
from multi_qp_ros.scene_templates import JointStateTemplate, OdometryTemplate
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.scene import Scene, State


class StateOutput:
    """Publishers of the state of a scene."""

    def __init__(self, node: Any, scene: Scene) -> None:
        self._outputs: list[tuple[Any, JointStateTemplate | OdometryTemplate]] = []
        for name, subsystem in scene.subsystems.items():
            if joints_of(scene, subsystem):
                publisher = node.create_publisher(JointState, topics.joint_states(name), topics.OFFERED_STATE_QOS)
                self._outputs.append((publisher, JointStateTemplate(scene, subsystem)))
            if subsystem.floating:
                publisher = node.create_publisher(Odometry, topics.odom(name), topics.OFFERED_STATE_QOS)
                self._outputs.append((publisher, OdometryTemplate(subsystem)))

    def publish(self, state: State, stamp: int) -> None:
        """Publish the state of a time [ns]."""
        for publisher, template in self._outputs:
            publisher.publish(template.fill(state, stamp))
