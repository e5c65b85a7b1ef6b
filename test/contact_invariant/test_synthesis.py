"""Synthesis of behaviours from task terms alone."""

import numpy as np
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.synthesis import STAGES, Synthesiser
from multi_qp_scene.scenario import load_scenario

SCENARIO = """
description: a humanoid reaches a place
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: {ground: {model: ground}}
behaviour:
  character: humanoid
  posture: half_sitting
  effectors:
    left_foot: {surface: left_sole}
    right_foot: {surface: right_sole}
    left_hand: {surface: left_palm, effort: 4}
    right_hand: {surface: right_palm, effort: 4}
    seat: {surface: seat}
  phases: PHASES
  terms: [{type: stand, feet: [left_foot, right_foot]}, TERMS]
"""


def synthesiser(folder, phases, terms=""):
    path = folder / "behaviour.yaml"
    path.write_text(SCENARIO.replace("PHASES", str(phases)).replace("TERMS", terms))
    scenario = load_scenario(str(path))
    found = Synthesiser(scenario)
    surroundings = found.problem.surroundings
    return found, Auditor(scenario.scene, found.character, surroundings, friction=0.7, bounds=Bounds())


@pytest.mark.slow
def test_standing_still_satisfies_stand(tmp_path):
    maker, auditor = synthesiser(tmp_path, 2)
    seen = []
    synthesis = maker.run(progress=lambda stage, number, cost: seen.append(stage))
    assert synthesis.complete and list(dict.fromkeys(seen)) == [stage.name for stage in STAGES]
    audit = auditor.audit(synthesis.motion, synthesis.features)
    assert audit.passed, audit.findings
    assert synthesis.motion.contacts[:, :2].any(axis=1).all() and not synthesis.motion.contacts[:, 2:].any()
    assert np.ptp(synthesis.motion.x[:, :3], axis=0).max() < 0.03


@pytest.mark.slow
def test_a_target_out_of_reach_is_named_and_ends(tmp_path):
    maker, auditor = synthesiser(tmp_path, 4, "{type: position, target: [0, 0, 10]}")
    synthesis = maker.run()
    assert all(fit.reason in ("converged", "iterations", "no decrease") for _, fit in synthesis.stages)
    audit = auditor.audit(synthesis.motion, synthesis.features)
    worst = {finding.name: finding for finding in audit.findings if not finding.met}
    assert worst["task distance"].value > 1.0 or worst["reach"].value > 1.0


@pytest.mark.slow
def test_walking_emerges(tmp_path):
    maker, auditor = synthesiser(tmp_path, 10, "{type: position, target: [1.2, 0]}")
    true = 0
    for seed in range(5):
        synthesis = maker.run(seed)
        audit = auditor.audit(synthesis.motion, synthesis.features)
        true += audit.passed
        feet = synthesis.motion.contacts[:, :2]
        assert (np.diff(feet.astype(int), axis=0) != 0).any(axis=0).all()  # both feet step
    assert true >= 3
