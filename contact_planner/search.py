"""Contacts along a path of the base: kept while they can be kept, broken and made again when they cannot.

A depth-first search with the order of [Tonneau2018] section 7.1: from one stance to the next at most one contact is
broken and one is made. A stance is taken when the limb can be lifted out of the one before and set down in the new one,
both in static equilibrium on the contacts that stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.candidates import Candidates
from contact_planner.clearance import Clearance
from contact_planner.faces import Face
from contact_planner.inverse_kinematics import InverseKinematics
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumTest, SupportRegion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SearchSettings:
    """How contacts are searched along a path.

    Attributes:
        margin: distance of the centre of mass from the edge of its region [m].
        stretch: share of its reach, from where the liked posture has it, that a limb uses.
        settle: a contact this far from its liked place is made again at the goal [m].
        loiter: steps that may bring the base no further, besides one for each limb.
        patience: stances that may be tried before the best partial plan is returned.
    """

    margin: float = 0.015
    stretch: float = 0.55
    settle: float = 0.04
    loiter: int = 1
    patience: int = 400


class ContactSearch:
    """Searches stances along a path of the base."""

    def __init__(
        self,
        body: Body,
        clearance: Clearance,
        reaches: Mapping[str, LimbReach],
        candidates: Candidates,
        equilibrium: EquilibriumTest,
        settings: SearchSettings,
    ) -> None:
        self._body, self._clearance, self._reaches = body, clearance, reaches
        self._candidates, self._equilibrium, self.settings = candidates, equilibrium, settings
        self._ik = InverseKinematics(body)
        self._forget()

    def _forget(self) -> None:
        self._lifts: dict[tuple[int, str], tuple[Stance, Array | None]] = {}
        self._regions: dict[tuple[tuple[str, int], ...], tuple[tuple[Contact, ...], SupportRegion]] = {}
        self.failures: dict[str, int] = {}

    # ----------------------------------------------------------------------------------------------- one step
    def step(self, stance: Stance, limb: str, target: Contact, X_world_base: pin.SE3) -> Stance | None:
        """Return the stance after one limb has gone to a new contact, or None where that is not possible.

        Args:
            stance: the stance before.
            limb: which limb moves.
            target: its new contact.
            X_world_base: where the base would be after it.
        """
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        if not rest:
            self._fail("nothing would hold")
            return None
        region = self._region(rest)
        if region.is_empty:
            self._fail("the other contacts cannot hold it")
            return None
        lifted = self._lifted(stance, limb, rest, region)
        if lifted is None:
            return None
        contacts = {**rest, limb: target}
        q = self._posture(lifted, contacts, region, self._liked(X_world_base, contacts))
        if q is None:
            return None
        return Stance(contacts, q, limb, lifted, stance.progress)

    def _lifted(self, stance: Stance, limb: str, rest: dict[str, Contact], region: SupportRegion) -> Array | None:
        if limb not in stance.contacts:
            contacts = dict(stance.contacts)
        else:
            contacts = {**rest, limb: stance.contacts[limb]}
        key = (id(stance), limb)
        if key not in self._lifts:
            base = self._body.base_pose(stance.q)
            self._lifts[key] = (stance, self._posture(stance.q, contacts, region, self._liked(base, contacts)))
        return self._lifts[key][1]

    def _posture(self, q: Array, contacts: Mapping[str, Contact], region: SupportRegion, liked: Array) -> Array | None:
        poses = {name: contact.pose for name, contact in contacts.items()}
        found = self._ik.solve(q, poses, liked=liked, region=region, margin=self.settings.margin)
        if found is None:
            self._fail("no posture reaches the contacts in balance")
            return None
        if not self._clearance.is_free(found):
            self._fail("the posture collides")
            return None
        return found

    def _liked(self, X_world_base: pin.SE3, contacts: Mapping[str, Contact]) -> Array:
        """Return the liked posture with its base over the given place, as high as the contacts would have it."""
        home = self._candidates.home
        offsets = [
            contact.pose.translation - X_world_base.rotation @ home[name].translation
            for name, contact in contacts.items()
            if abs((X_world_base.rotation @ home[name].rotation)[:, 2] @ contact.pose.rotation[:, 2]) > 0.7
        ]
        place = X_world_base.translation.copy()
        if offsets:
            place[2] = float(np.mean([offset[2] for offset in offsets]))
        return self._body.with_base(self._body.nominal, pin.SE3(X_world_base.rotation, place))

    def _region(self, contacts: Mapping[str, Contact]) -> SupportRegion:
        key = tuple(sorted((name, id(contact)) for name, contact in contacts.items()))
        if key not in self._regions:
            self._regions[key] = (tuple(contacts.values()), self._equilibrium(list(contacts.values())))
        return self._regions[key][1]

    def _fail(self, why: str) -> None:
        self.failures[why] = self.failures.get(why, 0) + 1

    def at_rest(self, stance: Stance) -> Array | None:
        """Return the posture nearest to the liked one in which the character can rest on a stance's contacts."""
        liked = self._liked(self._body.base_pose(stance.q), stance.contacts)
        home = self._candidates.home
        away = [c.pose.translation - pin.XYZQUATToSE3(liked[:7]).act(home[n]).translation
                for n, c in stance.contacts.items()]  # fmt: skip
        liked[:2] += np.mean(away, axis=0)[:2]
        return self._posture(stance.q, stance.contacts, self._region(stance.contacts), liked)

    def one(self, stance: Stance, limb: str, *, on: Sequence[Face] | None = None) -> Stance | None:
        """Return a stance in which one limb has made a new contact near where the base is, or None."""
        self._forget()
        base = self._body.base_pose(stance.q)
        for target in self._candidates.places(limb, base, on=on):
            follower = self.step(stance, limb, target, base)
            if follower is not None:
                return follower
        return None

    # ---------------------------------------------------------------------------------------- along the path
    def along(self, first: Stance, path: Sequence[pin.SE3], deadline: float) -> tuple[list[Stance], bool, str]:
        """Return stances along a path, whether they reach its end, and what stopped them otherwise.

        Args:
            first: where the character is.
            path: poses of the base.
            deadline: when to stop, on `time.perf_counter` [s].
        """
        self._forget()
        best = [first]
        seen = {_key(first)}
        stack: list[tuple[Stance, Iterator[Stance]]] = [(first, self._followers(first, path))]
        tried = 0
        while stack:
            stance, followers = stack[-1]
            chain = [entry[0] for entry in stack]
            if self._is_at_end(stance, path):
                return chain, True, ""
            if (stance.progress, -len(chain)) > (best[-1].progress, -len(best)):
                best = chain
            if perf_counter() > deadline:
                return best, False, "the time for planning is over"
            follower = next(followers, None)
            if follower is None:
                stack.pop()
                continue
            if _key(follower) in seen or self._loiters([*chain, follower]):
                continue
            seen.add(_key(follower))
            tried += 1
            if tried > self.settings.patience:
                return best, False, f"no way on after {tried - 1} stances"
            stack.append((follower, self._followers(follower, path)))
        return best, False, self._why()

    def _loiters(self, chain: Sequence[Stance]) -> bool:
        """Whether the last steps have brought the base no further than those before."""
        allowed = self.settings.loiter + len(chain[0].contacts)
        return len(chain) > allowed and chain[-1].progress <= chain[-1 - allowed].progress

    def _why(self) -> str:
        if not self.failures:
            return "no limb has a place to go to"
        return "no limb can go on; most often: " + max(self.failures, key=lambda why: self.failures[why])

    def _is_at_end(self, stance: Stance, path: Sequence[pin.SE3]) -> bool:
        return stance.progress == len(path) - 1 and not self._unsettled(stance, path[-1])

    def _unsettled(self, stance: Stance, X_world_base: pin.SE3) -> list[str]:
        return [
            name
            for name, contact in stance.contacts.items()
            if self._far_from_home(name, contact, X_world_base) > self.settings.settle
        ]

    def _far_from_home(self, limb: str, contact: Contact, X_world_base: pin.SE3) -> float:
        home = X_world_base.act(self._candidates.home[limb])
        away = contact.pose.translation - home.translation
        return float(np.linalg.norm(away - contact.normal * (away @ contact.normal)))

    def _followers(self, stance: Stance, path: Sequence[pin.SE3]) -> Iterator[Stance]:
        """Yield the stances that may come next, the most promising first."""
        for limb, goals in self._moves(stance, path):
            for goal in goals:
                base = self._standing_base(stance, limb, path[goal])
                for target in self._candidates.places(limb, base):
                    old = stance.contacts.get(limb)
                    if old is not None and np.linalg.norm(old.pose.translation - target.pose.translation) < 0.02:
                        continue
                    follower = self.step(stance, limb, target, base)
                    if follower is not None:
                        yield Stance(follower.contacts, follower.q, limb, follower.lifted, goal)

    def _standing_base(self, stance: Stance, limb: str, X_world_base: pin.SE3) -> pin.SE3:
        """Return the pose of the path, not higher above the contacts that stay than the liked posture has it."""
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        liked = self._liked(X_world_base, rest)
        height = min(max(float(liked[2]), X_world_base.translation[2] - 0.25), X_world_base.translation[2] + 0.25)
        place = X_world_base.translation.copy()
        place[2] = 0.5 * (height + place[2])
        return pin.SE3(X_world_base.rotation, place)

    def _moves(self, stance: Stance, path: Sequence[pin.SE3]) -> Iterator[tuple[str, list[int]]]:
        """Yield limbs to move and for each the poses of the path to aim at, the best first."""
        at, end = stance.progress, len(path) - 1
        ages = list(stance.contacts)  # the oldest first
        blocked: dict[str, int] = {}
        for k in range(at, end + 1):
            base = self._body.base_pose(self._liked(path[k], stance.contacts))
            for limb in ages:
                if limb not in blocked and not self._can_keep(limb, stance.contacts[limb], base):
                    blocked[limb] = k
        order = sorted(ages, key=lambda limb: (blocked.get(limb, end + 1), ages.index(limb)))
        if not blocked:
            order = self._unsettled(stance, path[-1])
            order.sort(key=ages.index)
        for limb in order:
            others = [blocked.get(other, end + 1) for other in ages if other != limb]
            furthest = max(at, min([*others, end + 1]) - 1)
            least = max(at, min(blocked.get(limb, furthest), furthest))
            middle = (furthest + least) // 2
            yield limb, list(dict.fromkeys([furthest, middle, least]))

    def _can_keep(self, limb: str, contact: Contact, X_world_base: pin.SE3) -> bool:
        """Whether a contact is within the comfortable reach of a limb for a pose of the base."""
        away = contact.pose.translation - X_world_base.act(self._candidates.home[limb].translation)
        off_face = contact.normal * (away @ contact.normal)  # the height of the base adapts
        stretched = X_world_base.translation + (off_face + (away - off_face) / self.settings.stretch)
        return self._reaches[limb].reaches(
            self._candidates.home[limb].translation + X_world_base.actInv(stretched), margin=-0.03
        )


def _key(stance: Stance) -> tuple[object, ...]:
    """Return what two stances share that are as good as the same: limbs within 2 cm, and how far along the path."""
    places = (
        (limb, *np.round(contact.pose.translation / 0.02).astype(int)) for limb, contact in stance.contacts.items()
    )
    return (stance.progress, *sorted(places))
