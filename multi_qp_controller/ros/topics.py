"""The names and qualities of service of all topics; names are relative, so that a namespace moves the whole graph."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
EVENT_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

CLOCK = "/clock"
DIAGNOSTICS = "/diagnostics"
#: JSON: stamp [ns], state, status, message, contacts, finished. The stand-in for the robots reads its contacts.
CONTROLLER_STATE = "multi_qp/state"
REPORT = "multi_qp/report"
MARKERS = "multi_qp/markers"


def joint_states(subsystem: str) -> str:
    """sensor_msgs/JointState, robot to controller."""
    return f"{subsystem}/joint_states"


def odom(subsystem: str) -> str:
    """nav_msgs/Odometry of a floating base or an object, to the controller."""
    return f"{subsystem}/odom"


def effort_commands(subsystem: str) -> str:
    """std_msgs/Float64MultiArray, as ros2_control's ForwardCommandController takes it."""
    return f"{subsystem}/effort_controller/commands"


def joint_commands(subsystem: str) -> str:
    """sensor_msgs/JointState with names and efforts; its stamp is that of the state that it answers."""
    return f"{subsystem}/joint_commands"


def target(scenario: str, name: str) -> str:
    """geometry_msgs/PoseStamped of an interactive target."""
    return f"{scenario}/target/{name}"


def user_command(scenario: str) -> str:
    """std_msgs/String: a command that a state of the scenario waits for."""
    return f"{scenario}/command"
