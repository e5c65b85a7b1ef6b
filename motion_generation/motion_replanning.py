"""Motion generator that plays a synthesised motion, and makes it again at the ends of its phases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from contact_invariant.character import behaviour_of
from contact_invariant.motion import Motion
from contact_invariant.window import joined, online_of
from motion_generation.motion_playback import MotionPlayback
from motion_generation.played_feet import PlayedFeet
from multi_qp_controller.motion_generator import GeneratorInput, GeneratorOutput
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.generators import MotionReplanningSpec

if TYPE_CHECKING:  # CasADi is an optional dependency
    from contact_invariant.replanning import Replanner

#: Distance from the target up to which a motion ends there [m].
ARRIVED = 0.03
#: By how much the end of a window is nearer to the target than that of the last one, or it is a failure [m].
NEARER = 0.01
#: Number of failures in a row after which a target is given up.
FAILURES = 6


@dataclass(frozen=True)
class Replan:
    """One synthesis of a window.

    Attributes:
        time: at which it was made [s].
        target: x and y [m].
        seconds: computing time [s].
        optimiser: that of the optimiser alone [s].
        iterations: of the optimiser.
        refused: figures of its audit that were not met; empty if it is played.
    """

    time: float
    target: tuple[float, float]
    seconds: float
    optimiser: float
    iterations: int
    refused: str


@dataclass(frozen=True)
class WindowState:
    """The arrays of a `Motion`, for checkpoints."""

    x: Annotated[Array, None, "features"]
    rates: Annotated[Array, None, "features"]
    c: Annotated[Array, None, "effectors"]
    forces: Annotated[Array, "samples", "effectors", 6]
    angles: Annotated[Array, "samples", None]


class MotionReplanning(MotionPlayback):
    """Plays a motion, and at the end of each phase that of the next window, until one ends at the target.

    A window begins in the state that the last motion has at this time, so that references are continuous. Its
    synthesis blocks `update`. One that does not pass its audit is not played: the last one is, which ends at rest.

    Attributes:
        begun: time at which the first motion began [s].
        considered: number of phases of the present motion after which a window was considered.
        goal: target of the last window, (2,) [m].
        distance: least distance of the end of a motion from it [m].
        failures: number of windows for it that were refused or brought the end no nearer, in a row.
        start_angles: joint angles at its start, (k,) [rad].
        start_velocities: their velocities, (k,) [rad/s].
        window: the present motion; None for the one of the file.
        replans: all syntheses since the start, or since a checkpoint was restored.
    """

    @dataclass
    class Checkpoint:
        """Times, and the present motion."""

        started_at: float
        feet: PlayedFeet.Checkpoint
        begun: float
        considered: int
        goal: Annotated[Array, 2]
        distance: float
        failures: int
        start_angles: Annotated[Array, "joints"]
        start_velocities: Annotated[Array, "joints"]
        window: WindowState | None

    def __init__(self, name: str, spec: MotionReplanningSpec, scenario: Scenario) -> None:
        """Read the first motion.

        Raises:
            MultiQpError: when the file is no motion of this character, or a contact of it has no name.
        """
        super().__init__(name, spec, scenario)
        self._behaviour, self._first = behaviour_of(scenario), self.plan
        self._online = online_of(self._behaviour)
        self.begun, self.considered = 0.0, 0
        self.window: WindowState | None = None
        self.start_angles, self.start_velocities = self._angles(0.0), self._angles(0.0, 1)
        self.goal, self.failures = np.array(spec.target), 0
        self.distance = float(np.linalg.norm(self.plan.x[-1, :2] - self.goal))
        self.replans: list[Replan] = []
        self._played: list[tuple[Motion, int]] = []

    def _tracked_limbs(self) -> list[int]:
        """Return all limbs: the contacts of later windows are not known yet."""
        return list(range(self._limbs))

    def start(self, now: GeneratorInput) -> None:
        """Start the first motion."""
        super().start(now)
        self.begun = now.time

    def set_state(self, saved: Any) -> None:
        """Restore a state."""
        super().set_state(saved)
        self.replans, self._played = [], []
        plan = self._first if self.window is None else self.replanner.plan(self.motion)
        self._play(plan, (self.start_angles, self.start_velocities))

    def target(self, time: float) -> Array:
        """Return the target at a time [s], (2,) [m]."""
        moves = [move.by for move in self._online.moves if time - self.begun >= move.time - 1e-9]
        start = np.array([self.setting("target_x"), self.setting("target_y")])
        return np.asarray(start + np.sum(moves, axis=0)) if moves else start

    @property
    def motion(self) -> Motion:
        """The present motion."""
        if self.window is None:
            return self.replanner.motion_of(self._first)
        return replace(self.replanner.empty, **vars(self.window))

    @property
    def played(self) -> Motion:
        """What was played of all motions and what is left of the present one, without the rests at their ends."""
        return joined([*self._played, (self.motion, self._behaviour.phases)])

    @cached_property
    def replanner(self) -> Replanner:
        """Synthesis of windows; the first use takes a second."""
        from contact_invariant.replanning import Replanner  # imports CasADi, and builds the cost

        return Replanner(self.scenario)

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return contacts and references, at the end of a phase those of a new window."""
        phases = int((now.time - self.started_at + 1e-9) // self._behaviour.phase_duration)
        if phases > self.considered:
            self.considered = phases
            target = self.target(now.time)
            if not np.array_equal(target, self.goal):
                self.goal, self.distance, self.failures = target, float("inf"), 0
            if not self._settled:
                self._replan(now.time, phases)
        output = super().update(now)
        moves = any(move.time > now.time - self.begun for move in self._online.moves)
        same = np.array_equal(self.target(now.time), self.goal)
        return replace(output, done=output.done and self._settled and same and not moves)

    @property
    def _settled(self) -> bool:
        """Whether the present motion ends at the target, or the target is given up."""
        return self.distance <= ARRIVED or self.failures >= FAILURES

    def _replan(self, time: float, phases: int) -> None:
        """Make the motion of the window that begins after some phases of the present motion."""
        motion = self.motion
        found = self.replanner.next(motion, phases, self.goal, attempt=self.failures)
        x, y = self.goal.tolist()
        self.replans.append(Replan(time, (x, y), found.seconds, found.optimiser, found.iterations, found.refused))
        nearer = found.plan is not None and found.distance < self.distance - NEARER
        self.failures = 0 if nearer else self.failures + 1
        if found.plan is None:
            return
        elapsed = min(phases * self._behaviour.phase_duration, float(self.plan.knots[-1]))
        self.start_angles, self.start_velocities = self._angles(elapsed), self._angles(elapsed, 1)
        self._played.append((motion, min(phases, self._behaviour.phases)))
        self.started_at += phases * self._behaviour.phase_duration
        self.considered, self.distance = 0, found.distance
        new = found.motion
        self.window = WindowState(new.x, new.rates, new.c, new.forces, new.angles)
        self._play(found.plan, (self.start_angles, self.start_velocities))
