"""Single steps: a limb makes, moves or breaks a contact between two postures in static equilibrium."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pinocchio as pin

from contact_planner.body import CharacterModel
from contact_planner.candidates import Place
from contact_planner.clearance import CollisionChecker
from contact_planner.inverse_kinematics import InverseKinematics
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumRegion, EquilibriumTest

_AWAY = 12  # samples that are tried for a colliding limb without contact

#: Largest number of attempts to separate the character's own bodies in a posture.
_SEPARATIONS = 16
_LIFT = 0.08  # [m] height of the swing at its middle, over the line between the two contacts


class Steps:
    """Computation of successor stances.

    Attributes:
        failures: number of failures by reason.
    """

    def __init__(
        self,
        body: CharacterModel,
        clearance: CollisionChecker,
        reaches: Mapping[str, LimbReach],
        equilibrium: EquilibriumTest,
        *,
        margin: float,
        helpers: Collection[str] = (),
    ) -> None:
        """Create the inverse kinematics.

        Args:
            body: the character.
            clearance: its collision tests.
            reaches: databases of its limbs.
            equilibrium: test of static equilibrium.
            margin: least distance of the centre of mass from the edge of its region [m].
            helpers: limbs whose joints stay near their samples instead of the nominal configuration.
        """
        self._helpers = helpers
        self._body, self._clearance, self._reaches = body, clearance, reaches
        self._equilibrium, self._margin = equilibrium, margin
        self._ik = InverseKinematics(body)
        self.reset()

    def reset(self) -> None:
        """Clear all caches, for another plan."""
        self._lifts: dict[tuple[int, str], tuple[Stance, Array | None]] = {}
        self._regions: dict[tuple[tuple[str, int], ...], tuple[tuple[Contact, ...], EquilibriumRegion]] = {}
        self.failures: dict[str, int] = {}

    def with_contact(
        self, stance: Stance, limb: str, place: Place, *, q_nominal: Array, before: Array
    ) -> Stance | None:
        """Return the stance after one limb has made a new contact, or None if there is none.

        Args:
            stance: previous stance.
            limb: name of the limb.
            place: new placement.
            q_nominal: nominal configuration of the new stance, (nq,).
            before: nominal configuration at lift-off, (nq,).
        """
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        region = self._nonempty_region(rest)
        if region is None:
            return None
        lifted = None
        if limb in stance.contacts:
            lifted = self._lifted(stance, limb, region, before)
            if lifted is None:
                return None
        contacts = {**rest, limb: place.contact}
        start = stance.q if lifted is None else lifted
        if limb in self._helpers:
            own = self._body.limbs[limb].own
            q_nominal = q_nominal.copy()
            q_nominal[own + 1] = place.angles[len(place.angles) - len(own) :]
        q = self._posture(
            self._initial_guess(start, limb, place), contacts, region, self._with_fixed_helpers(q_nominal, stance, limb)
        )
        if q is None:
            return None
        return Stance(contacts, q, limb, lifted, stance.progress)

    def without_contact(self, stance: Stance, limb: str, *, q_nominal: Array) -> Stance | None:
        """Return the stance after one limb has broken its contact, or None if the others do not suffice.

        Args:
            stance: previous stance.
            limb: name of the limb.
            q_nominal: nominal configuration, (nq,).
        """
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        region = self._nonempty_region(rest)
        if region is None:
            return None
        lifted = self._posture(stance.q, stance.contacts, region, self._with_fixed_helpers(q_nominal, stance, ""))
        return None if lifted is None else Stance(rest, lifted, limb, lifted, stance.progress)

    def swings(self, before: Stance, after: Stance) -> bool:
        """Whether a balanced, collision-free posture exists at the middle of the swing."""
        limb = after.moved
        if limb is None or limb not in after.contacts:
            return True
        start = before.q if after.lifted is None else after.lifted
        self._body.place(start)
        contact, old = after.contacts[limb], self._body.surface_pose(self._body.limbs[limb]).copy()
        halfway = pin.SE3.Interpolate(old, contact.pose, 0.5)
        halfway.translation += _LIFT * contact.normal
        rest = {name: other for name, other in after.contacts.items() if name != limb}
        region, q_nominal = self.region(rest), pin.interpolate(self._body.model, start, after.q, 0.5)
        return self._posture(q_nominal, {**rest, limb: replace(contact, pose=halfway)}, region, q_nominal) is not None

    def _with_fixed_helpers(self, q_nominal: Array, stance: Stance, moving: str) -> Array:
        """Return a nominal configuration in which helpers that stay in contact have their present joint angles."""
        fixed = q_nominal.copy()
        for name in stance.contacts:
            if name != moving and name in self._helpers:
                own = self._body.limbs[name].own + 1
                fixed[own] = stance.q[own]
        return fixed

    def at_rest(self, stance: Stance, q_nominal: Array) -> Array | None:
        """Return the balanced posture on the contacts of a stance nearest to a nominal one, (nq,)."""
        return self._posture(stance.q, stance.contacts, self.region(stance.contacts), q_nominal)

    def region(self, contacts: Mapping[str, Contact]) -> EquilibriumRegion:
        """Return the region of static equilibrium of the centre of mass on contacts."""
        key = tuple(sorted((name, id(contact)) for name, contact in contacts.items()))
        if key not in self._regions:
            self._regions[key] = (tuple(contacts.values()), self._equilibrium(list(contacts.values())))
        return self._regions[key][1]

    def _nonempty_region(self, rest: Mapping[str, Contact]) -> EquilibriumRegion | None:
        if not rest:
            self._fail("no contact would remain")
            return None
        region = self.region(rest)
        if region.empty:
            self._fail("no static equilibrium on the other contacts")
            return None
        return region

    def _lifted(self, stance: Stance, limb: str, region: EquilibriumRegion, q_nominal: Array) -> Array | None:
        key = (id(stance), limb)
        if key not in self._lifts:
            self._lifts[key] = (
                stance,
                self._posture(stance.q, stance.contacts, region, self._with_fixed_helpers(q_nominal, stance, "")),
            )
        return self._lifts[key][1]

    def _initial_guess(self, q: Array, limb: str, place: Place) -> Array:
        """Return an initial guess: q, with the joints of the sample if the limb is far from its new placement."""
        body = self._body
        body.place(q)
        offset = body.surface_pose(body.limbs[limb]).actInv(place.contact.pose)
        if np.linalg.norm(offset.translation) < 0.25 and np.trace(offset.rotation) > 1.0:
            return q
        start = q.copy()
        start[body.limbs[limb].joints + 1] = place.angles
        return start

    def _posture(
        self, q: Array, contacts: Mapping[str, Contact], region: EquilibriumRegion, q_nominal: Array
    ) -> Array | None:
        poses = {name: contact.pose for name, contact in contacts.items()}
        found = self._ik.solve(q, poses, q_nominal=q_nominal, region=region, margin=self._margin)
        if found is None:
            self._fail("no posture reaches the contacts in balance")
            return None
        if self._clearance.is_free(found):
            return found
        separated = self._separated(found, poses, region)
        if separated is not None:
            return separated
        for alternative in self._avoiding_collisions(found, contacts, q_nominal):
            other = self._ik.solve(found, poses, q_nominal=alternative, region=region, margin=self._margin)
            if other is not None and self._clearance.is_free(other):
                return other
        self._fail("the posture collides")
        return None

    def _separated(self, q: Array, poses: Mapping[str, pin.SE3], region: EquilibriumRegion) -> Array | None:
        """Return a posture near q whose own bodies do not collide; None if none is found, or others collide.

        Helpers in contact, such as a hand whose forearm meets the edge of its table, are withdrawn as well.
        """
        helpers = [limb for limb in poses if limb in self._helpers]
        for _ in range(_SEPARATIONS):
            if helpers:
                step = self._clearance.withdrawing_step(q, helpers, self._ik.contact_jacobian(q, poses))
            else:
                step = self._clearance.separating_step(q)
            if not step.any():
                return None
            nominal = pin.integrate(self._body.model, q, step)
            found = self._ik.solve(q, poses, q_nominal=nominal, region=region, margin=self._margin)
            if found is None or self._clearance.is_free(found):
                return found
            q = found
        return None

    def _avoiding_collisions(self, q: Array, contacts: Mapping[str, Contact], q_nominal: Array) -> list[Array]:
        """Return nominal configurations with collision-free limbs without contact; none if others collide."""
        idle = [limb for name, limb in self._body.limbs.items() if name not in contacts and len(limb.own)]
        if not idle or not self._clearance.is_free_but_for(q, idle):
            return []
        adjusted, tried = q_nominal.copy(), q.copy()
        for limb in idle:
            columns = np.searchsorted(limb.joints, limb.own)
            angles = self._reaches[limb.name].angles[:, columns]
            near = np.argsort(np.abs(angles - q_nominal[limb.own + 1]).max(axis=1))[: 40 * _AWAY : 40]
            others = [other for other in idle if other is not limb]
            for sample in near:
                tried[limb.own + 1] = angles[sample]
                if self._clearance.is_free_but_for(tried, others):
                    adjusted[limb.own + 1] = angles[sample]
                    break
            else:
                return []
        return [adjusted]

    def _fail(self, why: str) -> None:
        self.failures[why] = self.failures.get(why, 0) + 1
