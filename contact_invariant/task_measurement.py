"""Task terms of a behaviour, measured in postures that were carried out."""

from __future__ import annotations

import numpy as np

from contact_invariant.character import behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.surroundings import surroundings_of_behaviour
from contact_invariant.task_terms import TaskTerms
from contact_invariant.whole_body import com_shifts, features_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario


def measured_terms(scenario: Scenario, postures: Array) -> list[tuple[str, str, float]]:
    """Return name, unit and value of each distance [m] and angle [rad] of the task terms of a `behaviour`.

    Args:
        scenario: with a behaviour.
        postures: configuration of the scene at the end of each phase, (phases, nq).

    Raises:
        MultiQpError: CasADi is missing.
    """
    scene, character = scenario.scene, character_of(scenario)
    terms = TaskTerms(behaviour_of(scenario), character, surroundings_of_behaviour(scenario, character))
    still, found = np.zeros(character.features), []
    for q, x in zip(postures, features_of(scene, character, postures), strict=True):
        found.append((x, still, com_shifts(scene, character, q, x)))
    return [feature for feature in terms.values(found) if feature[1] in ("m", "rad")]
