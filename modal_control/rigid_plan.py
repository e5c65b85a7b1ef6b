"""Plan of the rigid modes: contact forces of a window that bring momentum and place of the body to their target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from modal_control.contact_forces import ForcePlan, plan_forces
from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class RigidWeights:
    """Weights of (14) on rigid modes of mass 1, and the contacts' friction; the defaults are those of [Jain2011].

    Attributes:
        position: W₁ of the translations.
        rotation: W₁ of the rotations.
        rate: W₂.
        force: W₃, on the impulses of the contact forces [1/(N s)²].
        friction: Coulomb coefficient.
        feed_forward: whether W₃ weights the deviation from the weight of the body, shared by the points in contact; in
            the paper it weights the forces themselves.
    """

    position: float = 0.1
    rotation: float = 0.5
    rate: float = 1.0
    force: float = 0.1
    friction: float = 1.0
    feed_forward: bool = False


def rigid_axes(inertia: Array) -> Array:
    """Return the principal axes of inertia divided by the root of their moments, as columns, (3, 3)."""
    moments, axes = np.linalg.eigh(inertia)
    return np.asarray(axes / np.sqrt(moments))


def force_map(points: Array, *, com: Array, mass: float, axes: Array) -> Array:
    """Return the generalised forces on the rigid modes by unit forces at points, Φᵣᵀ Jᵀ, (6, points, 3).

    Args:
        points: world frame, (points, 3) [m].
        com: centre of mass, (3,) [m].
        mass: [kg].
        axes: of `rigid_axes`.
    """
    arms = points - com
    found = np.zeros((6, len(points), 3))
    found[:3] = np.eye(3)[:, None, :] / np.sqrt(mass)
    found[3:] = np.cross(axes.T[:, None, :], arms[None, :, :])  # axis · (arm × force) = (axis × arm) · force
    return found


def plan_window(
    by_force: Array,
    active: Sequence[NDArray[np.intp]],
    missed: Array,
    *,
    dt: float,
    weight: float,
    weights: RigidWeights,
    start: Array | None,
    held: bool = False,
    bilateral: NDArray[np.bool_] | None = None,
) -> ForcePlan:
    """Return the contact forces of a window, (12) to (16), stacked by step.

    Args:
        by_force: of `force_map` for all points, (6, points, 3).
        active: points in contact at each step of the window.
        missed: position and velocity of the rigid modes at the end without contact forces, minus their target, (12,).
        dt: time step [s].
        weight: of the body [N].
        weights: of (14).
        start: multipliers of the last window.
        held: whether forces are constant over each step, as if their impulse were in its middle; in the paper it is at
            its start, where a constant force f moves the body further, by f (n Δt)² / 2 n m.
        bilateral: whether each point can pull and push, as in a grasp, (points,); none if left out.
    """
    n = len(active)
    if not sum(map(len, active)):
        return ForcePlan(np.zeros((0, 3)), np.zeros(12), 0.0)
    counts, flat = np.array([len(points) for points in active]), np.concatenate(active)
    impulses = dt * by_force[:, flat]  # (6, k, 3)
    left = np.repeat(dt * (np.arange(n, 0, -1) - (0.5 if held else 0.0)), counts)  # rigid modes: A = t, Ȧ = 1
    A = np.concatenate([left[:, None] * impulses, impulses]).reshape(12, -1)
    nominal = np.zeros((len(left), 3))
    if weights.feed_forward:
        nominal[:, 2] = weight / np.repeat(counts, counts)
    diagonal = np.repeat([weights.position, weights.rotation, weights.rate], [3, 3, 6])
    return plan_forces(
        A,
        missed,
        diagonal,
        weights.force * dt**2,
        friction=weights.friction if bilateral is None else np.where(bilateral[flat], np.inf, weights.friction),
        nominal=nominal,
        start=start,
    )
