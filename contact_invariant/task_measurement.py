"""Task terms of a behaviour, measured in states that were carried out."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_invariant.character import behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.surroundings import surroundings_of_behaviour
from contact_invariant.task_terms import TaskTerms
from contact_invariant.whole_body import com_shifts, features_of
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: Duration of motion at constant velocity over which rates of features are differences [s].
STEP = 1e-4


def measured_terms(scenario: Scenario, states: list[State]) -> list[tuple[str, str, float]]:
    """Return name, unit and value of each entry of the task terms of a `behaviour`, see `TaskTerms.values`.

    Args:
        scenario: with a behaviour.
        states: of the scene at the end of each phase, (phases,).

    Raises:
        MultiQpError: CasADi is missing.
    """
    scene, character = scenario.scene, character_of(scenario)
    terms = TaskTerms(behaviour_of(scenario), character, surroundings_of_behaviour(scenario, character))
    found = []
    for state in states:
        around = [pin.integrate(scene.model, state.q, t * state.v) for t in (0.0, -STEP, STEP)]
        x, *ends = features_of(scene, character, np.array(around))
        found.append((x, (ends[1] - ends[0]) / (2.0 * STEP), com_shifts(scene, character, state.q, x)))
    return terms.values(found)
