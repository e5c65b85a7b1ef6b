"""Compiled swing-twist decomposition of joints and torques of their antagonistic pairs, [Alvarado2022] Algorithm 1.

A pair of springs on an angle θ has the torque τ = k_L (θ_L − θ) + k_H (θ_H − θ) − k_d θ̇ (1), with set-points
θ_L < θ < θ_H beyond the range of the joint. It is in equilibrium at a target θ_kin under a torque τ_eq for any
stiffness K = k_L + k_H, on the isoline

    k_L = (K (θ_H − θ_kin) − τ_eq)/(θ_H − θ_L),    k_H = (K (θ_kin − θ_L) + τ_eq)/(θ_H − θ_L),

which are the points of (3) by their stiffness. τ_eq is the torque of the pair at the target, opposite to that of the
loads; (2) and (3) of the paper have it with different signs. Muscles pull and do not push: K is at least so large that
both gains are positive.
"""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part

#: Share of the stiffness that holds each hinge directly, since parallel hinges may turn against each other.
HINGE_SHARE = 0.1
#: Largest step of a hinge on the way along which the angles of a joint are followed beyond full turns [rad].
STRIDE = 0.4
#: Damping of the solution for the torques of a joint's angles, whose hinges may be parallel.
_DAMPED = 1e-2


@compiled
def rotation_of(hinge_angles: Array, placements: Array, axes: Array) -> Array:
    """Return the rotation from the last of these hinges to the parent of the first one, (3, 3)."""
    return _chain(hinge_angles, placements, axes, np.empty((3, len(axes))))


@compiled
def decompose(hinge_angles: Array, placements: Array, axes: Array, basis: Array, rest: Array, rates: Array) -> Array:
    """Return the angles of one joint, (k,); arguments as in `JointTable`.

    `rates` receives their derivatives with respect to the hinges, (k, n).
    """
    angles = np.empty(len(rates))
    _decompose(hinge_angles, placements, axes, basis, rest, angles, rates)
    return angles


@compiled
def followed(
    start: Array, at_start: Array, end: Array, placements: Array, axes: Array, basis: Array, rest: Array
) -> Array:
    """Return the angles of one joint at the end of a straight way of its hinges, (k,), with full turns [rad].

    Within limits of the hinges that exclude a swing by 180°, the result does not depend on the way: the angles are
    continuous there. The way is from angles of the hinges `start`, (n,), where those of the joint are `at_start`, (k,),
    to `end`, (n,) [rad]; other arguments as in `JointTable`.
    """
    found = np.empty(len(at_start))
    _follow(start, at_start, end, placements, axes, basis, rest, found, np.empty((len(found), len(start))))
    return found


@compiled
def limb_torques(
    joints: tuple[Array, Array, Array, Array, Array, Array, Array],
    hinges: Indices,
    parts: Indices,
    target: Array,
    present: Array,
    equilibrium: Array,
    stiffness: Array,
    least: Array,
    gains: Array,
    torque: Array,
    K: Array,
) -> None:
    """Compute gains, torques without damping and stiffness of all joints.

    Args:
        joints: placements, axes, bases, rests, low, high and reference of the `JointTable`.
        hinges: `JointTable.hinges`, (j, 2).
        parts: `JointTable.angles`, (j, 2).
        target: θ_kin of the hinges, (n,) [rad].
        present: θ of the hinges, (n,) [rad].
        equilibrium: τ_eq, torques of the hinges at the target, (n,) [N m].
        stiffness: wanted k_L + k_H of each joint, (j,) [N m/rad].
        least: least one, (j,).
        gains: output, k_L and k_H of each angle, (2, k) [N m/rad].
        torque: output, (n,) [N m].
        K: output, stiffness of the hinges, zero on entry, (n, n) [N m/rad].
    """
    placements, axes, bases, rests, low, high, reference = joints
    for i in range(len(hinges)):
        h0, h1, k0, k1 = hinges[i, 0], hinges[i, 1], parts[i, 0], parts[i, 1]
        n, k = h1 - h0, k1 - k0
        there, here, B, rates = np.empty(k), np.empty(k), np.empty((k, n)), np.empty((k, n))
        part = placements[h0:h1], axes[h0:h1], bases[i], rests[i]
        _follow(reference[h0:h1], np.zeros(k), target[h0:h1], *part, there, B)
        _follow(target[h0:h1], there, present[h0:h1], *part, here, rates)
        pairs = _pair_torques(B, equilibrium[h0:h1])
        pair = max(stiffness[i], least[i])
        for a in range(k):  # both gains at least zero
            pair = max(pair, pairs[a] / (high[k0 + a] - there[a]), -pairs[a] / (there[a] - low[k0 + a]))
        for a in range(k):
            width = high[k0 + a] - low[k0 + a]
            gains[0, k0 + a] = (pair * (high[k0 + a] - there[a]) - pairs[a]) / width
            gains[1, k0 + a] = (pair * (there[a] - low[k0 + a]) + pairs[a]) / width
        apart = there - here
        spring = HINGE_SHARE * pair
        for h in range(n):
            torque[h0 + h] = equilibrium[h0 + h] + spring * (target[h0 + h] - present[h0 + h])
            K[h0 + h, h0 + h] = spring
            for a in range(k):
                torque[h0 + h] += rates[a, h] * pair * apart[a]
            for other in range(n):
                for a in range(k):
                    K[h0 + h, h0 + other] += rates[a, h] * pair * rates[a, other]


