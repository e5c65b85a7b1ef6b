"""What may be done next on the way: which limb goes on, for which part of the path, and which lets go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_planner.body import Body
from contact_planner.guide import Guide
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from multi_qp_scene.contact_sequence import Contact

_LONGER = 4  # poses of the path by which a step may be longer where shorter ones lead nowhere


@dataclass(frozen=True)
class SearchSettings:
    """How contacts are searched along a path.

    Attributes:
        margin: distance of the centre of mass from the edge of its region [m].
        stretch: share of its reach, from where the liked posture has it, that a limb uses; helpers use all of it.
        settle: a contact this far from its liked place is made again at the goal [m].
        loiter: steps that may bring the base no further, besides one for each limb.
        patience: stances that may be tried without getting any further before the search begins afresh, more at random.
        attempts: how often it begins.
    """

    margin: float = 0.015
    stretch: float = 0.55
    settle: float = 0.04
    loiter: int = 1
    patience: int = 30
    attempts: int = 12


@dataclass(frozen=True)
class Move:
    """A limb makes a contact, or, `releases`, breaks its own and makes none.

    Attributes:
        limb: which.
        goals: poses of the path to aim at, the best first.
        releases: whether it lets go.
    """

    limb: str
    goals: tuple[int, ...]
    releases: bool = False


class Moves:
    """Orders what a character may do."""

    def __init__(
        self, body: Body, reaches: Mapping[str, LimbReach], helpers: Sequence[str], settings: SearchSettings
    ) -> None:
        """Prepare; `helpers` are limbs that may be without contact."""
        self._body, self._reaches, self._helpers, self._settings = body, reaches, helpers, settings

    def next(self, stance: Stance, guide: Guide, wanted: Collection[str]) -> Iterator[Move]:
        """Yield what may be done next, the best first."""
        at, end = stance.progress, guide.end
        ages = list(stance.contacts)  # the oldest first
        blocked = self.blocked(stance, guide)
        free_way = min(blocked.values(), default=end + 1) - 1
        for limb in sorted(blocked, key=lambda limb: (blocked[limb], ages.index(limb))):
            others = [k for other, k in blocked.items() if other != limb]
            furthest = max(at, min([*others, end + 1]) - 1)
            least = max(at, min(blocked[limb], furthest))
            if limb in self._helpers:
                yield Move(limb, _between(at, free_way), releases=True)
            if len(self._body.limbs[limb].joints):
                yield Move(limb, _between(least, furthest))
        idle = [
            Move(limb, _between(at, max(at, free_way)))
            for limb in self._helpers
            if limb not in stance.contacts and len(self._body.limbs[limb].joints)
        ]
        if not blocked:
            yield from self._finishing(stance, guide, wanted, idle)
            return
        yield from idle
        for limb in ages:
            if limb not in blocked and limb not in self._helpers:
                yield Move(limb, (max(at, free_way),))
        further = min(end, max(at, free_way) + _LONGER)
        for limb in ages:  # a longer step than is liked
            if limb not in self._helpers and further > at:
                yield Move(limb, (further,))

    def _finishing(self, stance: Stance, guide: Guide, wanted: Collection[str], idle: list[Move]) -> Iterator[Move]:
        """Yield what is left to be done where nothing keeps the base from going to the end; `idle` may help."""
        end = guide.end
        missing = [Move(limb, (end,)) for limb in wanted if limb not in stance.contacts]
        releases = [
            Move(limb, _between(stance.progress, end), releases=True) for limb in stance.contacts if limb not in wanted
        ]
        unsettled = [Move(limb, (end,)) for limb in self.unsettled(stance.contacts, guide)]
        if missing:
            yield from [*missing, *idle, *unsettled, *releases]
        else:
            yield from [*releases, *unsettled, *idle]

    def blocked(self, stance: Stance, guide: Guide) -> dict[str, int]:
        """Return the first pose of the path at which a limb cannot keep its contact, by limb."""
        blocked: dict[str, int] = {}
        for k in range(stance.progress, guide.end + 1):
            base = self._body.base_pose(guide.liked(k, stance.contacts))
            for limb, contact in stance.contacts.items():
                if limb not in blocked and not self._can_keep(limb, contact, base, guide.wish(k).homes[limb]):
                    blocked[limb] = k
            if len(blocked) == len(stance.contacts):
                break
        return blocked

    def _can_keep(self, limb: str, contact: Contact, X_world_base: pin.SE3, home: pin.SE3) -> bool:
        """Whether a contact is within the comfortable reach of a limb for a pose of the base."""
        away = X_world_base.actInv(contact.pose).translation - home.translation
        normal = X_world_base.rotation.T @ contact.normal
        off_face = normal * (away @ normal)  # the height of the base adapts
        stretch = 1.0 if limb in self._helpers else self._settings.stretch
        stretched = off_face + (away - off_face) / stretch
        return self._reaches[limb].reaches(home.translation + stretched, margin=-0.03)

    def unsettled(self, contacts: Mapping[str, Contact], guide: Guide) -> list[str]:
        """Return the limbs that are far from where the liked posture has them at the end."""
        homes, X_world_base = guide.wish(guide.end).homes, guide.poses[-1]
        found = []
        for limb, contact in contacts.items():
            away = contact.pose.translation - X_world_base.act(homes[limb].translation)
            across = away - contact.normal * (away @ contact.normal)
            if limb not in self._helpers and np.linalg.norm(across) > self._settings.settle:
                found.append(limb)
        return found


def _between(least: int, furthest: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys([furthest, (furthest + least) // 2, least]))
