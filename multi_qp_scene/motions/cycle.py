"""Repetition of a part of a motion, each time from where the last one has ended."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion

#: Largest difference of a joint [rad], of the base's height [m] and tilt [rad] between both ends of a cycle.
JOINT, HEIGHT, TILT = 0.1, 0.02, 0.05


def repeated(motion: ReferenceMotion, start: float, end: float, count: int) -> ReferenceMotion:
    """Return a motion in which the part between two times occurs several times.

    Each repetition begins at the place and heading on the ground where the last one has ended; what else differs
    between both ends is removed linearly over the cycle.

    Args:
        motion: the motion.
        start: begin of the part [s].
        end: its end, when contacts and pose are those of its begin again, elsewhere on the ground [s].
        count: number of times that it occurs; 1 is the motion itself.

    Raises:
        MultiQpError: when the times are not in the motion, or both ends differ.
    """
    first, last = (int(np.argmin(np.abs(motion.times - time))) for time in (start, end))
    if not (0.0 <= start < end <= motion.times[-1] + 1e-9 and first < last):
        raise MultiQpError(f"cycle from {start:g} to {end:g} s: expected increasing times up to {motion.times[-1]:g} s")
    _check_ends(motion, first, last)
    step = _planar(motion.q[last]) * _planar(motion.q[first]).inverse()
    part, moved = motion.q[first:last], pin.SE3.Identity()
    share = (np.arange(last - first) / (last - first))[:, None]
    closed = _toward(part, share, _moved(motion.q[first : first + 1], step)[0], motion.q[last])
    rows, times = [motion.q[:first]], [motion.times[:first]]
    length, contacts = motion.times[last] - motion.times[first], [motion.contacts[:first]]
    for k in range(count):
        rows.append(_moved(closed if k < count - 1 else part, moved))
        times.append(motion.times[first:last] + k * length)
        contacts.append(motion.contacts[first:last])
        moved = step * moved if k < count - 1 else moved
    rows.append(_moved(motion.q[last:], moved))
    times.append(motion.times[last:] + (count - 1) * length)
    contacts.append(motion.contacts[last:])
    return ReferenceMotion(
        np.concatenate(times),
        np.concatenate(rows),
        motion.joints,
        np.concatenate(contacts),
        motion.surfaces,
        motion.robot,
        motion.source,
    )


def _check_ends(motion: ReferenceMotion, first: int, last: int) -> None:
    a, b, between = motion.q[first], motion.q[last], f"between {motion.times[first]:.3f} and {motion.times[last]:.3f} s"
    if (motion.contacts[first] != motion.contacts[last]).any():
        raise MultiQpError(f"cycle: the contacts of the motion differ {between}")
    differences = np.abs(a[7:] - b[7:])
    if differences.max(initial=0.0) > JOINT:
        joint = motion.joints[int(np.argmax(differences))]
        raise MultiQpError(
            f"cycle: joint '{joint}' differs by {differences.max():.2f} rad {between} (at most {JOINT:g})"
        )
    tilt = float(np.linalg.norm(pin.log3(_tilt(a).T @ _tilt(b))))
    if abs(a[2] - b[2]) > HEIGHT or tilt > TILT:
        raise MultiQpError(f"cycle: the base differs by {abs(a[2] - b[2]):.3f} m in height, {tilt:.2f} rad {between}")


def _rotation(q: Array) -> Array:
    return np.asarray(pin.Quaternion(q[3:7].copy()).normalized().matrix())


def _yaw(q: Array) -> Array:
    R = _rotation(q)
    return np.asarray(pin.utils.rotate("z", float(np.arctan2(R[1, 0], R[0, 0]))))


def _tilt(q: Array) -> Array:
    return np.asarray(_yaw(q).T @ _rotation(q))


def _planar(q: Array) -> pin.SE3:
    """Return place and heading of the base on the ground."""
    return pin.SE3(_yaw(q), np.array([q[0], q[1], 0.0]))


def _moved(rows: Array, moved: pin.SE3) -> Array:
    """Return configurations moved on the ground."""
    found = rows.copy()
    for row in found:
        row[:3] = moved.act(row[:3])
        row[3:7] = pin.Quaternion(moved.rotation @ _rotation(row)).normalized().coeffs()
    return found


def _toward(rows: Array, share: Array, goal: Array, end: Array) -> Array:
    """Return configurations with a share of the difference between a goal and their end added."""
    found = rows.copy()
    found[:, 7:] += share * (goal[7:] - end[7:])
    found[:, :3] += share * (goal[:3] - end[:3])
    turn = pin.log3(_rotation(goal) @ _rotation(end).T)
    for row, part in zip(found, share[:, 0], strict=True):
        row[3:7] = pin.Quaternion(pin.exp3(part * turn) @ _rotation(row)).normalized().coeffs()
    return found