@compiled_part
def _pair_torques(B: Array, equilibrium: Array) -> Array:
    """Return the least torques of the angles that give these torques of the hinges, damped."""
    n = B.shape[1]
    if n == 1 and len(B) == 1:
        return equilibrium / B[0]
    square = np.zeros((n, n))
    for h in range(n):
        square[h, h] = _DAMPED**2
        for other in range(n):
            for a in range(len(B)):
                square[h, other] += B[a, h] * B[a, other]
    solution = equilibrium.copy()
    for h in range(n):  # elimination without pivoting, as the matrix is positive definite
        for row in range(h + 1, n):
            share = square[row, h] / square[h, h]
            solution[row] -= share * solution[h]
            for column in range(h, n):
                square[row, column] -= share * square[h, column]
    for h in range(n - 1, -1, -1):
        for column in range(h + 1, n):
            solution[h] -= square[h, column] * solution[column]
        solution[h] /= square[h, h]
    found = np.zeros(len(B))
    for a in range(len(B)):
        for h in range(n):
            found[a] += B[a, h] * solution[h]
    return found


@compiled_part
def _follow(
    start: Array,
    at_start: Array,
    end: Array,
    placements: Array,
    axes: Array,
    basis: Array,
    rest: Array,
    angles: Array,
    rates: Array,
) -> None:
    """Write the angles of one joint at the end of a way and their derivatives there."""
    if len(end) == 1:
        angles[0], rates[0, 0] = end[0], 1.0
        return
    way = end - start
    steps, before = max(1, math.ceil(np.abs(way).max() / STRIDE)), at_start.copy()
    for step in range(1, steps + 1):
        _decompose(start + step / steps * way, placements, axes, basis, rest, angles, rates)
        angles += 2.0 * math.pi * np.floor((before - angles) / (2.0 * math.pi) + 0.5)
        before[:] = angles


@compiled_part
def _decompose(
    hinge_angles: Array, placements: Array, axes: Array, basis: Array, rest: Array, angles: Array, rates: Array
) -> None:
    """Write the angles of one joint and their derivatives."""
    n = len(hinge_angles)
    if n == 1:
        angles[0], rates[0, 0] = hinge_angles[0], 1.0
        return
    directions = np.empty((3, n))
    rotation = _chain(hinge_angles, placements, axes, directions)
    by_rate = np.empty((3, 3))
    relative = _times(_times(_transposed(basis), rotation), _times(_transposed(rest), basis))
    swing_twist(_quaternion(relative), angles, by_rate)
    turned = _times(_transposed(basis), directions)
    for a in range(3):
        for h in range(n):
            rates[a, h] = by_rate[a, 0] * turned[0, h] + by_rate[a, 1] * turned[1, h] + by_rate[a, 2] * turned[2, h]


