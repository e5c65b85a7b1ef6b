"""QoS profiles of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

#: For subscriptions to states: a lost one is replaced by the next.
STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: For publishers of states: a subscriber may ask for either reliability, as rqt_plot asks for a reliable one.
OFFERED_STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
#: For commands that are repeated every period, so that a lost one does not justify acknowledgements.
LATEST_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
EVENT_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
