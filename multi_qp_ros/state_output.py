"""Publishers of joint states and odometry of all subsystems of a scene, and of footprints and contact forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros import topics
from multi_qp_ros.contact_forces import measured_contacts
from multi_qp_ros.footprint import footprints
from multi_qp_ros.qos import OFFERED_STATE_QOS
from multi_qp_ros.scene_templates import JointStateTemplate, OdometryTemplate, wrench_template
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State


class FootprintOutput:
    """Publishers of the odometry of the footprints of walking robots."""

    def __init__(self, node: Any, scenario: Scenario) -> None:
        self._trees = KinematicTrees(scenario.scene.model)
        self._outputs = [
            (node.create_publisher(Odometry, topics.base_odom(robot), OFFERED_STATE_QOS), footprint)
            for robot, footprint in footprints(scenario).items()
        ]

    def publish(self, state: State, stamp: int) -> None:
        """Publish the footprints at a state of a time [ns], unless the state is not finite."""
        if self._outputs and state.is_finite:
            data = self._trees.place(state.q)
            for publisher, footprint in self._outputs:
                publisher.publish(footprint.fill(data, state, stamp))


class ContactForceOutput:
    """Publishers of the measured wrenches of contacts."""

    def __init__(self, node: Any, scenario: Scenario) -> None:
        self._outputs = {}
        for contact, surface in measured_contacts(scenario).items():
            topic = topics.contact_force(surface.partition("/")[0], contact)
            publisher = node.create_publisher(WrenchStamped, topic, OFFERED_STATE_QOS)
            self._outputs[contact] = publisher, wrench_template(surface)

    def publish(self, wrenches: Mapping[str, Array] | None, stamp: int) -> None:
        """Publish the wrenches at a time [ns]; see `SimulatedRobot.wrenches`."""
        if wrenches is not None:
            for contact, (publisher, template) in self._outputs.items():
                publisher.publish(template.fill(stamp, wrenches[contact]))


class StateOutput:
    """Publishers of the state of a scene."""

    def __init__(self, node: Any, scene: Scene) -> None:
        self._outputs: list[tuple[Any, JointStateTemplate | OdometryTemplate]] = []
        for name, subsystem in scene.subsystems.items():
            if joints_of(scene, subsystem):
                publisher = node.create_publisher(JointState, topics.joint_states(name), OFFERED_STATE_QOS)
                self._outputs.append((publisher, JointStateTemplate(scene, subsystem)))
            if subsystem.floating:
                publisher = node.create_publisher(Odometry, topics.odom(name), OFFERED_STATE_QOS)
                self._outputs.append((publisher, OdometryTemplate(subsystem)))

    def publish(self, state: State, stamp: int) -> None:
        """Publish the state of a time [ns]."""
        for publisher, template in self._outputs:
            publisher.publish(template.fill(state, stamp))
