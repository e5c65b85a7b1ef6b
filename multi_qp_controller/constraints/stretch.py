"""Constraint on the stretch of limbs in contact: middle joints do not pass their straight angle."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multi_qp_controller.constraints.base import RowConstraint
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp.labels import LabelBlock
from multi_qp_scene.arrays import Array
from multi_qp_scene.scalar_joint import joint_motion
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface

#: Smallest length of the shorter of the two links at a middle joint, relative to the limb's length: a knee has two long
#: links; an ankle or a wrist, which is straight most of the time, limits no motion of the base.
SHORTEST_LINK = 0.2
#: Smallest distance of the straight angle from the joint's limits; nearer ones the damper of the limit guards [rad].
INSIDE = 0.1
#: Stretch that is left at least, as a fraction of the distance below which the damper acts.
SECURITY = 0.1
#: Speed at which a limb may stretch at that distance [m/s].
SPEED = 0.5


class Bend(NamedTuple):
    """Middle joint of a limb, between the joint above it and the next joint or the contact.

    Attributes:
        name: full name of the joint.
        v: its entry of v.
        q: its entry of q.
        straight: its angle at which the limb is straight [rad].
        sum: r₁² + r₂² + c², r the lengths of the links across the axis, c that along it [m²].
        product: 2 r₁ r₂ [m²].
    """

    name: str
    v: int
    q: int
    straight: float
    sum: float
    product: float


class StretchConstraint(RowConstraint):
    """Velocity dampers on the length of limbs in contact, for middle joints whose range passes the straight angle.

    A straight limb cannot become longer: a base that moves on would need an infinite velocity of that joint, so that
    the QP becomes infeasible when the limb is about to be straight. With φ the angle from there, the length is L² =
    r₁² + r₂² + c² + 2 r₁ r₂ cos φ; d = L(0) − L is bounded below by a damper, d̈ ≥ (−ξ (d − δ_s)/(δ_i − δ_s) − ḋ)/Δt
    for d < δ_i. Joints whose limit is at the straight angle have the damper of that limit, (31).
    """

    group = "limits"

    @dataclass
    class Checkpoint(RowConstraint.Checkpoint):
        """Joints of the present contacts."""

        joints: list[int]

    def __init__(self, scene: Scene, *, dt: float, influence: float) -> None:
        """Find the middle joints of the scene.

        Args:
            scene: the scene.
            dt: control period [s].
            influence: δ_i [m].
        """
        self._scene, self._dt, self._influence = scene, dt, influence
        self._bends: dict[tuple[int, int], Bend] = {}
        for surface in scene.surfaces.values():
            for joint, bend in _bends(scene, surface):
                self._bends.setdefault((surface.frame_id, joint), bend)
        self._of_frame: dict[int, list[Bend]] = {}
        for (frame, _), bend in self._bends.items():
            self._of_frame.setdefault(frame, []).append(bend)
        self.joints: list[int] = []
        self._near: list[str] = []

    @property
    def is_needed(self) -> bool:
        """Whether the scene has such joints."""
        return bool(self._bends)

    @classmethod
    def of(cls, scenario: Scenario, dt: float, horizon: float) -> StretchConstraint | None:
        """Create it for a scenario, None where no joint needs it or it is off; see `make_constraints`."""
        influence = scenario.spec.joint_limits.stretch
        made = cls(scenario.scene, dt=horizon, influence=influence) if influence > 0.0 else None
        return made if made is not None and made.is_needed else None

    @property
    def size(self) -> int:
        """Number of middle joints of the limbs in contact."""
        return sum(len(self._of_frame[frame]) for frame in self.joints)

    def label(self) -> LabelBlock:
        """Return the names of the active rows."""
        return LabelBlock(name="stretch", unit="m/s²", rows=tuple(self._near))

    def set_contacts(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:
        """Find the limbs in contact."""
        frames = [surface.frame_id for contact in contacts for surface in (contact.first, contact.second)]
        self.joints = [frame for frame in dict.fromkeys(frames) if frame in self._of_frame]

    def snapshot(self) -> StretchConstraint:
        """Return a copy with the labels of this tick."""
        one = copy.copy(self)
        one._near = list(self._near)
        return one

    def update(self, kinematics: Kinematics, D: Array, d: Array) -> None:
        """Write the rows of the limbs that are nearly straight."""
        self._near.clear()
        for frame in self.joints:
            for bend in self._of_frame[frame]:
                angle, speed = float(kinematics.q[bend.q]) - bend.straight, float(kinematics.v[bend.v])
                length = math.sqrt(bend.sum + bend.product * math.cos(angle))
                left = math.sqrt(bend.sum + bend.product) - length
                slope = -0.5 * bend.product * math.sin(angle) / length  # dL/dφ
                if left >= self._influence or slope == 0.0:
                    continue
                curvature = -(0.5 * bend.product * math.cos(angle) + slope * slope) / length
                keep = SECURITY * self._influence
                allowed = max(0.0, SPEED * (left - keep) / (self._influence - keep))
                row = len(self._near)
                D[row] = 0.0
                D[row, bend.v] = -slope
                d[row] = curvature * speed * speed - (allowed - slope * speed) / self._dt
                self._near.append(bend.name)
        self.count = len(self._near)


def _bends(scene: Scene, surface: Surface) -> list[tuple[int, Bend]]:
    """Return the middle joints of the limb of a surface, by their joint index."""
    model, limits = scene.model, scene.limits
    chain = [int(k) for k in model.supports[surface.joint_id] if k]
    frame = model.frames[surface.frame_id]
    links = [model.jointPlacements[k].translation for k in chain[2:]] + [frame.placement.translation]
    limb = sum(float(np.linalg.norm(link)) for link in links)
    found = []
    for k, joint in enumerate(chain[1:], start=1):
        entries = np.flatnonzero(limits.v_index == model.joints[joint].idx_v)
        if model.joints[joint].nv != 1 or not len(entries) or model.joints[chain[k - 1]].nv == 6:
            continue  # the trunk above the first joint of a limb is no link of it
        after = model.jointPlacements[chain[k + 1]].translation if k + 1 < len(chain) else frame.placement.translation
        before = model.jointPlacements[joint].actInv(np.zeros(3))
        axis = _axis(model.joints[joint], scene.q0)
        if axis is None:
            continue
        (upper, above), (lower, below) = _across(before, axis), _across(after, axis)
        r1, r2 = np.linalg.norm(upper), np.linalg.norm(lower)
        if min(r1, r2) < SHORTEST_LINK * limb or r1 + r2 == 0.0:
            continue
        # the angle that turns `lower` from its direction at q = 0 to that opposite to `upper`
        straight = math.atan2(float(axis @ np.cross(lower, -upper)), float(lower @ -upper))
        low, high = float(limits.lower[entries[0]]), float(limits.upper[entries[0]])
        if not low + INSIDE < straight < high - INSIDE:
            continue
        total = float(r1 * r1 + r2 * r2 + (above - below) ** 2)
        q, v = int(limits.q_index[entries[0]]), int(limits.v_index[entries[0]])
        found.append((joint, Bend(str(model.names[joint]), v, q, straight, total, float(2.0 * r1 * r2))))
    return found


def _axis(joint: pin.JointModel, q: Array) -> Array | None:
    """Return the axis of a revolute joint in its frame, (3,); None for other joints. q: (nq,)."""
    angular = joint_motion(joint, q)[3:]
    return angular if np.linalg.norm(angular) > 0.5 else None


def _across(point: Array, axis: Array) -> tuple[Array, float]:
    """Return the part of a position across an axis, (3,), and its length along it."""
    along = float(axis @ point)
    return point - along * axis, along
