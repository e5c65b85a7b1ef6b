"""States of a scenario that has a contact sequence, turns, a behaviour or a goal instead of states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from multi_qp_scene.scenario import Scenario
from multi_qp_scene.yaml_document import located_in


@dataclass(frozen=True)
class GeneratedStates:
    """A scenario with states.

    Attributes:
        scenario: contains the states.
        failure: why what they carry out is not what the scenario asks for, such as a plan that ends early; else empty.
        notes: what a user may want to know, in plain English.
    """

    scenario: Scenario
    failure: str = ""
    notes: tuple[str, ...] = ()


def generate_states(
    scenario: Scenario, *, progress: Callable[[str, int, float], None] | None = None
) -> GeneratedStates:
    """Plan what a scenario without states asks for, and write the states that carry it out; others are returned as is.

    Args:
        scenario: any.
        progress: called with stage, iteration and cost of the synthesis of a `behaviour`.

    Raises:
        MultiQpError: what the scenario asks for does not match its scene.
    """
    spec = scenario.spec  # imports of compiled kernels, OMPL and CasADi are slow
    if spec.contact_sequence is not None:
        from motion_generation.sequences import follow_sequence

        followed = follow_sequence(scenario)
        return GeneratedStates(followed.scenario, notes=(*followed.trajectory.notes, *followed.repairs))
    if spec.turns is not None:
        from motion_generation.turns import plan_turns

        turns = plan_turns(scenario)
        failure = "" if turns.sequence.complete else f"the turns end early: {turns.sequence.reason}"
        return GeneratedStates(turns.scenario, failure)
    if spec.behaviour is not None:
        from motion_generation.synthesised_states import synthesise_scenario

        with located_in(scenario.path):
            made = synthesise_scenario(scenario, progress=progress)
        failure = "" if made.passed else f"the motion does not pass its audit: {made.missed}"
        notes = () if made.computed else ("the motion of an earlier synthesis is used",)
        return GeneratedStates(made.scenario, failure, notes)
    if spec.plan is not None:
        from motion_generation.planning import plan_scenario

        planned = plan_scenario(scenario)
        plan = planned.plan
        failure = "" if plan.complete else f"the plan does not reach the goal: {plan.reason}"
        note = f"planned {plan.moves} contacts in {sum(plan.seconds.values()):.2f} s"
        return GeneratedStates(planned.scenario, failure, (note,))
    return GeneratedStates(scenario)
