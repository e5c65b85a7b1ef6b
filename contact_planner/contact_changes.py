"""Ordered candidates of the contact search: making, moving and breaking contacts along the path."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_planner.body import CharacterModel
from contact_planner.nominal_path import NominalPath
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from multi_qp_scene.contact_sequence import Contact

_LONGER = 4  # poses of the path by which a step may be longer if shorter ones fail


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the contact search along a path.

    Attributes:
        margin: distance of the centre of mass from the edge of its region [m].
        stretch: share of its reach, measured from its nominal placement, that a limb uses; helpers use all of it.
        goal_tolerance: distance from its nominal placement at the goal beyond which a contact is made again [m].
        idle_steps: consecutive steps without progress of the base that are allowed, besides one for each limb.
        stall_limit: stances that are tried without progress before the search restarts with more randomness.
        attempts: largest number of starts of the search.
    """

    margin: float = 0.015
    stretch: float = 0.55
    goal_tolerance: float = 0.04
    idle_steps: int = 1
    stall_limit: int = 30
    attempts: int = 12


@dataclass(frozen=True)
class ContactChange:
    """A limb makes a new contact or, with `releases`, breaks its contact.

    Attributes:
        limb: name of the limb.
        goals: indices of the poses of the path to aim at, in order of preference.
        releases: whether the contact is broken only.
    """

    limb: str
    goals: tuple[int, ...]
    releases: bool = False


class CandidateChanges:
    """Candidate contact changes of a character."""

    def __init__(
        self, body: CharacterModel, reaches: Mapping[str, LimbReach], helpers: Sequence[str], settings: SearchSettings
    ) -> None:
        """Store the model; `helpers` are limbs that may be without contact."""
        self._body, self._reaches, self._helpers, self._settings = body, reaches, helpers, settings

    def next(self, stance: Stance, path: NominalPath, required: Collection[str]) -> Iterator[ContactChange]:
        """Yield candidate changes in order of preference."""
        at, end = stance.progress, path.end
        ages = list(stance.contacts)  # the oldest first
        blocked = self.blocked(stance, path)
        free_way = min(blocked.values(), default=end + 1) - 1
        for limb in sorted(blocked, key=lambda limb: (blocked[limb], ages.index(limb))):
            others = [k for other, k in blocked.items() if other != limb]
            furthest = max(at, min([*others, end + 1]) - 1)
            least = max(at, min(blocked[limb], furthest))
            if limb in self._helpers:
                yield ContactChange(limb, _between(at, free_way), releases=True)
            if len(self._body.limbs[limb].joints):
                yield ContactChange(limb, _between(least, furthest))
        idle = [
            ContactChange(limb, _between(at, max(at, free_way)))
            for limb in self._helpers
            if limb not in stance.contacts and len(self._body.limbs[limb].joints)
        ]
        if not blocked:
            yield from self._finishing(stance, path, required, idle)
            return
        yield from idle
        for limb in ages:
            if limb not in blocked and limb not in self._helpers:
                yield ContactChange(limb, (max(at, free_way),))
        further = min(end, max(at, free_way) + _LONGER)
        for limb in ages:  # a longer step than the comfortable reach allows
            if limb not in self._helpers and further > at:
                yield ContactChange(limb, (further,))

    def _finishing(
        self, stance: Stance, path: NominalPath, required: Collection[str], idle: list[ContactChange]
    ) -> Iterator[ContactChange]:
        """Yield the changes that remain once no contact keeps the base from the end of the path; `idle` may help."""
        end = path.end
        missing = [ContactChange(limb, (end,)) for limb in required if limb not in stance.contacts]
        releases = [
            ContactChange(limb, _between(stance.progress, end), releases=True)
            for limb in stance.contacts
            if limb not in required
        ]
        misplaced = [ContactChange(limb, (end,)) for limb in self.misplaced(stance.contacts, path)]
        # a helper in reach of its old place may keep the others from theirs
        again = [ContactChange(limb, (end,)) for limb in self._helpers if limb in stance.contacts]
        if missing:
            yield from [*missing, *idle, *misplaced, *releases, *again]
        else:
            yield from [*releases, *misplaced, *idle, *again]

    def blocked(self, stance: Stance, path: NominalPath) -> dict[str, int]:
        """Return the first pose of the path at which a limb cannot keep its contact, by limb."""
        blocked: dict[str, int] = {}
        for k in range(stance.progress, path.end + 1):
            base = self._body.base_pose(path.nominal_q(k, stance.contacts))
            for limb, contact in stance.contacts.items():
                if limb not in blocked and not self._can_keep(limb, contact, base, path.nominal(k).homes[limb]):
                    blocked[limb] = k
            if len(blocked) == len(stance.contacts):
                break
        return blocked

    def _can_keep(self, limb: str, contact: Contact, X_world_base: pin.SE3, home: pin.SE3) -> bool:
        """Whether a contact is within the share `stretch` of a limb's reach for a pose of the base."""
        away = X_world_base.actInv(contact.pose).translation - home.translation
        normal = X_world_base.rotation.T @ contact.normal
        off_face = normal * (away @ normal)  # the height of the base adapts
        stretch = 1.0 if limb in self._helpers else self._settings.stretch
        stretched = off_face + (away - off_face) / stretch
        return self._reaches[limb].reaches(home.translation + stretched, margin=-0.03)

    def misplaced(self, contacts: Mapping[str, Contact], path: NominalPath) -> list[str]:
        """Return the limbs that are far from their nominal placement at the end of the path."""
        homes, X_world_base = path.nominal(path.end).homes, path.poses[-1]
        found = []
        for limb, contact in contacts.items():
            away = contact.pose.translation - X_world_base.act(homes[limb].translation)
            across = away - contact.normal * (away @ contact.normal)
            if limb not in self._helpers and np.linalg.norm(across) > self._settings.goal_tolerance:
                found.append(limb)
        return found


def _between(least: int, furthest: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys([furthest, (furthest + least) // 2, least]))
