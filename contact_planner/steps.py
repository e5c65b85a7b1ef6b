"""One step: a limb makes a contact, moves to another or lets go, with postures in balance before and after."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.candidates import Place
from contact_planner.clearance import Clearance
from contact_planner.inverse_kinematics import InverseKinematics
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumRegion, EquilibriumTest

Array = NDArray[np.float64]

_AWAY = 12  # configurations of a limb without contact that are tried where it is in the way

_LIFT = 0.08  # [m] over the line between two contacts, halfway between them


class Steps:
    """Makes stances from stances.

    Attributes:
        failures: how often what went wrong.
    """

    def __init__(
        self,
        body: Body,
        clearance: Clearance,
        reaches: Mapping[str, LimbReach],
        equilibrium: EquilibriumTest,
        *,
        margin: float,
        helpers: Collection[str] = (),
    ) -> None:
        """Prepare.

        Args:
            body: the character.
            clearance: its collision tests.
            reaches: its limbs.
            equilibrium: test of static equilibrium.
            margin: least distance of the centre of mass from the edge of its region [m].
            helpers: limbs that touch as their database has them, and not as the liked posture has.
        """
        self._helpers = helpers
        self._body, self._clearance, self._reaches = body, clearance, reaches
        self._equilibrium, self._margin = equilibrium, margin
        self._ik = InverseKinematics(body)
        self.forget()

    def forget(self) -> None:
        """Start afresh, for another plan."""
        self._lifts: dict[tuple[int, str], tuple[Stance, Array | None]] = {}
        self._regions: dict[tuple[tuple[str, int], ...], tuple[tuple[Contact, ...], EquilibriumRegion]] = {}
        self.failures: dict[str, int] = {}

    def made(self, stance: Stance, limb: str, place: Place, *, liked: Array, before: Array) -> Stance | None:
        """Return the stance after one limb has made a contact, coming from another one or from none; None if it cannot.

        Args:
            stance: the stance before.
            limb: which limb.
            place: where to.
            liked: posture to be near then, (nq,).
            before: posture to be near when it is lifted, (nq,).
        """
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        region = self._holding(rest)
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
            liked = liked.copy()
            liked[own + 1] = place.angles[len(place.angles) - len(own) :]
        q = self._posture(self._reaching(start, limb, place), contacts, region, self._held(liked, stance, limb))
        if q is None:
            return None
        return Stance(contacts, q, limb, lifted, stance.progress)

    def released(self, stance: Stance, limb: str, *, liked: Array) -> Stance | None:
        """Return the stance after one limb has let go, or None where the others cannot hold the body.

        Args:
            stance: the stance before.
            limb: which limb.
            liked: posture to be near when it lets go, (nq,).
        """
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        region = self._holding(rest)
        if region is None:
            return None
        lifted = self._posture(stance.q, stance.contacts, region, self._held(liked, stance, ""))
        return None if lifted is None else Stance(rest, lifted, limb, lifted, stance.progress)

    def swings(self, before: Stance, after: Stance) -> bool:
        """Whether the limb that moves can be halfway, a little off the ground, with nothing hit and in balance."""
        limb = after.moved
        if limb is None or limb not in after.contacts:
            return True
        start = before.q if after.lifted is None else after.lifted
        self._body.place(start)
        contact, old = after.contacts[limb], self._body.surface_pose(self._body.limbs[limb]).copy()
        halfway = pin.SE3.Interpolate(old, contact.pose, 0.5)
        halfway.translation += _LIFT * contact.normal
        rest = {name: other for name, other in after.contacts.items() if name != limb}
        region, liked = self.region(rest), pin.interpolate(self._body.model, start, after.q, 0.5)
        return self._posture(liked, {**rest, limb: replace(contact, pose=halfway)}, region, liked) is not None

    def _held(self, liked: Array, stance: Stance, moving: str) -> Array:
        """Return a liked posture whose helpers that stay in contact are as they are."""
        held = liked.copy()
        for name in stance.contacts:
            if name != moving and name in self._helpers:
                own = self._body.limbs[name].own + 1
                held[own] = stance.q[own]
        return held

    def at_rest(self, stance: Stance, liked: Array) -> Array | None:
        """Return the posture nearest to a liked one in which the body rests on a stance's contacts, (nq,)."""
        return self._posture(stance.q, stance.contacts, self.region(stance.contacts), liked)

    def region(self, contacts: Mapping[str, Contact]) -> EquilibriumRegion:
        """Return where the centre of mass can rest on contacts."""
        key = tuple(sorted((name, id(contact)) for name, contact in contacts.items()))
        if key not in self._regions:
            self._regions[key] = (tuple(contacts.values()), self._equilibrium(list(contacts.values())))
        return self._regions[key][1]

    def _holding(self, rest: Mapping[str, Contact]) -> EquilibriumRegion | None:
        if not rest:
            self._fail("nothing would hold")
            return None
        region = self.region(rest)
        if region.empty:
            self._fail("the other contacts cannot hold it")
            return None
        return region

    def _lifted(self, stance: Stance, limb: str, region: EquilibriumRegion, liked: Array) -> Array | None:
        key = (id(stance), limb)
        if key not in self._lifts:
            self._lifts[key] = (stance, self._posture(stance.q, stance.contacts, region, self._held(liked, stance, "")))
        return self._lifts[key][1]

    def _reaching(self, q: Array, limb: str, place: Place) -> Array:
        """Return a posture with the limb as its database has it where the limb is far from where it shall be."""
        body = self._body
        body.place(q)
        away = body.surface_pose(body.limbs[limb]).actInv(place.contact.pose)
        if np.linalg.norm(away.translation) < 0.25 and np.trace(away.rotation) > 1.0:
            return q
        start = q.copy()
        start[body.limbs[limb].joints + 1] = place.angles
        return start

    def _posture(
        self, q: Array, contacts: Mapping[str, Contact], region: EquilibriumRegion, liked: Array
    ) -> Array | None:
        poses = {name: contact.pose for name, contact in contacts.items()}
        found = self._ik.solve(q, poses, liked=liked, region=region, margin=self._margin)
        if found is None:
            self._fail("no posture reaches the contacts in balance")
            return None
        if self._clearance.is_free(found):
            return found
        for wish in self._out_of_the_way(found, contacts, liked):
            other = self._ik.solve(found, poses, liked=wish, region=region, margin=self._margin)
            if other is not None and self._clearance.is_free(other):
                return other
        self._fail("the posture collides")
        return None

    def _out_of_the_way(self, q: Array, contacts: Mapping[str, Contact], liked: Array) -> list[Array]:
        """Return liked postures whose limbs without contact are where nothing is; none if that is not what is wrong."""
        idle = [limb for name, limb in self._body.limbs.items() if name not in contacts and len(limb.own)]
        if not idle or not self._clearance.is_free_but_for(q, idle):
            return []
        wish, tried = liked.copy(), q.copy()
        for limb in idle:
            columns = np.searchsorted(limb.joints, limb.own)
            angles = self._reaches[limb.name].angles[:, columns]
            near = np.argsort(np.abs(angles - liked[limb.own + 1]).max(axis=1))[: 40 * _AWAY : 40]
            others = [other for other in idle if other is not limb]
            for sample in near:
                tried[limb.own + 1] = angles[sample]
                if self._clearance.is_free_but_for(tried, others):
                    wish[limb.own + 1] = angles[sample]
                    break
            else:
                return []
        return [wish]

    def _fail(self, why: str) -> None:
        self.failures[why] = self.failures.get(why, 0) + 1
