"""Swing foot: quintic polynomials from the present reference to a goal that may move."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

#: Speed of the descent to a late touchdown on ground of known height [m/s], and its depth [m].
SEARCH_SPEED, SEARCH_DEPTH = 0.25, 0.08
#: Acceleration to the speed of the descent [m/s²].
SEARCH_ACCELERATION = 4.0
#: Fraction of the swing at which the foot is highest on level ground, its change by the height of a step [1/m], and its
#: bounds.
APEX, LATER, EARLY_APEX, LATE_APEX = 0.45, 0.5, 0.45, 0.65
#: Time constant with which a late foot follows a goal that moves [s], and its largest acceleration [m/s²].
FOLLOWING, FOLLOW_ACCELERATION = 0.05, 15.0
#: Shortest horizon of a polynomial [s].
SHORTEST = 0.02


@compiled_part
def quintic(
    p: float, v: float, a: float, goal: float, speed: float, duration: float, dt: float
) -> tuple[float, float, float]:
    """Return position, velocity, acceleration after `dt` on the quintic polynomial to a goal without acceleration.

    Args:
        p: position at its start.
        v: velocity at its start.
        a: acceleration at its start.
        goal: position at its end.
        speed: velocity at its end.
        duration: time from start to end, at least `SHORTEST` [s].
        dt: [s].
    """
    T = max(duration, SHORTEST)
    t = min(dt, T)
    h, w = goal - p, speed
    c2 = 0.5 * a
    c3 = (20 * h - (8 * w + 12 * v) * T - 3 * a * T * T) / (2 * T**3)
    c4 = (-30 * h + (14 * w + 16 * v) * T + 3 * a * T * T) / (2 * T**4)
    c5 = (12 * h - 6 * (w + v) * T - a * T * T) / (2 * T**5)
    return (
        p + t * (v + t * (c2 + t * (c3 + t * (c4 + t * c5)))),
        v + t * (2 * c2 + t * (3 * c3 + t * (4 * c4 + t * 5 * c5))),
        2 * c2 + t * (6 * c3 + t * (12 * c4 + t * 20 * c5)),
    )


@compiled
def approach(reference: Array, goal: float, duration: float, dt: float) -> None:
    """Advance position, velocity and acceleration, (3,), by dt to a goal at rest, reached after a duration [s]."""
    reference[0], reference[1], reference[2] = quintic(
        reference[0], reference[1], reference[2], goal, 0.0, duration, dt
    )


def resting(position: Array, yaw: float) -> Array:
    """Return the reference of a foot at rest: position, velocity, acceleration, (3, 5).

    Columns: x, y, z [m], yaw and pitch [rad].
    """
    reference = np.zeros((3, 5))
    reference[0, :3], reference[0, 3] = position, yaw
    return reference


@compiled
def write_pose(reference: Array, level: Array, out: Array) -> None:
    """Write the pose of a sole and its motion as the reference of a pose task.

    Args:
        reference: of the foot, see `resting`.
        level: rotation of the sole at heading and pitch 0, (3, 3).
        out: position, rotation row by row, linear and angular velocity and acceleration, in the world, (24,).
    """
    place, rate, second = reference[0], reference[1], reference[2]
    c, s, cp, sp = math.cos(place[3]), math.sin(place[3]), math.cos(place[4]), math.sin(place[4])
    for k in range(3):
        out[k], out[12 + k], out[18 + k] = place[k], rate[k], second[k]
        out[3 + k] = c * cp * level[0, k] - s * level[1, k] + c * sp * level[2, k]
        out[6 + k] = s * cp * level[0, k] + c * level[1, k] + s * sp * level[2, k]
        out[9 + k] = -sp * level[0, k] + cp * level[2, k]
    # the axis of the pitch, (-s, c, 0), turns with the heading
    out[15], out[16], out[17] = -s * rate[4], c * rate[4], rate[3]
    out[21] = -s * second[4] - c * rate[3] * rate[4]
    out[22] = c * second[4] - s * rate[3] * rate[4]
    out[23] = second[3]


@compiled_part
def _follow(reference: Array, goal: float, fastest: float, dt: float) -> None:
    """Advance position, velocity and acceleration of one axis, (3,), towards a goal, within a speed."""
    wanted = min(max((goal - reference[0]) / FOLLOWING, -fastest), fastest)
    change = FOLLOW_ACCELERATION * dt
    reference[2] = min(max(wanted - reference[1], -change), change) / dt
    reference[1] += reference[2] * dt
    reference[0] += reference[1] * dt


@compiled
def advance(
    reference: Array,
    goal: Array,
    remaining: float,
    elapsed: float,
    top: float,
    pitch: float,
    apex: float,
    before: float,
    after: float,
    landing: float,
    search: float,
    follow: float,
    dt: float,
) -> None:
    """Advance by dt towards a goal.

    Args:
        reference: of the foot, see `resting`; updated in place, (3, 5).
        goal: x, y, z [m] and yaw [rad] of the landing, (4,).
        remaining: time until touchdown [s]; 0 when it is late.
        elapsed: time since lift-off [s].
        top: largest height [m].
        pitch: angle about the axis to the left there [rad]; positive: the heel is higher than the toes.
        apex: fraction of the swing at which it is there.
        before: time after lift-off in which the foot only rises [s].
        after: time before touchdown in which it only descends [s].
        landing: speed of the planned landing [m/s].
        search: speed of the descent after it [m/s].
        follow: largest speed at which a late foot follows a goal that moves [m/s]; 0: it is at a goal that is fixed.
        dt: [s].
    """
    ref = reference
    if remaining <= SHORTEST:
        ref[0, 4], ref[1, 4], ref[2, 4] = 0.0, 0.0, 0.0
        for axis in (0, 1, 3):
            if follow > 0.0 and axis != 3:
                _follow(ref[:, axis], goal[axis], follow, dt)
            else:
                ref[0, axis], ref[1, axis], ref[2, axis] = goal[axis], 0.0, 0.0
        ref[2, 2] = 0.0
        if ref[0, 2] > goal[2] - SEARCH_DEPTH:
            slower = max(ref[1, 2] - SEARCH_ACCELERATION * dt, -search)
            ref[1, 2] = -landing if remaining > 0.0 else slower
            ref[0, 2] += ref[1, 2] * dt
        else:
            ref[1, 2] = 0.0
        return
    to_apex = apex * (elapsed + remaining) - elapsed
    for axis in range(5):
        end, speed, duration = goal[axis] if axis < 4 else 0.0, 0.0, remaining
        if axis == 4:
            if to_apex > SHORTEST and pitch != 0.0:
                end, duration = pitch, to_apex
        elif axis != 2:
            if elapsed < before:
                continue
            duration -= after
            if after > 0.0 and duration <= SHORTEST:
                ref[0, axis], ref[1, axis], ref[2, axis] = end, 0.0, 0.0
                continue
        if axis == 2 and to_apex > SHORTEST:
            end, duration = top, to_apex
        elif axis == 2:
            speed = -landing
        ref[0, axis], ref[1, axis], ref[2, axis] = quintic(
            ref[0, axis], ref[1, axis], ref[2, axis], end, speed, duration, dt
        )
