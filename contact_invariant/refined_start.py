"""Refinement of a start of a synthesis, with its audit and its plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.audit import Bounds
from contact_invariant.carried import carried_at, motion_without_prop, without_prop
from contact_invariant.character import behaviour_of, character_of
from contact_invariant.motion import Motion, rotations
from contact_invariant.refined_audit import RefinedAudit, RefinedAuditor
from contact_invariant.refined_plan import refined_plan
from contact_invariant.refinement import Refinement, Refiner
from contact_invariant.synthesis import Progress, Synthesiser
from contact_invariant.timed_plan import TimedPlan
from contact_invariant.whole_body import WholeBodyMotion
from multi_qp_scene.scenario import Scenario


@dataclass(frozen=True)
class RefinedStart:
    """A refined motion.

    Attributes:
        refinement: motion, costs, times.
        before: audit of the simplified motion by the same measures.
        audit: audit of the refined motion.
        plan: what a controller plays.
    """

    refinement: Refinement
    before: RefinedAudit
    audit: RefinedAudit
    plan: TimedPlan


class Refining:
    """Refinement of all starts of a scenario's behaviour."""

    def __init__(self, scenario: Scenario, maker: Synthesiser) -> None:
        """Prepare.

        Raises:
            MultiQpError: crocoddyl is missing, or the scene does not fit.
        """
        self._scene, self._character, self._behaviour = scenario.scene, maker.character, behaviour_of(scenario)
        self._terms, surroundings = maker.problem.terms, maker.problem.surroundings
        self._surroundings = surroundings
        alone = without_prop(scenario)
        self._alone = maker.character if alone is scenario else character_of(alone)
        self._refiner = Refiner(alone, self._alone, replace(surroundings, prop=None))
        friction = self._behaviour.friction
        self._auditor = RefinedAuditor(
            scenario.scene, maker.character, surroundings, friction=friction, bounds=Bounds()
        )

    def refine(self, motion: Motion, simplified: TimedPlan, progress: Progress | None) -> RefinedStart:
        """Return the refinement of a motion, which `simplified` is the plan of."""
        touched = simplified.touched[:-1]
        found = self._solved(motion, touched, progress, None)
        before, after = (self._audited(motion, one) for one in (found.before, found.motion))
        if not after.passed:  # with firm barriers from the start it needs more iterations, or diverges
            firm = self._solved(motion, touched, progress, found)
            again = self._audited(motion, firm.motion)
            iterations, seconds = found.iterations + firm.iterations, found.seconds + firm.seconds
            if again.missed <= after.missed:
                found, after = firm, again
            found = replace(found, iterations=iterations, seconds=seconds)
        plan = refined_plan(self._scene, self._character, self._surroundings, found.motion, after, simplified)
        return RefinedStart(found, before, after, plan)

    def _audited(self, motion: Motion, refined: WholeBodyMotion) -> RefinedAudit:
        return self._auditor.audit_refined(refined, motion.knots, self._terms.values)

    def _solved(
        self, motion: Motion, touched: NDArray[np.str_], progress: Progress | None, last: Refinement | None
    ) -> Refinement:
        """Return the refinement, with the path of the object; it continues `last` with firmer barriers if given."""
        character = self._character
        kept = [not effector.of_prop for effector in character.effectors]
        on_prop = [effector.on_prop for effector in character.effectors]
        mass = 0.0 if character.prop is None else character.prop.mass * character.mass
        found = self._refiner.refine(
            motion if character.prop is None else motion_without_prop(motion, character),
            np.where(on_prop, "", touched)[:, kept],
            set(self._terms.phases),
            carried=partial(carried_at, motion, character, touched, mass=mass),
            time_limit=self._behaviour.time_limit,
            progress=progress,
            before=last,
        )
        return replace(
            found,
            before=self._with_prop(found.before, motion, touched),
            motion=self._with_prop(found.motion, motion, touched),
        )

    def _with_prop(self, alone: WholeBodyMotion, motion: Motion, touched: NDArray[np.str_]) -> WholeBodyMotion:
        """Return a motion of the character alone with the path of the object, and with its contacts."""
        character, times = self._character, alone.times
        prop = character.prop
        if prop is None:
            return alone
        scene = self._scene
        q = np.tile(scene.q0, (len(times), 1))
        q[:, scene.subsystems[character.name].q_slice] = alone.q
        x = motion.features(np.minimum(times, motion.duration - 1e-9))[0][:, character.prop_features]
        R = rotations(x[:, 3:])
        part = scene.subsystems[prop.name].q_slice
        q[:, part] = np.hstack([x[:, :3] - R @ prop.com, [pin.Quaternion(one).coeffs() for one in R]])
        pieces = np.searchsorted(motion.spline_knots, 0.5 * (times[1:] + times[:-1])) - 1
        touches = touched[pieces].copy()
        kept = [i for i, e in enumerate(character.effectors) if not (e.of_prop or e.on_prop)]
        touches[:, kept] = alone.touched[:, kept]
        return WholeBodyMotion(times, q, touches, prop=True)
