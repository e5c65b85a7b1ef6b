"""Depth-first search for stances along a path of the base.

Contacts are kept as long as they are within reach, in the order of [Tonneau2018] section 7.1: from one stance to the
next at most one contact is broken and one is made. A stance is accepted if the limb can lift off in the previous one
and land in the new one, both in static equilibrium on the remaining contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pinocchio as pin

from contact_planner.body import CharacterModel
from contact_planner.candidates import Candidates, Place, Side
from contact_planner.contact_changes import CandidateChanges, SearchSettings
from contact_planner.nominal_path import NominalConfiguration, NominalPath
from contact_planner.reach import LimbReach
from contact_planner.stance import Stance
from contact_planner.steps import Steps
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact

_SCATTER = 0.05  # [m] increase of the random part of a candidate's cost at each attempt
_APART = 0.3  # share of the nominal distance of two limbs that they always keep
_SAME = 0.02  # [m] least distance that a limb moves


class ContactSearch:
    """Search for stances along a path of the base."""

    def __init__(
        self,
        body: CharacterModel,
        reaches: Mapping[str, LimbReach],
        candidates: Candidates,
        steps: Steps,
        *,
        helpers: Collection[str],
        settings: SearchSettings,
    ) -> None:
        """Store the model; `helpers` are limbs that may be without contact."""
        self._body, self._candidates, self._steps = body, candidates, steps
        self._helpers = [limb for limb in body.limbs if limb in helpers]
        self._changes = CandidateChanges(body, reaches, self._helpers, settings)
        self.settings = settings

    def along(
        self, first: Stance, path: NominalPath, required: Collection[str], over: Callable[[], bool]
    ) -> tuple[list[Stance], bool, str]:
        """Return stances along a path, whether they reach its end, and the reason if not.

        Args:
            first: initial stance.
            path: path of the base with nominal configurations.
            required: limbs in contact at its end, and no others.
            over: whether the time budget is used up.
        """
        best: list[Stance] = [first]
        reason = ""
        for attempt in range(self.settings.attempts):
            self._candidates.scatter(_SCATTER * attempt, attempt)
            stances, complete, reason = self._search(first, path, required, over)
            if complete:
                return self._shortened(stances, path), True, ""
            if _rank(stances) > _rank(best):
                best = stances
            if over():
                break
        share = best[-1].progress / path.end if path.end else 1.0
        x, y, z = path.poses[best[-1].progress].translation
        return best, False, f"{share:.0%} of the path is covered, to ({x:.2f}, {y:.2f}, {z:.2f}) m: {reason}"

    def _shortened(self, stances: list[Stance], path: NominalPath) -> list[Stance]:
        """Return a plan in which one step replaces several wherever it has the same result."""
        short, k = list(stances), 0
        while k < len(short) - 2:
            for last in range(len(short) - 1, k + 1, -1):
                step = self._single_step(short[k], short[last], path)
                if step is not None:
                    short[k + 1 : last + 1] = [step]
                    break
            k += 1
        return short

    def _single_step(self, first: Stance, last: Stance, path: NominalPath) -> Stance | None:
        """Return a stance one step from the first with the contacts of the last one, or None."""
        changed = [
            limb
            for limb in {**first.contacts, **last.contacts}
            if first.contacts.get(limb) is not last.contacts.get(limb)
        ]
        if len(changed) != 1:
            return None
        limb, q_nominal = changed[0], path.nominal_q(last.progress, last.contacts)
        if limb not in last.contacts:
            step = self._steps.without_contact(first, limb, q_nominal=q_nominal)
        else:
            place = Place(last.contacts[limb], last.q[self._body.limbs[limb].joints + 1])
            step = self._steps.with_contact(
                first, limb, place, q_nominal=q_nominal, before=self._nominal_at(first, path)
            )
        return None if step is None else replace(step, progress=last.progress)

    def _search(
        self, first: Stance, path: NominalPath, required: Collection[str], over: Callable[[], bool]
    ) -> tuple[list[Stance], bool, str]:
        best = [first]
        seen = {_key(first)}
        stack: list[tuple[Stance, Iterator[Stance]]] = [(first, self._followers(first, path, required))]
        tried = 0
        while stack:
            stance, followers = stack[-1]
            chain = [entry[0] for entry in stack]
            if self._is_at_end(stance, path, required):
                return [*chain[:-1], replace(stance, progress=path.end)], True, ""
            if _rank(chain) > _rank(best):
                if chain[-1].progress > best[-1].progress:
                    tried = 0
                best = chain
            if over():
                return best, False, f"the time for planning is over; {self._failure_message()}"
            follower = next(followers, None)
            if follower is None:
                stack.pop()
                continue
            if _key(follower) in seen or self._makes_no_progress([*chain, follower]):
                continue
            seen.add(_key(follower))
            tried += 1
            if tried > self.settings.stall_limit:
                return best, False, self._failure_message()
            stack.append((follower, self._followers(follower, path, required)))
        return best, False, self._failure_message()

    def _makes_no_progress(self, chain: list[Stance]) -> bool:
        """Whether the last steps made no progress along the path."""
        allowed = self.settings.idle_steps + len(self._body.limbs)
        return len(chain) > allowed and chain[-1].progress <= chain[-1 - allowed].progress

    def _failure_message(self) -> str:
        failures = self._steps.failures
        if not failures:
            return "no limb has a place to go to"
        return "no limb can go on; most often: " + max(failures, key=lambda why: failures[why])

    def _is_at_end(self, stance: Stance, path: NominalPath, required: Collection[str]) -> bool:
        return (
            set(stance.contacts) == set(required)
            and not self._changes.misplaced(stance.contacts, path)
            and (stance.progress == path.end or not self._changes.blocked(stance, path))
        )

    def _followers(self, stance: Stance, path: NominalPath, required: Collection[str]) -> Iterator[Stance]:
        """Yield successor stances, the most promising first."""
        for change in self._changes.next(stance, path, required):
            for goal in change.goals:
                q_nominal = path.nominal_q(goal, {n: c for n, c in stance.contacts.items() if n != change.limb})
                if change.releases:
                    follower = self._steps.without_contact(stance, change.limb, q_nominal=q_nominal)
                    if follower is not None:
                        yield replace(follower, progress=goal)
                    continue
                yield from self._landings(stance, change.limb, path, goal, q_nominal)

    def _landings(self, stance: Stance, limb: str, path: NominalPath, goal: int, q_nominal: Array) -> Iterator[Stance]:
        """Yield the stances in which a limb makes a new contact near its nominal placement at a pose of the path."""
        before = self._nominal_at(stance, path)
        base = self._seated(stance, limb)
        if base is None:  # mean height of the path and of the base that fits the contacts
            base = path.poses[goal].copy()
            base.translation[2] = 0.5 * (q_nominal[2] + base.translation[2])
        old = stance.contacts.get(limb)
        nominal = path.nominal(goal)
        places = self._candidates.places(
            limb,
            base,
            nominal.homes[limb],
            toward=path.directions[goal],
            beside=self.sides(stance.contacts, limb, base, nominal),
            others=[contact for name, contact in stance.contacts.items() if name != limb],
        )
        for place in places:
            if old is not None and np.linalg.norm(old.pose.translation - place.contact.pose.translation) < _SAME:
                continue
            contacts = {**stance.contacts, limb: place.contact}
            follower = self._steps.with_contact(
                stance, limb, place, q_nominal=nominal.placed(base, contacts), before=before
            )
            if follower is not None:
                yield replace(follower, progress=goal)

    def sides(
        self, contacts: Mapping[str, Contact], limb: str, X_world_base: pin.SE3, nominal: NominalConfiguration
    ) -> list[Side]:
        """Return the half-spaces in which a limb has to stay so that it does not cross other limbs in contact."""
        sides = []
        for other, contact in contacts.items():
            if other == limb or other in self._helpers or limb in self._helpers:
                continue
            offset = nominal.homes[limb].translation - nominal.homes[other].translation
            length = float(np.linalg.norm(offset))
            if length > 1e-6:
                normal = X_world_base.rotation @ offset / length
                sides.append(Side(contact.pose.translation, normal, _APART * length))
        return sides

    def _seated(self, stance: Stance, moving: str) -> pin.SE3 | None:
        """Return the pose of the base that a contact of the base itself fixes; None if there is no such contact."""
        for limb, contact in stance.contacts.items():
            if limb != moving and not len(self._body.limbs[limb].joints):
                return contact.pose * self._body.limbs[limb].X_joint_surface.inverse()
        return None

    def _nominal_at(self, stance: Stance, path: NominalPath) -> Array:
        """Return the nominal configuration at the base pose of a stance, its height adapted to the contacts."""
        return path.nominal(stance.progress).placed(self._body.base_pose(stance.q), stance.contacts)


def _rank(chain: list[Stance]) -> tuple[int, int]:
    """Return the rank of a partial plan: progress first, then fewest steps."""
    return chain[-1].progress, -len(chain)


def _key(stance: Stance) -> tuple[object, ...]:
    """Return a key that equivalent stances share: progress along the path, and placements rounded to 2 cm."""
    places = (
        (limb, *np.round(contact.pose.translation / 0.02).astype(int)) for limb, contact in stance.contacts.items()
    )
    return (stance.progress, *sorted(places))
