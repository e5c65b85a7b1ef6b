"""Correction of contact forces and actuation to Coulomb's law: complementarity problem, [Jain2011] section 5.4."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from modal_control.lcp_kernel import lemke
from modal_control.modes import Modes
from multi_qp_scene.arrays import Array

#: Unit vectors that span the tangential plane: a hexagonal friction cone.
DIRECTIONS = np.array([[math.cos(k * math.pi / 3.0), math.sin(k * math.pi / 3.0), 0.0] for k in range(6)])
NORMAL = np.array([0.0, 0.0, 1.0])
#: Added to the diagonal of C, because the points of one body are dependent, relative to its largest entry.
REGULARISATION = 1e-9
#: Perturbations of h that break ties of pivots, tried in this order, relative to its largest entry.
PERTURBATIONS = 1e-8, 1e-6, 1e-5, 1e-4
#: Different shares of them for the rows.
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Correction(NamedTuple):
    """Result of the complementarity problem.

    Attributes:
        forces: f₀* + Δf, (points, 3) [N].
        actuation: ΔIᵃ of each mode, (nv,).
        solved: whether a solution was found; otherwise the forces are zero.
        residual: largest violation of w ≥ 0, z ≥ 0, wᵀz = 0, relative to the largest entry of h; of points that are
            held, their distance from their places [m].
    """

    forces: Array
    actuation: Array
    solved: bool
    residual: float


def preference(
    modes: Modes,
    response: Array,
    Z: Array,
    *,
    rigid: float,
    low: float,
    actuation: float,
    lengths: Array | None = None,
) -> Array:
    """Return X_f of (27), ΔIᵃ = X_f Δf, (nv, 3 points).

    E of (25) has the gradients P ΔIᵃ + Q Δf with respect to ΔIᵃ and to Δf; (26) weights the norm of both against that
    of ΔIᵃ. High modes cancel the correcting forces, and rigid modes have no actuators.

    Args:
        modes: of this tick.
        response: diagonal of A(Δt), (nv,).
        Z: impulses of the modes by unit forces, (nv, 3 points).
        rigid: weight W_r, which the paper does not state.
        low: weight W_l, which the paper does not state.
        actuation: weight W_a.
        lengths: of the low modes that are weighted; those of mass 1 if left out, (low,).
    """
    X = np.zeros(Z.shape)
    X[modes.high] = -Z[modes.high]
    scale = np.ones(modes.low.stop - modes.low.start) if lengths is None else lengths
    squares = low * (scale**2 * response[modes.low]) ** 2
    own, outer = Z[modes.low] / scale[:, None], Z[modes.rigid]
    weighted = squares[:, None] * own
    P = np.vstack([np.diag(squares), weighted.T])
    Q = np.vstack([weighted, own.T @ weighted + rigid * outer.T @ (response[modes.rigid, None] ** 2 * outer)])
    X[modes.low] = -scale[:, None] * np.linalg.solve(P.T @ P + actuation * np.eye(len(squares)), P.T @ Q)
    return X


def correct(
    J: Array,
    Phi: Array,
    planned: Array,
    response: Array,
    Z: Array,
    X: Array,
    forces: Array,
    *,
    gaps: Array,
    friction: float,
) -> Correction:
    """Return contact forces and actuation that obey Coulomb's law, (28) to (34).

    Args:
        J: Jacobian of each contact point, tangents, then normal, (points, 3, nv).
        Phi: modes, (nv, nv).
        planned: p₁* of (23), with the planned forces, (nv,).
        response: diagonal of A(Δt), (nv,).
        Z: impulses of the modes by unit forces, (nv, 3 points).
        X: X_f of `preference`.
        forces: planned forces f₀*, (points, 3) [N].
        gaps: height of each point over the ground; the paper takes it as 0, (points,) [m].
        friction: Coulomb coefficient.
    """
    count = len(J)
    if count == 0:
        return Correction(forces, np.zeros(len(Phi)), True, 0.0)
    effect = response[:, None] * (Z + X)  # (nv, 3 points)
    moved = J.reshape(3 * count, -1) @ Phi  # displacements of the points by p
    mobility = moved @ effect
    free = moved @ (planned - effect @ forces.ravel())
    rays = np.vstack([NORMAL, DIRECTIONS])  # (7, 3)
    N = np.kron(np.eye(count), rays.T)
    push = N.T @ mobility @ N  # (7 points, 7 points)
    start = N.T @ free
    start[::7] += gaps
    scale = 1.0 / max(float(np.abs(np.diagonal(push)).max()), 1e-300)
    C, h = np.zeros((8 * count, 8 * count)), np.zeros(8 * count)
    where = np.arange(8 * count).reshape(count, 8)
    inner = where[:, :7].ravel()
    C[np.ix_(inner, inner)] = scale * push
    h[inner] = scale * start
    for line in where:
        C[line[1:7], line[7]] = 1.0
        C[line[7], line[0]] = friction
        C[line[7], line[1:7]] = -1.0
    C[inner, inner] += REGULARISATION
    size = max(float(np.abs(h).max()), 1e-300)
    shares = 1.0 + (_GOLDEN * np.arange(len(h))) % 1.0
    for perturbation in PERTURBATIONS:
        z, solved = lemke(C, h + perturbation * size * shares, 20 * len(h))
        if solved:
            break
    if not solved:
        return Correction(np.zeros_like(forces), X @ -forces.ravel(), False, math.inf)
    w = C @ z + h
    residual = max(float(-w.min()), float(np.abs(np.minimum(w, z)).max())) / size
    found = (N @ z[inner]).reshape(count, 3)
    return Correction(found, X @ (found - forces).ravel(), True, residual)


def hold(
    J: Array, Phi: Array, planned: Array, response: Array, Z: Array, X: Array, forces: Array, *, gaps: Array
) -> Correction:
    """Return contact forces and actuation with which points that are held, as by hands, are in their places.

    The least change of the forces, as points of one body are dependent.

    Args:
        J: Jacobian of each contact point, (points, 3, nv).
        Phi: as of `correct`, and so the next ones.
        planned: p₁*.
        response: diagonal of A(Δt).
        Z: impulses of the modes by unit forces.
        X: X_f.
        forces: planned forces f₀*, (points, 3) [N].
        gaps: displacement of each point to its place, (points, 3) [m].
    """
    moved = J.reshape(3 * len(J), -1) @ Phi
    mobility, wanted = moved @ (response[:, None] * (Z + X)), gaps.ravel() - moved @ planned
    change = np.linalg.lstsq(mobility, wanted, rcond=1e-8)[0]
    residual = float(np.abs(mobility @ change - wanted).max(initial=0.0))
    return Correction(forces + change.reshape(-1, 3), X @ change, True, residual)
