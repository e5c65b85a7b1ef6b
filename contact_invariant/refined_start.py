"""Refinement of a start of a synthesis, with its audit and its plan."""

from __future__ import annotations

from dataclasses import dataclass

from contact_invariant.audit import Bounds
from contact_invariant.character import behaviour_of
from contact_invariant.motion import Motion
from contact_invariant.refined_audit import RefinedAudit, RefinedAuditor
from contact_invariant.refined_plan import refined_plan
from contact_invariant.refinement import Refinement, Refiner
from contact_invariant.synthesis import Progress, Synthesiser
from contact_invariant.timed_plan import TimedPlan
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
        self._refiner = Refiner(scenario, maker.character, surroundings)
        friction = self._behaviour.friction
        self._auditor = RefinedAuditor(
            scenario.scene, maker.character, surroundings, friction=friction, bounds=Bounds()
        )

    def refine(self, motion: Motion, simplified: TimedPlan, progress: Progress | None) -> RefinedStart:
        """Return the refinement of a motion, which `simplified` is the plan of."""
        found = self._refiner.refine(
            motion,
            simplified.touched[:-1],
            set(self._terms.phases),
            time_limit=self._behaviour.time_limit,
            progress=progress,
        )
        before, after = (
            self._auditor.audit_refined(one, motion.knots, self._terms.values) for one in (found.before, found.motion)
        )
        plan = refined_plan(self._scene, self._character, found.motion, after, simplified)
        return RefinedStart(found, before, after, plan)
