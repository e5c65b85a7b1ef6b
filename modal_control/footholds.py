"""Contacts of a motion as they are met: landings by contact force, and footholds beside those of the motion."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from modal_control.surface_paths import SurfacePaths
from motion_generation.body_shift import HORIZON, STEP, BodyShift
from motion_generation.played_feet import BELOW, CLOSE, DEEPEST, DESCENT, EARLY
from motion_generation.step_correction import DISPLACING, FIXED, kept_apart, returning, step_correction
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

#: Steps that end less than this ahead of the other surfaces are not made longer [m].
SHORT = 0.05
#: Footholds are corrected for so long after a push [s]; time constant of the mean deviation before it [s].
CORRECTING, USUAL = 1.2, 0.5
#: Distance that a corrected step lacks, as feet do not cross, from which on the other foot has to step soon [m].
LACKING = 0.08


class Footholds(Stateful):
    """Which surfaces are in contact, and where they are beside the motion.

    Attributes:
        on: whether each surface is in contact: 1 or 0, (s,).
        early: whether it has landed before the motion plants it: 1 or 0, (s,).
        late: how far a surface that should have landed has been lowered, (s,) [m].
        offsets: displacement of the present or next foothold of each surface from that of the motion, (2,) each [m].
        origins: the same of the last foothold, (2,) each [m].
        lifted_at: time of the motion at which each surface was lifted last, (s,) [s].
        body: the same of the body.
        edited: displacement of the next foothold by longer or shorter steps, (2,) [m].
        corrected: part of the offset of a surface in the air that corrects the balance, (2,) each [m].
        planned: displacement of the body without these corrections.
        usual: mean deviation of ξ = c + ċ / ω before a push, (2,) [m].
        correcting: time for which footholds are still corrected [s].
        lacking: what the correction of the step under way, or of the last one, lacks, as feet do not cross [m].
    """

    @dataclass
    class Checkpoint:
        """Contacts, and displacements."""

        on: Array
        early: Array
        late: Array
        offsets: list[Array]
        origins: list[Array]
        lifted_at: Array
        body: BodyShift.Checkpoint
        edited: Array
        corrected: list[Array]
        planned: BodyShift.Checkpoint
        usual: Array
        correcting: float
        lacking: float

    def __init__(
        self,
        paths: SurfacePaths,
        *,
        by_force: bool,
        touch_force: float,
        omega: float,
        grasps: Collection[int] = (),
    ) -> None:
        """Create it.

        Args:
            paths: of the motion.
            by_force: whether surfaces land when they touch; otherwise when the motion plants them.
            touch_force: normal force from which a surface touches [N].
            omega: natural frequency of the pendulum [1/s].
            grasps: indices of the surfaces that are grasps, whose places are not displaced.
        """
        self._grasps = frozenset(grasps)
        self.body, self.planned, self._directions = BodyShift(omega), BodyShift(omega), dict[tuple[int, float], Array]()
        self._paths, self._by_force, self._touch_force = paths, by_force, touch_force
        self.start()

    def start(self, time: float = 0.0, places: Sequence[Array] | None = None) -> None:
        """Begin with the contacts of the motion at a time [s].

        Args:
            time: of the motion [s].
            places: where the surfaces are, (3,) each [m]; at the places of the motion if left out.
        """
        count = self._paths.count
        self.on = self._paths.planted(time).astype(float)
        self.early, self.late = np.zeros(count), np.zeros(count)
        self.edited, shift = np.zeros(2), np.zeros(2)
        self._directions.clear()
        self.offsets, self.origins, self.corrected = ([np.zeros(2) for _ in range(count)] for _ in range(3))
        self.lifted_at = np.full(count, time)
        if places is not None:
            for i in np.flatnonzero(self.on):
                self.offsets[i] = places[i][:2] - self._paths.at(int(i), time).position[:2]
            shift = np.mean([self.offsets[i] for i in np.flatnonzero(self.on)] or [shift], axis=0)
        for body in (self.body, self.planned):
            body.start(shift)
        self.usual, self.correcting, self.lacking = np.zeros(2), 0.0, 0.0

    @property
    def hurried(self) -> bool:
        """Whether the motion has to pass faster until the next foot is lifted, which can step where this one cannot."""
        return self.lacking > LACKING

    def update(
        self,
        time: float,
        dt: float,
        places: Sequence[Array],
        forces: Sequence[float] | None,
        *,
        stride: float,
        ahead: float,
        speed: float = 1.0,
        reached: Sequence[bool | None] | None = None,
        above: Sequence[float] = (),
    ) -> None:
        """Update with the state of this tick.

        Args:
            time: of the motion [s].
            dt: control period [s].
            places: of the surfaces, (3,) each [m].
            forces: measured normal forces [N]; None where there are none.
            stride: what each step is longer by [m].
            ahead: duration of the window [s].
            speed: of the motion.
            reached: whether each hand is at its handle; None for surfaces that are no grasps.
            above: without measured forces, height of each surface above what it touches [m].
        """
        planted = self._paths.planted(time)
        at_handle = reached if reached is not None else [None] * self._paths.count
        for i, place in enumerate(places):
            if self.on[i]:
                if planted[i]:
                    self.early[i] = 0.0
                elif not self.early[i]:
                    self.on[i], self.lifted_at[i] = 0.0, time
                    self.origins[i], self.lacking = self.offsets[i], 0.0
                    self.edited, self.offsets[i] = self._next(i, time, self.on, self.offsets, self.edited, stride)
                continue
            soon = self._paths.next_change(i, time) - time <= EARLY
            if not planted[i] and not (soon and self._by_force):
                continue
            closed = at_handle[i]
            if not self._by_force or closed is None:
                closed = self._has_landed(i, forces, above, planted=bool(planted[i]))
            if closed:
                self.on[i], self.early[i], self.late[i] = 1.0, float(not planted[i]), 0.0
                at = time if planted[i] else self._paths.next_change(i, time)
                self.offsets[i], self.corrected[i] = place[:2] - self._paths.at(i, at).position[:2], np.zeros(2)
                if i in self._grasps:
                    self.offsets[i] = np.zeros(2)
                self.planned.copy_from(self.body)
            elif planted[i] and at_handle[i] is None:
                self.late[i] = min(self.late[i] + DESCENT * dt, DEEPEST)
        count = max(round(ahead / STEP), 1)
        step = ahead / count
        nominal = [offset - part for offset, part in zip(self.offsets, self.corrected, strict=True)]
        points = self._coming(time, step * speed, self.offsets, stride)
        self.body.update(points, step, dt, count)
        if any(part.any() for part in self.corrected):
            points = self._coming(time, step * speed, nominal, stride)
        self.planned.update(points, step, dt, count)

    def _coming(self, time: float, step: float, offsets: Sequence[Array], stride: float) -> Array:
        """Return the displacement of the zero-moment point from now on by the footholds to come, (n, 2) [m].

        Args:
            time: of the motion [s].
            step: between two samples, of the motion [s].
            offsets: present displacements of the footholds, (2,) each [m].
            stride: what each step is longer by [m].
        """
        times: Array = time + step * np.arange(math.ceil(HORIZON / step), dtype=float)
        places, on, edited = np.tile(np.array(offsets), (len(times), 1, 1)), self.on.copy(), self.edited
        for at, i, planted in self._paths.changes_between(time, float(times[-1])):
            if not planted and on[i]:
                later = times >= at
                edited, places[later, i] = self._next(i, at, on, places[-1], edited, stride)
            on[i] = planted
        return np.asarray((self._paths.shares(times)[..., None] * places).sum(axis=1))

    def _next(
        self, i: int, time: float, on: Array, offsets: Sequence[Array] | Array, edited: Array, stride: float
    ) -> tuple[Array, Array]:
        """Return the edited displacement and that of the next foothold of a surface that is lifted, (2,) each [m]."""
        off = returning(self._stance(i, on, offsets) - edited)
        edited = edited + stride * self._step(i, time)
        return edited, edited + off

    def correct(self, time: float, dt: float, error: Array, *, omega: float, speed: float, pushed: bool) -> None:
        """Displace the footholds of surfaces in the air to where the body will be after a push.

        Args:
            time: of the motion [s].
            dt: control period [s].
            error: of ξ = c + ċ / ω against the motion at its recorded place, (2,) [m].
            omega: natural frequency of the pendulum [1/s].
            speed: of the motion.
            pushed: whether a push is felt.
        """
        if not self.correcting:
            self.lacking = 0.0
        missed = self._caused(error - self.planned.divergent, dt, pushed=pushed)
        stance = [k for k in range(self._paths.count) if self.on[k]]
        for i in range(self._paths.count):
            landing = self._paths.next_change(i, time)
            remaining = (landing - time) / speed
            if self.on[i] or not stance or i in self._grasps or not np.isfinite(landing) or remaining < FIXED:
                continue
            if self._paths.planted(time)[i]:  # it is late
                continue
            one = self._paths.at(i, landing)
            axes = one.rotation[:2, :2] / np.linalg.norm(one.rotation[:2, :2], axis=0)  # along and across
            wanted = step_correction(axes.T @ missed, remaining, omega)
            other = np.mean([self._paths.at(k, landing).position[:2] for k in stance], axis=0)
            nominal = self.offsets[i] - self.corrected[i]
            beside = axes.T @ (nominal - self._stance(i, self.on, self.offsets))
            possible = kept_apart(wanted + beside, float(axes[:, 1] @ (one.position[:2] - other))) - beside
            self.lacking = float(np.linalg.norm(wanted - possible))
            change = axes @ possible - self.corrected[i]
            change *= min(1.0, DISPLACING * dt / max(float(np.linalg.norm(change)), 1e-9))
            self.corrected[i] = self.corrected[i] + change
            self.offsets[i] = nominal + self.corrected[i]

    def _caused(self, deviation: Array, dt: float, *, pushed: bool) -> Array:
        """Return the part of a deviation that a push has caused, (2,) [m]; zero without one.

        Edited motions are followed with a deviation of their own.
        """
        self.correcting = CORRECTING if pushed else max(self.correcting - dt, 0.0)
        if self.correcting <= 0.0:
            self.usual = self.usual + dt / USUAL * (deviation - self.usual)
            return np.zeros(2)
        return np.asarray(deviation - self.usual)

    def _step(self, i: int, time: float) -> Array:
        """Return the direction of the step of a surface that is lifted, unit length; zero if it ends beside others."""
        landing = self._paths.next_change(i, time)
        if not np.isfinite(landing):
            return np.zeros(2)
        if (i, landing) not in self._directions:
            self._directions[i, landing] = self._direction(i, time, landing)
        return self._directions[i, landing]

    def _direction(self, i: int, time: float, landing: float) -> Array:
        place = self._paths.at(i, landing).position[:2]
        way = place - self._paths.at(i, time).position[:2]
        others = [
            self._paths.at(k, landing).position[:2] for k in np.flatnonzero(self._paths.planted(landing)) if k != i
        ]
        direction = way / max(float(np.linalg.norm(way)), 1e-9)
        if not others or direction @ (place - np.mean(others, axis=0)) < SHORT or np.linalg.norm(way) < SHORT:
            return np.zeros(2)
        return np.asarray(direction)

    def _stance(self, without: int, on: Array, offsets: Sequence[Array] | Array) -> Array:
        """Return the mean displacement of the surfaces in contact, except one, (2,) [m]."""
        own = [offset for i, offset in enumerate(offsets) if on[i] and i != without]
        return np.mean(own, axis=0) if own else self.body.place.copy()

    def _has_landed(self, i: int, forces: Sequence[float] | None, above: Sequence[float], *, planted: bool) -> bool:
        if forces is None and i not in self._grasps:
            return above[i] <= (CLOSE if planted else -BELOW)
        return not self._by_force or (forces is not None and forces[i] > self._touch_force)

    def swing(self, i: int, time: float, rate: float) -> tuple[Array, Array]:
        """Return displacement and its velocity of a surface in the air, (3,) [m], [m/s].

        Args:
            i: the surface.
            time: of the motion [s].
            rate: at which it passes.
        """
        landing = self._paths.next_change(i, time) if not self._paths.planted(time)[i] else time
        duration = landing - self.lifted_at[i] if np.isfinite(landing) else np.inf
        share, speed, _ = minimum_jerk(time - self.lifted_at[i], max(duration - FIXED, 0.05))
        way = self.offsets[i] - self.origins[i]
        sinking = -DESCENT if 0.0 < self.late[i] < DEEPEST else 0.0
        place = np.array([*(self.origins[i] + share * way), -self.late[i]])
        return place, np.array([*(rate * speed * way), sinking])

    def schedule(self, times: Array) -> Array:
        """Return which surfaces will be in contact at times of the motion, the first one the present, (n, s)."""
        found = np.array([self._paths.planted(time) for time in times])
        found[0] = self.on > 0.5
        for i in range(self._paths.count):
            if self.early[i]:  # stays until the motion lifts it after its planting
                found[: int(np.argmax(found[1:, i])) + 1, i] = True
        return found
