"""Names and QoS profiles of all topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from multi_qp_ros.topic_names import CLOCK as CLOCK
from multi_qp_ros.topic_names import COM_MARKERS as COM_MARKERS
from multi_qp_ros.topic_names import COM_TRAJECTORY as COM_TRAJECTORY
from multi_qp_ros.topic_names import CONTACT_SCHEDULE as CONTACT_SCHEDULE
from multi_qp_ros.topic_names import CONTACT_SEQUENCE as CONTACT_SEQUENCE
from multi_qp_ros.topic_names import CONTROLLER_STATE as CONTROLLER_STATE
from multi_qp_ros.topic_names import DIAGNOSTICS as DIAGNOSTICS
from multi_qp_ros.topic_names import INTERACTIVE_TARGETS as INTERACTIVE_TARGETS
from multi_qp_ros.topic_names import MARKERS as MARKERS
from multi_qp_ros.topic_names import PLAN_MARKERS as PLAN_MARKERS
from multi_qp_ros.topic_names import PLAN_STATUS as PLAN_STATUS
from multi_qp_ros.topic_names import PLANNED_POSTURES as PLANNED_POSTURES
from multi_qp_ros.topic_names import REPORT as REPORT
from multi_qp_ros.topic_names import TICK_TIME as TICK_TIME
from multi_qp_ros.topic_names import base_odom as base_odom
from multi_qp_ros.topic_names import cmd_vel as cmd_vel
from multi_qp_ros.topic_names import com as com
from multi_qp_ros.topic_names import com_velocity as com_velocity
from multi_qp_ros.topic_names import contact_force as contact_force
from multi_qp_ros.topic_names import effort_commands as effort_commands
from multi_qp_ros.topic_names import goal as goal
from multi_qp_ros.topic_names import joint_commands as joint_commands
from multi_qp_ros.topic_names import joint_states as joint_states
from multi_qp_ros.topic_names import odom as odom
from multi_qp_ros.topic_names import robot_description as robot_description
from multi_qp_ros.topic_names import target as target
from multi_qp_ros.topic_names import target_point as target_point
from multi_qp_ros.topic_names import user_command as user_command
from multi_qp_ros.topic_names import wrench as wrench

#: For subscriptions to states: a lost one is replaced by the next.
STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: For publishers of states: a subscriber may ask for either reliability, as rqt_plot asks for a reliable one.
OFFERED_STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
#: For commands that are repeated every period, so that a lost one does not justify acknowledgements.
LATEST_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
EVENT_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
