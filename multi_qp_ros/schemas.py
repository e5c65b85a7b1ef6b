"""Definitions of the ROS 2 message types and QoS profiles in a recording, available without ROS.

Only fields and the constants that readers use are listed; a test compares them with an installed ROS.
"""

from __future__ import annotations

import re
from functools import cache

_DEFINITIONS = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride",
    "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset",
    "std_msgs/Float64MultiArray": "std_msgs/MultiArrayLayout layout\nfloat64[] data",
    "rosgraph_msgs/Clock": "builtin_interfaces/Time clock",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort"
    ),
    "geometry_msgs/Vector3": "float64 x 0\nfloat64 y 0\nfloat64 z 0",
    "geometry_msgs/Point": "float64 x 0\nfloat64 y 0\nfloat64 z 0",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance",
    "nav_msgs/Odometry": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/PoseWithCovariance pose\n"
        "geometry_msgs/TwistWithCovariance twist"
    ),
    "geometry_msgs/Wrench": "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque",
    "geometry_msgs/WrenchStamped": "std_msgs/Header header\ngeometry_msgs/Wrench wrench",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "diagnostic_msgs/KeyValue": "string key\nstring value",
    "diagnostic_msgs/DiagnosticStatus": (
        "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\nstring message\n"
        "string hardware_id\ndiagnostic_msgs/KeyValue[] values"
    ),
    "diagnostic_msgs/DiagnosticArray": "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status",
}


#: QoS profile as written by rosbag2 since Jazzy (metadata version 9), with rmw's infinite durations.
_QOS = """\
- history: keep_last
  depth: {depth}
  reliability: reliable
  durability: {durability}
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: automatic
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
"""


def qos_profiles(*, latched: bool) -> str:
    """Return the YAML of a channel's `offered_qos_profiles`, with which `ros2 bag play` publishes its topic.

    All are reliable, also states, which nodes publish as best effort: subscribers of both kinds are compatible.
    """
    return _QOS.format(depth=1 if latched else 10, durability="transient_local" if latched else "volatile")


def definition(kind: str) -> str:
    """Return the definition of a message type such as "std_msgs/String", without those of nested types."""
    return _DEFINITIONS[kind]


def kinds() -> tuple[str, ...]:
    """Return all defined message types."""
    return tuple(_DEFINITIONS)


@cache
def schema(kind: str) -> str:
    """Return the definition of a message type with its nested types, in the `ros2msg` encoding of MCAP."""
    parts = [_DEFINITIONS[kind]]
    for inner in _inside(kind):
        parts += ["=" * 80, f"MSG: {inner}", _DEFINITIONS[inner]]
    return "\n".join(parts) + "\n"


def _inside(kind: str) -> tuple[str, ...]:
    """Return all types nested in a message type, recursively, each once."""
    found: dict[str, None] = {}
    for inner in re.findall(r"^(\w+/\w+)", _DEFINITIONS[kind], re.MULTILINE):
        found |= dict.fromkeys((inner, *_inside(inner)))
    return tuple(found)
