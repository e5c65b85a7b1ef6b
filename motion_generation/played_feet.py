"""Feet of a played motion: landings by contact force, and footholds that stop a deviation of the body.

On two point feet, as in a trot, nothing stops a body that tips about the line between them but the next foothold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from motion_generation.body_shift import HORIZON, STEP, BodyShift
from motion_generation.step_correction import DISPLACING, FIXED, NARROWEST, returning, step_correction
from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

#: A surface may land this long before the motion plants it [s].
EARLY = 0.12
#: Speed at which a surface that should have landed descends [m/s], and how far [m].
DESCENT, DEEPEST = 0.25, 0.05
#: Part of the weight that is borne by a foot that touches: one that is lowered presses with 2 to 5 %.
TOUCH = 0.015
#: Without measured forces, a foot lands by this above the surface, or before its time from this below it on, by which
#: quick feet are off their paths [m].
CLOSE, BELOW = 0.001, 0.003
#: Footholds are displaced from so long before the landing on [s]: over longer times, noise of the state would be
#: amplified.
AHEAD = 0.5
#: Natural frequency with which a foot in the air goes to its displaced foothold, critically damped [1/s]: legs can have
#: half of the mass, and quick ones push the body aside.
GOING = 12.0
#: Part of the half extents of the support within which the zero-moment point may move, for feedback.
ROOM = 0.6


@dataclass(frozen=True)
class FeetPlan:
    """Feet of a motion.

    Attributes:
        knots: from which on each row holds, (k,) [s].
        touched: whether each foot is in contact, (k, n).
        places: where the feet are at the knots, (k, n, 3) [m].
        normals: of the face that each foot touches or lands on next, outwards, (k, n, 3).
        shares: part of each foot in the vertical force of all from each knot on, (k, n).
    """

    knots: Array
    touched: NDArray[np.bool_]
    places: Array
    normals: Array
    shares: Array

    def at(self, time: float) -> int:
        """Return the row of a time [s]."""
        return int(np.clip(np.searchsorted(self.knots, time + 1e-9, side="right") - 1, 0, len(self.knots) - 1))

    def landing(self, i: int, time: float) -> int | None:
        """Return the row at which a foot in the air lands, None if it does not."""
        k = self.at(time)
        later = np.flatnonzero(self.touched[k:, i])
        return k + int(later[0]) if len(later) else None

    def landed(self, i: int, time: float) -> int:
        """Return the row at which a foot in contact has landed."""
        k = self.at(time)
        before = np.flatnonzero(~self.touched[: k + 1, i])
        return int(before[-1]) + 1 if len(before) else 0

    def possible(self) -> list[tuple[int, frozenset[int]]]:
        """Return for each row, and each set of feet that may be in contact then, by early and late landings, both."""
        found: dict[tuple[int, frozenset[int]], None] = {}
        for k, row in enumerate(self.touched):
            soon = (self.knots >= self.knots[k]) & (self.knots <= self.knots[k] + EARLY)
            before = (self.knots <= self.knots[k]) & (self.knots >= self.knots[k] - EARLY)
            open_ = (~row & self.touched[soon].any(axis=0)) | (row & ~self.touched[before].all(axis=0))
            firm, free = np.flatnonzero(row & ~open_).tolist(), np.flatnonzero(open_).tolist()
            for count in range(len(free) + 1):
                for chosen in combinations(free, count):
                    found[k, frozenset([*firm, *chosen])] = None
        return list(found)


class PlayedFeet(Stateful):
    """Which feet are in contact, and where they and the body are beside the motion.

    Attributes:
        on: whether each foot is in contact: 1 or 0, (n,).
        late: how far a foot that should have landed has been lowered, (n,) [m].
        offsets: displacement of the present or next foothold of each foot from that of the motion, (n, 2) [m].
        beside: present displacement of a foot in the air, (n, 2) [m].
        drift: its velocity, (n, 2) [m/s].
        corrected: part of the offset of a foot in the air that corrects the balance, (n, 2) [m].
        body: displacement of the centre of mass.
        planned: the same without the corrections.
    """

    @dataclass
    class Checkpoint:
        """Contacts, and displacements."""

        on: Annotated[Array, "feet"]
        late: Annotated[Array, "feet"]
        offsets: Annotated[Array, "feet", 2]
        beside: Annotated[Array, "feet", 2]
        drift: Annotated[Array, "feet", 2]
        corrected: Annotated[Array, "feet", 2]
        body: BodyShift.Checkpoint
        planned: BodyShift.Checkpoint

    def __init__(self, plan: FeetPlan, omega: float, weight: float) -> None:
        """Create them; `omega`: natural frequency of the pendulum [1/s]; `weight`: of the character [N]."""
        self.body, self.planned, self._weight = BodyShift(omega), BodyShift(omega), weight
        self.play(plan)
        self.start()

    def play(self, plan: FeetPlan) -> None:
        """Go on with another motion."""
        self._plan = plan

    def start(self) -> None:
        """Begin with the contacts of the motion."""
        count = self._plan.touched.shape[1]
        self.on, self.late = self._plan.touched[0].astype(float), np.zeros(count)
        self.offsets, self.beside, self.drift, self.corrected = (np.zeros((count, 2)) for _ in range(4))
        for body in (self.body, self.planned):
            body.start(np.zeros(2))

    def update(self, time: float, dt: float, places: Array, forces: Sequence[float] | None) -> None:
        """Update contacts and displacements.

        Args:
            time: of the motion [s].
            dt: control period [s].
            places: of the feet, (n, 3) [m].
            forces: measured normal forces [N]; None where there are none: feet land by their height.
        """
        plan, k = self._plan, self._plan.at(time)
        for i in range(len(self.on)):
            row = plan.landing(i, time)
            soon = row is not None and plan.knots[row] - time <= EARLY
            if self.on[i] and not plan.touched[k, i] and not soon:
                self.on[i], self.beside[i], self.drift[i] = 0.0, self.offsets[i], 0.0
                self.offsets[i] = returning(self._stance(i))
            elif not self.on[i] and (plan.touched[k, i] or soon):
                at = plan.landed(i, time) if plan.touched[k, i] else row
                normal, landing = plan.normals[at, i], plan.places[at, i]
                above = normal @ (places[i] - landing)
                if forces is not None:
                    touches = forces[i] > TOUCH * self._weight
                elif plan.touched[k, i]:
                    touches = above <= CLOSE
                else:  # a hand that comes over an edge from below has not landed
                    touches = above <= -BELOW < normal @ (plan.places[k, i] - landing)
                if touches:
                    self.on[i], self.late[i], self.corrected[i] = 1.0, 0.0, 0.0
                    self.offsets[i] = (places[i] - landing)[:2]
                    self.planned.copy_from(self.body)
                elif plan.touched[k, i]:
                    self.late[i] = min(self.late[i] + DESCENT * dt, DEEPEST)
            else:  # it did not land in its time
                self.late[i] = max(self.late[i] - DESCENT * dt, 0.0)
        self.drift += dt * self._pull
        self.beside += dt * self.drift
        self.body.update(self._coming(time, self.offsets), STEP, dt, 1)
        nominal = self.offsets - self.corrected
        self.planned.update(self._coming(time, nominal), STEP, dt, 1)

    def correct(self, time: float, dt: float, error: Array, places: Array, support: Array) -> None:
        """Displace the footholds of feet in the air to where the body will be.

        Args:
            time: of the motion [s].
            dt: control period [s].
            error: of ξ = c + ċ / ω against the motion, (2,) [m].
            places: of the feet, (n, 3) [m].
            support: points of the feet in contact, (p, 2) [m].
        """
        if not len(support):
            return
        missed, omega = error - self.planned.divergent, self.body.omega
        axes = np.linalg.svd(support - support.mean(axis=0))[2].T
        room = ROOM * np.ptp(support @ axes, axis=0) / 2.0
        for i in np.flatnonzero(self.on == 0.0):
            row = self._plan.landing(int(i), time)
            remaining = self._plan.knots[row] - time if row is not None else 0.0
            if row is None or not FIXED <= remaining <= AHEAD:
                continue
            nominal = self.offsets[i] - self.corrected[i]
            way = axes @ step_correction(axes.T @ missed, float(remaining), omega, room)
            goal = self._plan.places[row, i, :2]
            for place in places[self.on > 0.0]:
                way = _kept_beside(nominal + way, goal - place[:2]) - nominal
            change = way - self.corrected[i]
            change *= min(1.0, DISPLACING * dt / max(float(np.linalg.norm(change)), 1e-9))
            self.corrected[i] += change
            self.offsets[i] = nominal + self.corrected[i]

    @property
    def _pull(self) -> Array:
        """Acceleration of the feet in the air to their displaced footholds, (n, 2) [m/s²]."""
        return GOING**2 * (self.offsets - self.beside) - 2.0 * GOING * self.drift

    def swing(self, i: int, time: float) -> tuple[Array, Array, Array]:
        """Return displacement of a foot in the air, its velocity and acceleration, (3,) each [m], [m/s], [m/s²]."""
        normal, due = self.normal(i, time), self._plan.touched[self._plan.at(time), i]
        moves = self.late[i] > 0.0 and not (due and self.late[i] == DEEPEST)
        descent = (DESCENT if due else -DESCENT) * moves
        along = np.zeros((3, 3))
        along[:, :2] = self.beside[i], self.drift[i], self._pull[i]
        along -= np.outer(along @ normal, normal)
        return along[0] - self.late[i] * normal, along[1] - descent * normal, along[2]

    def normal(self, i: int, time: float) -> Array:
        """Return the normal of the face that a foot touches, has missed, or lands on next, (3,)."""
        plan, k = self._plan, self._plan.at(time)
        before = np.flatnonzero(plan.touched[: k + 1, i])
        if self.late[i] > 0.0 and len(before):  # it returns along the normal against which it was lowered
            k = int(before[-1])
        return np.asarray(plan.normals[k, i])

    def _stance(self, without: int) -> Array:
        """Return the mean displacement of the feet in contact, except one, (2,) [m]."""
        own = [offset for k, offset in enumerate(self.offsets) if self.on[k] and k != without]
        return np.mean(own, axis=0) if own else self.body.place.copy()

    def _coming(self, time: float, offsets: Array) -> Array:
        """Return the displacement of the zero-moment point from now on by the footholds to come, (n, 2) [m]."""
        plan = self._plan
        times: Array = time + STEP * np.arange(math.ceil(HORIZON / STEP), dtype=float)
        rows = np.clip(np.searchsorted(plan.knots, times + 1e-9, side="right") - 1, 0, len(plan.knots) - 1)
        places, on = np.tile(offsets, (len(times), 1, 1)), self.on > 0.0
        touched = plan.touched[rows]
        for k in np.flatnonzero((touched[1:] != touched[:-1]).any(axis=1)) + 1:
            for i in np.flatnonzero(on & ~touched[k]):
                beside = on.copy()
                beside[i] = False
                if beside.any():
                    places[k:, i] = returning(places[k, beside].mean(axis=0))
            on = touched[k]
        return np.asarray((plan.shares[rows][..., None] * places).sum(axis=1))


def _kept_beside(way: Array, apart: Array) -> Array:
    """Return a displacement of a foothold that brings it no nearer to another foot than `NARROWEST`, (2,) [m].

    Args:
        way: displacement, (2,) [m].
        apart: from the other foot to the planned place, (2,) [m].
    """
    distance = max(float(np.linalg.norm(apart)), 1e-9)
    direction = apart / distance
    least = min(distance, NARROWEST) - distance
    return np.asarray(way + max(least - float(way @ direction), 0.0) * direction)
