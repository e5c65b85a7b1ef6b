"""Contacts along a path of the base: kept while they can be kept, broken and made again when they cannot.

A depth-first search with the order of [Tonneau2018] section 7.1: from one stance to the next at most one contact is
broken and one is made. A stance is taken when the limb can be lifted out of the one before and set down in the new one,
both in static equilibrium on the contacts that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.candidates import Candidates, Place, Side
from contact_planner.guide import Guide, Wish
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from contact_planner.steps import Steps
from multi_qp_scene.contact_sequence import Contact

Array = NDArray[np.float64]

_SCATTER = 0.05  # [m] by how much more the cost of a place is random at each new attempt
_APART = 0.3  # share of the distance that two limbs have in the liked posture which they always keep that way
_LONGER = 4  # poses of the path by which a step may be longer where shorter ones lead nowhere
_SAME = 0.02  # [m] a limb that moves goes further than that


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
class _Move:
    """A limb makes a contact, or, `releases`, breaks its own and makes none.

    Attributes:
        limb: which.
        goals: poses of the path to aim at, the best first.
        releases: whether it lets go.
    """

    limb: str
    goals: tuple[int, ...]
    releases: bool = False


class ContactSearch:
    """Searches stances along a path of the base."""

    def __init__(
        self,
        body: Body,
        reaches: Mapping[str, LimbReach],
        candidates: Candidates,
        steps: Steps,
        *,
        helpers: Collection[str],
        settings: SearchSettings,
    ) -> None:
        """Prepare; `helpers` are limbs that may be without contact."""
        self._body, self._reaches, self._candidates, self._steps = body, reaches, candidates, steps
        self._helpers = [limb for limb in body.limbs if limb in helpers]
        self.settings = settings

    def along(
        self, first: Stance, guide: Guide, wanted: Collection[str], over: Callable[[], bool]
    ) -> tuple[list[Stance], bool, str]:
        """Return stances along a path, whether they reach its end, and what stopped them otherwise.

        Args:
            first: where the character is.
            guide: the path, and the postures liked along it.
            wanted: limbs that touch at its end; no others do.
            over: whether the time is over.
        """
        best: list[Stance] = [first]
        reason = ""
        for attempt in range(self.settings.attempts):
            self._candidates.scatter(_SCATTER * attempt, attempt)
            stances, complete, reason = self._search(first, guide, wanted, over)
            if complete:
                return self._shortened(stances, guide), True, ""
            if _worth(stances) > _worth(best):
                best = stances
            if over():
                break
        return best, False, reason

    def _shortened(self, stances: list[Stance], guide: Guide) -> list[Stance]:
        """Return a plan without its detours: where one step does what several did, it is taken instead of them."""
        short, k = list(stances), 0
        while k < len(short) - 2:
            for last in range(len(short) - 1, k + 1, -1):
                step = self._directly(short[k], short[last], guide)
                if step is not None:
                    short[k + 1 : last + 1] = [step]
                    break
            k += 1
        return short

    def _directly(self, first: Stance, last: Stance, guide: Guide) -> Stance | None:
        """Return a stance with the contacts of the last one that is one step away from the first, or None."""
        changed = [
            limb
            for limb in {**first.contacts, **last.contacts}
            if first.contacts.get(limb) is not last.contacts.get(limb)
        ]
        if len(changed) != 1:
            return None
        limb, liked = changed[0], guide.liked(last.progress, last.contacts)
        if limb not in last.contacts:
            step = self._steps.released(first, limb, liked=liked)
        else:
            place = Place(last.contacts[limb], last.q[self._body.limbs[limb].joints + 1])
            step = self._steps.made(first, limb, place, liked=liked, before=self._where_it_is(first, guide))
        return None if step is None else replace(step, progress=last.progress)

    def _search(
        self, first: Stance, guide: Guide, wanted: Collection[str], over: Callable[[], bool]
    ) -> tuple[list[Stance], bool, str]:
        best = [first]
        seen = {_key(first)}
        stack: list[tuple[Stance, Iterator[Stance]]] = [(first, self._followers(first, guide, wanted))]
        tried = 0
        while stack:
            stance, followers = stack[-1]
            chain = [entry[0] for entry in stack]
            if self._is_at_end(stance, guide, wanted):
                return [*chain[:-1], replace(stance, progress=guide.end)], True, ""
            if _worth(chain) > _worth(best):
                if chain[-1].progress > best[-1].progress:
                    tried = 0
                best = chain
            if over():
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
                return best, False, self._why()
            stack.append((follower, self._followers(follower, guide, wanted)))
        return best, False, self._why()

    def _loiters(self, chain: list[Stance]) -> bool:
        """Whether the last steps have brought the base no further than those before."""
        allowed = self.settings.loiter + len(self._body.limbs)
        return len(chain) > allowed and chain[-1].progress <= chain[-1 - allowed].progress

    def _why(self) -> str:
        failures = self._steps.failures
        if not failures:
            return "no limb has a place to go to"
        return "no limb can go on; most often: " + max(failures, key=lambda why: failures[why])

    def _is_at_end(self, stance: Stance, guide: Guide, wanted: Collection[str]) -> bool:
        return (
            set(stance.contacts) == set(wanted)
            and not self._unsettled(stance.contacts, guide)
            and (stance.progress == guide.end or not self._blocked(stance, guide))
        )

    def _unsettled(self, contacts: Mapping[str, Contact], guide: Guide) -> list[str]:
        """Return the limbs that are far from where the liked posture has them at the end."""
        homes, X_world_base = guide.wish(guide.end).homes, guide.poses[-1]
        found = []
        for limb, contact in contacts.items():
            away = contact.pose.translation - X_world_base.act(homes[limb].translation)
            across = away - contact.normal * (away @ contact.normal)
            if limb not in self._helpers and np.linalg.norm(across) > self.settings.settle:
                found.append(limb)
        return found

    def _followers(self, stance: Stance, guide: Guide, wanted: Collection[str]) -> Iterator[Stance]:
        """Yield the stances that may come next, the most promising first."""
        for move in self._moves(stance, guide, wanted):
            for goal in move.goals:
                liked = guide.liked(goal, {n: c for n, c in stance.contacts.items() if n != move.limb})
                if move.releases:
                    follower = self._steps.released(stance, move.limb, liked=liked)
                    if follower is not None:
                        yield replace(follower, progress=goal)
                    continue
                yield from self._landings(stance, move.limb, guide, goal, liked)

    def _landings(self, stance: Stance, limb: str, guide: Guide, goal: int, liked: Array) -> Iterator[Stance]:
        """Yield the stances in which a limb has made a new contact, near where it is liked at a pose of the path."""
        before = self._where_it_is(stance, guide)
        base = self._seated(stance, limb)
        if base is None:  # halfway between the path and how high the contacts would have it
            base = guide.poses[goal].copy()
            base.translation[2] = 0.5 * (liked[2] + base.translation[2])
        old = stance.contacts.get(limb)
        wish = guide.wish(goal)
        places = self._candidates.places(
            limb,
            base,
            wish.homes[limb],
            toward=guide.ways[goal],
            beside=self.sides(stance.contacts, limb, base, wish),
        )
        for place in places:
            if old is not None and np.linalg.norm(old.pose.translation - place.contact.pose.translation) < _SAME:
                continue
            contacts = {**stance.contacts, limb: place.contact}
            follower = self._steps.made(stance, limb, place, liked=wish.placed(base, contacts), before=before)
            if follower is not None:
                yield replace(follower, progress=goal)

    def sides(self, contacts: Mapping[str, Contact], limb: str, X_world_base: pin.SE3, wish: Wish) -> list[Side]:
        """Return where a limb has to stay so that it does not cross the others that touch."""
        sides = []
        for other, contact in contacts.items():
            if other == limb or other in self._helpers or limb in self._helpers:
                continue
            apart = wish.homes[limb].translation - wish.homes[other].translation
            length = float(np.linalg.norm(apart))
            if length > 1e-6:
                normal = X_world_base.rotation @ apart / length
                sides.append(Side(contact.pose.translation, normal, _APART * length))
        return sides

    def _seated(self, stance: Stance, moving: str) -> pin.SE3 | None:
        """Return where a contact of the base itself holds it; None where it has none but by the limb that moves."""
        for limb, contact in stance.contacts.items():
            if limb != moving and not len(self._body.limbs[limb].joints):
                return contact.pose * self._body.limbs[limb].X_joint_surface.inverse()
        return None

    def _where_it_is(self, stance: Stance, guide: Guide) -> Array:
        """Return the liked posture with the base where it is in a stance, as high as its contacts would have it."""
        return guide.wish(stance.progress).placed(self._body.base_pose(stance.q), stance.contacts)

    def _moves(self, stance: Stance, guide: Guide, wanted: Collection[str]) -> Iterator[_Move]:
        """Yield what may be done next, the best first."""
        at, end = stance.progress, guide.end
        ages = list(stance.contacts)  # the oldest first
        blocked = self._blocked(stance, guide)
        free_way = min(blocked.values(), default=end + 1) - 1
        for limb in sorted(blocked, key=lambda limb: (blocked[limb], ages.index(limb))):
            others = [k for other, k in blocked.items() if other != limb]
            furthest = max(at, min([*others, end + 1]) - 1)
            least = max(at, min(blocked[limb], furthest))
            if limb in self._helpers:
                yield _Move(limb, _between(at, free_way), releases=True)
            if len(self._body.limbs[limb].joints):
                yield _Move(limb, _between(least, furthest))
        idle = [
            _Move(limb, _between(at, max(at, free_way)))
            for limb in self._helpers
            if limb not in stance.contacts and len(self._body.limbs[limb].joints)
        ]
        if not blocked:
            yield from self._finishing(stance, guide, wanted, idle)
            return
        yield from idle
        for limb in ages:
            if limb not in blocked and limb not in self._helpers:
                yield _Move(limb, (max(at, free_way),))
        further = min(end, max(at, free_way) + _LONGER)
        for limb in ages:  # a longer step than is liked
            if limb not in self._helpers and further > at:
                yield _Move(limb, (further,))

    def _finishing(self, stance: Stance, guide: Guide, wanted: Collection[str], idle: list[_Move]) -> Iterator[_Move]:
        """Yield what is left to be done where nothing keeps the base from going to the end; `idle` may help."""
        end = guide.end
        missing = [_Move(limb, (end,)) for limb in wanted if limb not in stance.contacts]
        releases = [
            _Move(limb, _between(stance.progress, end), releases=True) for limb in stance.contacts if limb not in wanted
        ]
        unsettled = [_Move(limb, (end,)) for limb in self._unsettled(stance.contacts, guide)]
        if missing:
            yield from [*missing, *idle, *unsettled, *releases]
        else:
            yield from [*releases, *unsettled, *idle]

    def _blocked(self, stance: Stance, guide: Guide) -> dict[str, int]:
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
        stretch = 1.0 if limb in self._helpers else self.settings.stretch
        stretched = off_face + (away - off_face) / stretch
        return self._reaches[limb].reaches(home.translation + stretched, margin=-0.03)


def _worth(chain: list[Stance]) -> tuple[int, int]:
    """Return how good a partial plan is: how far it leads, and in how few steps."""
    return chain[-1].progress, -len(chain)


def _between(least: int, furthest: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys([furthest, (furthest + least) // 2, least]))


def _key(stance: Stance) -> tuple[object, ...]:
    """Return what two stances share that are as good as the same: limbs within 2 cm, and how far along the path."""
    places = (
        (limb, *np.round(contact.pose.translation / 0.02).astype(int)) for limb, contact in stance.contacts.items()
    )
    return (stance.progress, *sorted(places))
