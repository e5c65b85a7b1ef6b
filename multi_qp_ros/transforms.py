"""TF publisher, if `tf2_msgs` is installed (part of ROS, not of the wheels)."""

from __future__ import annotations

from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

from multi_qp_ros.footprint import footprints
from multi_qp_ros.scene_templates import FrameTemplates
from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None


#: Topics and QoS profiles of tf2; absolute names, independent of the namespace, as tf2 expects.
TF, TF_STATIC = "/tf", "/tf_static"
TF_QOS = QoSProfile(depth=100)
TF_STATIC_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def has_tf() -> bool:
    """Return whether TF can be published."""
    return TFMessage is not None


class TransformOutput:
    """Publishers of the frames of a scene; requires `has_tf`."""

    def __init__(self, node: Any, scenario: Scenario) -> None:
        scene, own = scenario.scene, tuple(footprints(scenario).values())
        self._trees, self._frames = KinematicTrees(scene.model), FrameTemplates(scene, own)
        self._moving = node.create_publisher(TFMessage, TF, TF_QOS)
        self._fixed = node.create_publisher(TFMessage, TF_STATIC, TF_STATIC_QOS)
        self._fixed_sent = False

    def send(self, q: Array, stamp: int) -> None:
        """Publish the frames at a configuration, (nq,), and a time [ns]; with the first call also the fixed ones."""
        data = self._trees.place(q)
        if not self._fixed_sent:
            self._fixed.publish(self._frames.fill(data, stamp, fixed=True))
            self._fixed_sent = True
        self._moving.publish(self._frames.fill(data, stamp, fixed=False))
