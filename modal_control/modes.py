"""Modes of linear dynamics: generalised eigenproblem K φ = ω² M φ, [Jain2011] sections 3.1 and 4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from modal_control.character import LinearDynamics
from modal_control.rigid_plan import rigid_axes
from multi_qp_scene.arrays import Array

#: Number of rigid modes.
RIGID = 6


@dataclass(frozen=True)
class Modes:
    """Modes with ΦᵀMΦ = 1 and ΦᵀKΦ = diag(ω²): six rigid ones, then by frequency.

    Rigid modes are translations along the world's axes, then rotations about the principal axes of inertia through the
    centre of mass, so that their velocities are momentum divided by √mass and by √inertia.

    Attributes:
        Phi: columns are modes, (nv, nv); Δq = Φ p.
        inverse: Φ⁻¹ = ΦᵀM, (nv, nv).
        squares: ω² of each, 0 for rigid ones, (nv,) [1/s²].
        low_end: index of the first mode of high frequency; the low ones are from `low_begin` to it.
        low_begin: index of the first low mode; the rigid ones end before it.
    """

    Phi: Array
    inverse: Array
    squares: Array
    low_end: int
    low_begin: int = RIGID

    @property
    def rigid(self) -> slice:
        """Rigid modes."""
        return slice(0, RIGID)

    @property
    def low(self) -> slice:
        """Modes of low frequency."""
        return slice(self.low_begin, self.low_end)

    @property
    def high(self) -> NDArray[np.intp]:
        """Modes of high frequency, and those that are not planned although they are lower."""
        return np.concatenate([np.arange(RIGID, self.low_begin), np.arange(self.low_end, len(self.squares))])

    @property
    def lengths(self) -> Array:
        """Euclidean length of each mode, (nv,): of length 1, it would have the mass 1 / length²."""
        return np.asarray(np.linalg.norm(self.Phi, axis=0))

    def momentum(self, v: Array) -> Array:
        """Return linear momentum and angular one about the centre of mass, world axes, (6,) [N s], [N m s]."""
        rates = self.inverse[:RIGID] @ v
        return np.concatenate([rates[:3] / self.Phi[0, 0], np.linalg.solve(self.Phi[3:6, 3:6].T, rates[3:])])

    def with_momentum(self, v: Array, momentum: Array) -> Array:
        """Return a velocity with another momentum, (6,), and the same joint rates, (nv,)."""
        missing = momentum - self.momentum(v)
        change = np.concatenate([missing[:3] * self.Phi[0, 0], self.Phi[3:6, 3:6].T @ missing[3:]])
        return np.asarray(v + self.Phi[:, :RIGID] @ change)


def modes_of(dynamics: LinearDynamics, *, threshold: float, planned: tuple[int, int] | None = None) -> Modes:
    """Return the modes; those with ω² below the threshold [1/s²] are low, or `planned`: first and number, if given.

    The base has no springs: a deformation mode moves it by φ_b = −M_bb⁻¹ M_bj φ_j, so that no momentum arises, and the
    joints' part solves K_jj φ_j = ω² (M_jj − M_jb M_bb⁻¹ M_bj) φ_j.
    """
    M, nv = dynamics.M, len(dynamics.K)
    coupling = np.linalg.solve(M[:RIGID, :RIGID], M[:RIGID, RIGID:])
    reduced = M[RIGID:, RIGID:] - M[RIGID:, :RIGID] @ coupling
    squares, joints = scipy.linalg.eigh(np.diag(dynamics.K[RIGID:]), 0.5 * (reduced + reduced.T))
    Phi = np.zeros((nv, nv))
    Phi[:3, :3] = np.eye(3) / np.sqrt(dynamics.mass)
    axes = rigid_axes(dynamics.inertia)
    Phi[3:6, 3:6] = axes
    Phi[:3, 3:6] = np.cross(axes.T, dynamics.q[:3] - dynamics.com).T
    Phi[RIGID:, RIGID:] = joints
    Phi[:RIGID, RIGID:] = -coupling @ joints
    low_begin, low_end = RIGID, RIGID + int(np.searchsorted(squares, threshold))
    if planned is not None:
        low_begin = min(RIGID + planned[0], nv)
        low_end = min(low_begin + planned[1], nv)
    return Modes(Phi, Phi.T @ M, np.concatenate([np.zeros(RIGID), squares]), low_end, low_begin)
