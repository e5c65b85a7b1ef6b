"""Conversions between ROS messages and numpy arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PointStamped, Pose, PoseStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from multi_qp_ros.state_assembly import JointIndices
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem

Array = NDArray[np.float64]

WORLD = "world"


def doubles(values: Array | Sequence[float]) -> array[float]:
    """Return numbers as `array`, which double[] fields of messages accept without a check of each element."""
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def to_stamp(nanoseconds: int) -> Time:
    """Return a time since the epoch of the clock [ns] as a message."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def from_stamp(stamp: Any) -> int:
    """Return a stamp in [ns].

    Raises:
        ValueError: when it is not a time since the epoch.
    """
    return nanoseconds(int(stamp.sec), int(stamp.nanosec))


def nanoseconds(seconds: int, nanoseconds: int) -> int:
    """Return a time of two parts in [ns].

    Raises:
        ValueError: when it is not a time since the epoch.
    """
    if seconds < 0 or not 0 <= nanoseconds < 1_000_000_000:
        raise ValueError(f"its stamp is not a time: {seconds} s and {nanoseconds} ns")
    return seconds * 1_000_000_000 + nanoseconds


def to_point(position: Array) -> Point:
    """Return a position, (3,) [m], as a message."""
    return Point(x=float(position[0]), y=float(position[1]), z=float(position[2]))


def to_pose(position: Array, quaternion: Array) -> Pose:
    """Return a position, (3,) [m], and a quaternion (x, y, z, w) as a message."""
    pose = Pose(position=to_point(position))
    o = pose.orientation
    o.x, o.y, o.z, o.w = (float(value) for value in quaternion)
    return pose


def joint_state(joints: Sequence[JointIndices], state: State, stamp: int) -> JointState:
    """Return the joint state of a robot at a time [ns]."""
    message = JointState()
    message.header.stamp = to_stamp(stamp)
    message.name = [joint.name for joint in joints]
    message.position = doubles([_angle(joint, state.q) for joint in joints])
    message.velocity = doubles(state.v[[joint.v_index for joint in joints]])
    return message


def _angle(joint: JointIndices, q: Array) -> float:
    if joint.continuous:
        return float(np.arctan2(q[joint.q_index + 1], q[joint.q_index]))
    return float(q[joint.q_index])


def odometry(subsystem: Subsystem, state: State, stamp: int) -> Odometry:
    """Return the odometry of a floating subsystem at a time [ns]: pose in the world, twist in body frame (REP 105)."""
    q, v = state.q[subsystem.q_slice], state.v[subsystem.v_slice]
    message = Odometry()
    message.header.stamp = to_stamp(stamp)
    message.header.frame_id = WORLD
    message.child_frame_id = subsystem.base_link
    pose, twist = message.pose.pose, message.twist.twist
    pose.position.x, pose.position.y, pose.position.z = q[:3].tolist()
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = q[3:7].tolist()
    twist.linear.x, twist.linear.y, twist.linear.z = v[:3].tolist()
    twist.angular.x, twist.angular.y, twist.angular.z = v[3:6].tolist()
    return message


def root_frames(subsystem: Subsystem) -> tuple[str, ...]:
    """Return the names that a floating subsystem's root link may have as the child frame of its odometry."""
    return subsystem.base_link, f"{subsystem.name}/{subsystem.base_link}"


def pose_array(pose: Any) -> Array:
    """Return a Pose as position [m] and quaternion (x, y, z, w), (7,)."""
    p, o = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])


def twist_array(twist: Any) -> Array:
    """Return a Twist as linear [m/s], then angular [rad/s], (6,)."""
    a, b = twist.linear, twist.angular
    return np.array([a.x, a.y, a.z, b.x, b.y, b.z])


def motor_names(scene: Scene, subsystem: Subsystem) -> list[str]:
    """Return the names of a subsystem's actuated joints, without prefix, in the order of its commands."""
    return [scene.actuated_joint_names[k].partition("/")[2] for k in subsystem.actuated]


def joint_command(names: list[str], efforts: Array, stamp: int) -> JointState:
    """Return efforts with joint names; `stamp` is that of the state from which they were computed [ns]."""
    message = JointState()
    message.header.stamp = to_stamp(stamp)
    message.name = names
    message.effort = doubles(efforts)
    return message


def effort_command(efforts: Array) -> Float64MultiArray:
    """Return efforts as message for ros2_control's ForwardCommandController."""
    return Float64MultiArray(data=doubles(efforts))


def read_target(message: PoseStamped) -> tuple[Array, Array | None]:
    """Return the position (3,) [m] and rotation (3, 3) of a target in the world; no rotation for a zero quaternion.

    Raises:
        ValueError: when it is in another frame, not finite, or its quaternion is not of norm 1.
    """
    _require_world(message)
    pose = pose_array(message.pose)
    if not np.isfinite(pose).all():
        raise ValueError("it is not finite")
    x, y, z, w = pose[3:]
    norm = float(np.linalg.norm(pose[3:]))
    if norm < 1e-9:
        return pose[:3], None
    if abs(norm - 1.0) > 1e-3:
        raise ValueError(f"its quaternion has the norm {norm:.3g}")
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / norm
    return pose[:3], np.eye(3) + 2.0 * (w / norm * cross + cross @ cross)


def read_point(message: PointStamped) -> Array:
    """Return the position of a target in the world, (3,) [m].

    Raises:
        ValueError: when it is in another frame, or not finite.
    """
    _require_world(message)
    position = np.array([message.point.x, message.point.y, message.point.z])
    if not np.isfinite(position).all():
        raise ValueError("it is not finite")
    return position


def _require_world(message: Any) -> None:
    if message.header.frame_id not in ("", WORLD):
        raise ValueError(f"it is in the frame '{message.header.frame_id}', expected '{WORLD}'")
