"""TF, where `tf2_msgs` is installed: it comes with ROS, but not among the wheels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.qos import DurabilityPolicy, QoSProfile

from multi_qp_controller.ros.frames import FrameTree
from multi_qp_scene.scene import Scene

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

Array = NDArray[np.float64]

#: Topics and qualities of service are tf2's own. They stay as they are in a namespace, as all of tf2 expects.
TF, TF_STATIC = "/tf", "/tf_static"
TF_QOS = QoSProfile(depth=100)
TF_STATIC_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def has_tf() -> bool:
    """Return whether TF can be published."""
    return TFMessage is not None


class TransformOutput:
    """Publishes the frames of a scene; only where `has_tf`."""

    def __init__(self, node: Any, scene: Scene) -> None:
        self._tree = FrameTree(scene)
        self._moving = node.create_publisher(TFMessage, TF, TF_QOS)
        self._fixed = node.create_publisher(TFMessage, TF_STATIC, TF_STATIC_QOS)
        self._told = False

    def send(self, q: Array, stamp: int) -> None:
        """Publish the frames at a configuration, (nq,), and a time [ns]; with the first of all what never changes."""
        if not self._told:
            self._fixed.publish(TFMessage(transforms=self._tree.fixed(stamp)))
            self._told = True
        self._moving.publish(TFMessage(transforms=self._tree.moving(q, stamp)))
