"""Conversions between ROS messages and numpy arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PointStamped, Pose, PoseStamped

from multi_qp_ros.scene_templates import WORLD as WORLD
from multi_qp_scene.arrays import Array
from multi_qp_scene.subsystem import Subsystem


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


def root_frames(subsystem: Subsystem) -> tuple[str, ...]:
    """Return the names that a floating subsystem's root link may have as the child frame of its odometry."""
    return subsystem.base_link.removeprefix(f"{subsystem.name}/"), subsystem.base_link


def pose_array(pose: Any) -> Array:
    """Return a Pose as position [m] and quaternion (x, y, z, w), (7,)."""
    p, o = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])


def twist_array(twist: Any) -> Array:
    """Return a Twist as linear [m/s], then angular [rad/s], (6,)."""
    a, b = twist.linear, twist.angular
    return np.array([a.x, a.y, a.z, b.x, b.y, b.z])


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
