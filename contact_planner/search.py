"""Contacts along a path of the base: kept while they can be kept, broken and made again when they cannot.

A depth-first search with the order of [Tonneau2018] section 7.1: from one stance to the next at most one contact is
broken and one is made. A stance is taken when the limb can be lifted out of the one before and set down in the new one,
both in static equilibrium on the contacts that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.candidates import Candidates, Place, Side
from contact_planner.guide import Guide, Wish
from contact_planner.moves import Moves, SearchSettings
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from contact_planner.steps import Steps
from multi_qp_scene.contact_sequence import Contact

Array = NDArray[np.float64]

_SCATTER = 0.05  # [m] by how much more the cost of a place is random at each new attempt
_APART = 0.3  # share of the distance that two limbs have in the liked posture which they always keep that way
_SAME = 0.02  # [m] a limb that moves goes further than that


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
        self._body, self._candidates, self._steps = body, candidates, steps
        self._helpers = [limb for limb in body.limbs if limb in helpers]
        self._moves = Moves(body, reaches, self._helpers, settings)
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
            and not self._moves.unsettled(stance.contacts, guide)
            and (stance.progress == guide.end or not self._moves.blocked(stance, guide))
        )

    def _followers(self, stance: Stance, guide: Guide, wanted: Collection[str]) -> Iterator[Stance]:
        """Yield the stances that may come next, the most promising first."""
        for move in self._moves.next(stance, guide, wanted):
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
            others=[contact for name, contact in stance.contacts.items() if name != limb],
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


def _worth(chain: list[Stance]) -> tuple[int, int]:
    """Return how good a partial plan is: how far it leads, and in how few steps."""
    return chain[-1].progress, -len(chain)


def _key(stance: Stance) -> tuple[object, ...]:
    """Return what two stances share that are as good as the same: limbs within 2 cm, and how far along the path."""
    places = (
        (limb, *np.round(contact.pose.translation / 0.02).astype(int)) for limb, contact in stance.contacts.items()
    )
    return (stance.progress, *sorted(places))
