"""Synthesis of the next window of a motion, from the present state and the last motion as a guess."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from contact_invariant.audit import STEP, Auditor, Bounds
from contact_invariant.character import behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.least_squares import levenberg_marquardt
from contact_invariant.motion import Motion
from contact_invariant.postures import Postures, postures_of
from contact_invariant.synthesis import LOGIT, NOISE, STAGES, Synthesiser, adapted
from contact_invariant.task_terms import TaskTerms
from contact_invariant.timed_plan import TimedPlan, timed_plan
from contact_invariant.window import first_window, joined, motion_of, shifted, window_behaviour
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario

#: Stages of a window by name, those of a synthesis: with the last one alone no new steps are found.
WINDOW_STAGES = ("physics", "refinement")
#: Relative decrease of the cost below which a stage of a window ends.
TOLERANCE = 1e-3
#: Bound of task features at the end of a window, which the next window moves on [m].
LOOSE = 0.1


@dataclass(frozen=True)
class Window:
    """The motion of a window.

    Attributes:
        motion: from the present state on.
        plan: what a controller plays; None if it is not to be played.
        refused: why, empty if it is.
        distance: of its end from the target, or that of another task feature if it is larger [m].
        iterations: of all stages.
        seconds: computing time of optimiser, audit and postures [s].
        optimiser: that of the optimiser alone [s].
    """

    motion: Motion
    plan: TimedPlan | None
    refused: str
    distance: float
    iterations: int
    seconds: float
    optimiser: float


class Replanner(Synthesiser):
    """Contact-invariant optimisation over a moving window, started at the last motion."""

    def __init__(self, scenario: Scenario) -> None:
        """Build the cost.

        Args:
            scenario: with a behaviour that has `online`.

        Raises:
            MultiQpError: there is none, or the scene does not fit it.
        """
        super().__init__(first_window(scenario, character_of(scenario)))
        # contacts of the first phase are as before: a foot that was to land at its start does not lift off again
        if not self._behaviour.held_start:  # which has fixed them
            self.problem.fixed += len(self.character.effectors)
        self.surroundings = self.problem.surroundings
        self.auditor = Auditor(
            scenario.scene,
            self.character,
            self.surroundings,
            friction=self._behaviour.friction,
            bounds=Bounds(distance=LOOSE),
        )
        self._terms = behaviour_of(scenario)

    def next(self, motion: Motion, phases: int, target: Array, *, attempt: int = 0) -> Window:
        """Return the motion of the window that begins in the state that a motion has after some phases.

        Args:
            motion: the present motion, the guess of what comes.
            phases: after which the window begins.
            target: (2,) [m].
            attempt: number of failures before; the guess has noise after one, with this as seed.
        """
        begin, problem, guess = time.process_time(), self.problem, shifted(motion, phases)
        behaviour = window_behaviour(self._terms, guess.x[0, :2], target)
        problem.terms = TaskTerms(behaviour, self.character, self.surroundings)
        z, iterations = self._point(guess), 0
        if attempt:
            z[problem.fixed :] += NOISE * np.random.default_rng(attempt).normal(size=len(z) - problem.fixed)
        with threadpool_limits(1):  # matrices are small
            for stage in STAGES:
                if stage.name not in WINDOW_STAGES:
                    continue
                problem.weights.update(adapted(stage.weights, behaviour))
                logits = problem.logits(z)[1:]
                logits[:] = np.clip(logits, -LOGIT, LOGIT)
                fit = levenberg_marquardt(problem, z, iterations=stage.iterations, tolerance=TOLERANCE)
                z, iterations = fit.z, iterations + len(fit.costs) - 1
        optimiser = time.process_time() - begin
        found = self._motion(z)
        done = min(phases, len(motion.c))  # swings and contacts may begin before the window
        features = self._features(found)
        audit = self.auditor.audit(joined([(motion, done), (found, len(found.c))]), features)
        plan, refused = None, ", ".join(finding.name for finding in audit.findings if not finding.met)
        if audit.passed:
            plan = self._plan(found, audit.postures.after(float(motion.knots[done])))
        return Window(
            motion=found,
            plan=plan,
            refused=refused,
            distance=max(float(np.linalg.norm(found.x[-1, :2] - target)), _largest(features)),
            iterations=iterations,
            seconds=time.process_time() - begin,
            optimiser=optimiser,
        )

    def _point(self, motion: Motion) -> Array:
        """Return a motion as a point of the problem."""
        problem, z = self.problem, np.zeros(self.problem.size)
        x, rates = problem.knot_values(z)
        n, pieces = x.shape[1], motion.pieces
        z[: 2 * n] = np.concatenate([motion.x[0], motion.rates[0]])
        blocks = z[2 * n : problem.knots].reshape(len(motion.c), -1)
        both = np.stack([motion.x[1:], motion.rates[1:]], axis=1).reshape(len(motion.c), 2 * n * pieces)
        c = np.clip(motion.c, 1e-6, 1.0 - 1e-6)
        blocks[:, : motion.c.shape[1]] = np.log(c / (1.0 - c))
        blocks[:, motion.c.shape[1] :] = both
        local = z[problem.knots :].reshape(len(motion.times), -1)
        local[:] = np.hstack([motion.forces.reshape(len(local), -1), motion.angles])
        return z

    def _features(self, window: Motion) -> list[tuple[str, str, float]]:
        """Return the task features but those of the place: a window need not reach it."""
        last = slice(window.pieces, None, window.pieces)
        found = self.problem.terms.values(list(zip(window.x[last], window.rates[last], strict=True)))
        return [feature for feature in found if not feature[0].startswith("position")]

    def plan(self, motion: Motion) -> TimedPlan:
        """Return what a controller plays of a motion that has passed its audit."""
        count = round(motion.duration / STEP)
        times = np.minimum((np.arange(count) + 0.5) * STEP, motion.duration - 1e-9)
        return self._plan(motion, postures_of(self._scenario.scene, self.character, motion, times))

    def _plan(self, motion: Motion, postures: Postures) -> TimedPlan:
        return timed_plan(self._scenario.scene, self.character, self.surroundings, motion, postures)

    @property
    def empty(self) -> Motion:
        """A motion of the size of a window."""
        return self._motion(np.zeros(self.problem.size))

    def motion_of(self, plan: TimedPlan) -> Motion:
        """Return the motion of a plan that was read from a file."""
        first = self._scenario.scene.subsystems[self.character.name].q_slice.start
        times = self.problem.times(np.zeros(self.problem.size))
        return motion_of(plan, self.character, first, times, self._behaviour.phases)


def _largest(features: list[tuple[str, str, float]]) -> float:
    """Return the largest distance among task features [m]."""
    return max((abs(value) for _, unit, value in features if unit == "m"), default=0.0)