@compiled_part
def _chain(hinge_angles: Array, placements: Array, axes: Array, directions: Array) -> Array:
    """Return the rotation from the last hinge to the parent of the first; write the axes in the parent's axes."""
    R, turn = np.eye(3), np.empty((3, 3))
    for i in range(len(hinge_angles)):
        R = _times(R, placements[i])
        for r in range(3):
            directions[r, i] = R[r, 0] * axes[i, 0] + R[r, 1] * axes[i, 1] + R[r, 2] * axes[i, 2]
        s, c = math.sin(hinge_angles[i]), math.cos(hinge_angles[i])
        x, y, z = axes[i, 0], axes[i, 1], axes[i, 2]
        for r in range(3):
            for col in range(3):
                turn[r, col] = (1.0 - c) * axes[i, r] * axes[i, col] + (c if r == col else 0.0)
        turn[0, 1] -= s * z
        turn[0, 2] += s * y
        turn[1, 0] += s * z
        turn[1, 2] -= s * x
        turn[2, 0] -= s * y
        turn[2, 1] += s * x
        R = _times(R, turn)
    return R


@compiled_part
def _times(a: Array, b: Array) -> Array:
    """Return the product of two small matrices."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]
    return out


@compiled_part
def _transposed(a: Array) -> Array:
    """Return a copy of the transpose of a (3, 3) matrix."""
    out = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = a[j, i]
    return out


@compiled_part
def _quaternion(R: Array) -> Array:
    """Return the unit quaternion w, x, y, z of a rotation."""
    q = np.empty(4)
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = np.array([trace, R[0, 0], R[1, 1], R[2, 2]])
    largest = int(np.argmax(squares))
    if largest == 0:
        q[0] = 1.0 + trace
        q[1], q[2], q[3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        q[0] = R[k, j] - R[j, k]
        q[1 + i] = 1.0 + R[i, i] - R[j, j] - R[k, k]
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + k] = R[k, i] + R[i, k]
    return q / math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)


@compiled_part
def swing_twist(rotation: Array, angles: Array, rates: Array) -> None:
    """Write the angles of a rotation about x, then y, then z, and their rates per angular velocity.

    The rotation is split into a swing and a twist about x; the swing into a swing and a twist about y; the twist about
    z of what remains is the third angle. They are smooth while the x axis is less than 180° from its place at the
    identity, but for a full turn of the twist at ±180°. Unlike for Euler angles no two axes coincide there. The product
    of the three twists is not the rotation: what remains turns about x by an angle of second order.

    Args:
        rotation: unit quaternion w, x, y, z, (4,).
        angles: output, (3,) [rad], in −π to π.
        rates: output, derivatives of the angles with respect to the angular velocity in the axes of the identity,
            (3, 3).
    """
    rest, change = rotation.copy(), np.zeros((3, 4))
    for k in range(3):  # q̇ = (0, e_k) q / 2
        half_turn = np.zeros(4)
        half_turn[1 + k] = 0.5
        change[k] = _product(half_turn, rest)
    for axis in range(3):
        w, u = rest[0], rest[1 + axis]
        square = max(w * w + u * u, 1e-300)
        half = math.atan2(u, w)
        if abs(half) > 0.5 * math.pi:  # q and −q are one rotation
            half -= math.copysign(math.pi, half)
        angles[axis] = 2.0 * half
        untwist, untwist_rate = np.zeros(4), np.zeros(4)
        untwist[0], untwist[1 + axis] = math.cos(half), -math.sin(half)
        untwist_rate[0], untwist_rate[1 + axis] = -math.sin(half), -math.cos(half)
        for k in range(3):
            half_rate = (w * change[k, 1 + axis] - u * change[k, 0]) / square
            rates[axis, k] = 2.0 * half_rate
            change[k] = _product(change[k], untwist) + half_rate * _product(rest, untwist_rate)
        rest = _product(rest, untwist)


@compiled_part
def _product(a: Array, b: Array) -> Array:
    """Return the product of two quaternions w, x, y, z."""
    out = np.empty(4)
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    return out
