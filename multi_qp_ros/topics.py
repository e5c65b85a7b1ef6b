"""Names of all topics, relative so that a namespace applies to the whole graph; independent of ROS."""

from __future__ import annotations

CLOCK = "/clock"
DIAGNOSTICS = "/diagnostics"
#: JSON: stamp [ns], state, status, message, contacts, finished, tick_ms. The simulator reads the contacts.
CONTROLLER_STATE = "multi_qp/state"
#: std_msgs/Float64: tick time of the controller [ms], for plots.
TICK_TIME = "multi_qp/tick_time"
REPORT = "multi_qp/report"
MARKERS = "multi_qp/markers"
#: visualization_msgs/MarkerArray of plans, latched.
PLAN_MARKERS = "multi_qp/plan_markers"
#: visualization_msgs/MarkerArray of polytopes, transition points and curves of centres of mass, latched.
COM_MARKERS = "multi_qp/com_markers"
#: Namespace of the interactive markers of targets.
INTERACTIVE_TARGETS = "multi_qp/targets"
#: trajectory_msgs/MultiDOFJointTrajectory: contacts, from a planner; the path of each centre of mass through them.
CONTACT_SEQUENCE, COM_TRAJECTORY = "contact_sequence", "com_trajectory"
#: trajectory_msgs/MultiDOFJointTrajectory: the contacts of a path, phase by phase, with the time when each begins.
CONTACT_SCHEDULE = "contact_schedule"
#: trajectory_msgs/JointTrajectory: a posture for each phase of a contact sequence, with its stamp.
PLANNED_POSTURES = "planned_postures"
#: JSON: status of plans in the controller: standing, plan, refused (stamps [ns]), reason; latched.
PLAN_STATUS = "multi_qp/plan_status"


def joint_states(subsystem: str) -> str:
    """sensor_msgs/JointState, robot to controller."""
    return f"{subsystem}/joint_states"


def odom(subsystem: str) -> str:
    """nav_msgs/Odometry of a floating base or an object, to the controller."""
    return f"{subsystem}/odom"


def contact_force(subsystem: str, contact: str) -> str:
    """geometry_msgs/WrenchStamped: the measured wrench of a contact on this subsystem, robot to controller."""
    return f"{subsystem}/contact_forces/{contact}"


def com(subsystem: str) -> str:
    """geometry_msgs/PointStamped: centre of mass, for plots."""
    return f"{subsystem}/com"


def com_velocity(subsystem: str) -> str:
    """geometry_msgs/Vector3Stamped: velocity of the centre of mass, for plots."""
    return f"{subsystem}/com_velocity"


def cmd_vel(subsystem: str) -> str:
    """geometry_msgs/TwistStamped, or Twist: velocity command of a walking robot."""
    return f"{subsystem}/cmd_vel"


def base_odom(subsystem: str) -> str:
    """nav_msgs/Odometry of the footprint of a walking robot, for navigation."""
    return f"{subsystem}/base_odom"


def effort_commands(subsystem: str) -> str:
    """std_msgs/Float64MultiArray, as ros2_control's ForwardCommandController takes it."""
    return f"{subsystem}/effort_controller/commands"


def joint_commands(subsystem: str) -> str:
    """sensor_msgs/JointState with names and efforts; its stamp is that of the state from which it was computed."""
    return f"{subsystem}/joint_commands"


def robot_description(subsystem: str) -> str:
    """std_msgs/String: the URDF of a subsystem, or of an environment part; latched."""
    return f"{subsystem}/robot_description"


def wrench(contact: str, surface: str) -> str:
    """geometry_msgs/WrenchStamped of a contact on the body of one of its surfaces, "<subsystem>/<surface>"."""
    subsystem, _, name = surface.partition("/")
    return f"{subsystem}/contacts/{contact}/{name}"


def target(scenario: str, name: str) -> str:
    """geometry_msgs/PoseStamped of an interactive target; std_msgs/Float64 of a load [kg]."""
    return f"{scenario}/target/{name}"


def target_point(scenario: str, name: str) -> str:
    """geometry_msgs/PointStamped of an interactive target, whose rotation is unchanged."""
    return f"{scenario}/target/{name}/point"


def user_command(scenario: str) -> str:
    """std_msgs/String: a command that a state of the scenario waits for."""
    return f"{scenario}/command"


def goal(scenario: str) -> str:
    """geometry_msgs/PoseStamped: goal pose of the base of the scenario's character, for the contact planner."""
    return f"{scenario}/goal"
