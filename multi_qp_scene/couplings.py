"""Joint couplings q_m = multiplier · q_l + offset: one constraint row per mimicking joint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.mimic import Mimic
from multi_qp_scene.scalar_joint import ScalarJoint

#: Largest denominator of a ratio between two continuous joints whose error is evaluated from the angles.
LARGEST_DENOMINATOR = 64


@dataclass(frozen=True)
class JointCoupling:
    """Coupling of one joint to its leader.

    Attributes:
        joint: the mimicking joint.
        leader: the joint that it mimics.
        multiplier: of the leader's angle.
        offset: [rad] or [m].
        period: the angles determine the coupling's error up to multiples of this; 0 if they do not determine it.
    """

    joint: ScalarJoint
    leader: ScalarJoint
    multiplier: float
    offset: float
    period: float

    @classmethod
    def of(cls, joint: ScalarJoint, leader: ScalarJoint, *, multiplier: float, offset: float) -> JointCoupling:
        """Couple two joints."""
        return cls(joint, leader, multiplier, offset, _period(joint, leader, multiplier))

    def wanted(self, q: Array) -> float:
        """Return the joint position that satisfies the coupling [rad] or [m]."""
        return self.multiplier * self.leader.angle(q) + self.offset

    def error(self, q: Array) -> float:
        """Return the position error of the coupling [rad] or [m], modulo full turns."""
        if self.period == 0.0:
            return 0.0
        error = self.joint.angle(q) - self.wanted(q)
        return error if math.isinf(self.period) else math.remainder(error, self.period)


def _period(joint: ScalarJoint, leader: ScalarJoint, multiplier: float) -> float:
    """Return the ambiguity of the error due to full turns: q contains only (cos, sin) of a continuous joint."""
    if not leader.continuous or multiplier == 0.0:
        return math.tau if joint.continuous else math.inf
    if not joint.continuous:
        return math.tau * abs(multiplier)
    ratio = Fraction(multiplier).limit_denominator(LARGEST_DENOMINATOR)
    return math.tau / ratio.denominator if math.isclose(ratio, multiplier, rel_tol=1e-9) else 0.0


class Couplings:
    """All couplings of a scene: rows J q̈ = rhs, and one multiplier λ each that enters the dynamics as Jᵀ λ.

    A row has 1 at the joint and −multiplier at its leader, so Jᵀ λ does no work in motions that satisfy the coupling.

    Attributes:
        names: full names of the mimicking joints, (K,).
        couplings: the couplings, (K,).
        J: (K, nv), constant.
    """

    def __init__(self, model: pin.Model, mimics: Mapping[str, Mimic]) -> None:
        """Couple joints of a model; `mimics`: mimic relation by full name of the mimicking joint."""
        self.names = tuple(mimics)
        self.couplings = tuple(
            JointCoupling.of(
                ScalarJoint.of(model, name),
                ScalarJoint.of(model, mimic.leader),
                multiplier=mimic.multiplier,
                offset=mimic.offset,
            )
            for name, mimic in mimics.items()
        )
        self.J = np.zeros((len(self.couplings), model.nv))
        for row, coupling in zip(self.J, self.couplings, strict=True):
            row[coupling.joint.v_index] = 1.0
            row[coupling.leader.v_index] = -coupling.multiplier

    def __len__(self) -> int:
        return len(self.couplings)

    @property
    def v_index(self) -> NDArray[np.intp]:
        """Index in v of each mimicking joint, (K,)."""
        return np.array([coupling.joint.v_index for coupling in self.couplings], dtype=np.intp)

    def error(self, q: Array) -> Array:
        """Return the position error of each coupling, (K,) [rad or m]."""
        return np.array([coupling.error(q) for coupling in self.couplings])

    def rhs(self, q: Array, v: Array, dt: float) -> Array:
        """Return the right-hand side of J q̈ = rhs, (K,): the velocity after the step undoes the error, as in (20)."""
        return (-self.error(q) / dt - self.J @ v) / dt

    def put_in_place(self, q: Array) -> None:
        """Set the mimicking joints to the positions that satisfy the couplings, in place."""
        for coupling in self.couplings:
            coupling.joint.set_angle(q, coupling.wanted(q))
