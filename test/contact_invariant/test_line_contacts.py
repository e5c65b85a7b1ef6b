"""Joined points bear in the middle part of their edge in the refinement."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import Span
from contact_invariant.line_contacts import LineContacts
from contact_invariant.refinement import GAINS, Refiner
from contact_invariant.refinement_costs import Guess
from contact_invariant.surroundings import surroundings_of
from multi_qp_scene.scenario import load_scenario

SHARE = 0.7


@pytest.fixture(scope="module")
def lying():
    scenario = load_scenario("get_up_from_belly")
    return scenario, character_of(scenario)


@pytest.fixture(scope="module")
def spans(lying):
    """Return a contact of each effector where it is at the start."""
    scenario, character = lying
    scene, data = scenario.scene, scenario.scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    poses = {e.name: data.oMf[scene.surfaces[e.surface].frame_id].copy() for e in character.effectors}
    return {
        e.name: Span(i, 0, 1, "ground/floor", poses[e.name], np.eye(3)[2]) for i, e in enumerate(character.effectors)
    }


def test_frames_of_both_points_are_within_the_share_of_the_edge(lying, spans):
    scenario, character = lying
    model = pin.Model(scenario.scene.model)
    lines = LineContacts(scenario.scene, character, model, SHARE)
    data = model.createData()
    pin.framesForwardKinematics(model, data, scenario.scene.q0)
    both = [spans["left_toes_inner"], spans["left_toes_outer"]]
    ends = np.array([span.pose.translation for span in both])
    inner = np.array([data.oMf[lines.frame(span, both)].translation for span in both])
    np.testing.assert_allclose(inner - ends.mean(axis=0), SHARE * (ends - ends.mean(axis=0)), atol=1e-9)
    found = np.array([lines.place(span, both, 0, GAINS) for span in both])
    np.testing.assert_allclose(found, inner, atol=1e-9)
    alone = [spans["left_toes_inner"], spans["left_hand"], spans["right_toes_outer"]]
    for span, effector in ((alone[0], "left_toes_inner"), (alone[1], "left_hand")):
        own = scenario.scene.surfaces[character.effectors[character.index(effector)].surface].frame_id
        assert lines.frame(span, alone) == own
    np.testing.assert_allclose(lines.place(alone[0], alone, 0, GAINS), ends[0], atol=1e-12)


def test_accelerations_are_those_of_contacts_at_the_ends(lying, spans):
    """Both pairs of points hold the same line, so that the place at which they bear changes no motion."""
    scenario, character = lying
    scene = scenario.scene
    active = [span for name, span in spans.items() if "hand" in name or "toes" in name]
    x = np.concatenate([scene.q0, np.zeros(scene.nv)])
    none, rest = np.ones((1, len(character.effectors)), bool), np.zeros((2, scene.nv))
    guess = Guess(np.array([0.0, 0.02]), np.tile(scene.q0, (2, 1)), rest, active, none, set(), set())
    found, torques = [], 10.0 * np.sin(np.arange(scene.nv - 6))
    refiner = Refiner(scenario, character, surroundings_of(scene, "humanoid"))
    lines = refiner._lines
    ends = SimpleNamespace(frame=lambda span, _: lines.frame(span, []), place=lambda span, *_: span.pose.translation)
    for refiner._lines in (lines, ends):
        model = refiner._models(guess, np.full(2, 0.02), GAINS, refiner._no_costs)[0]
        data = model.createData()
        model.calc(data, x, torques)
        found.append(np.array(data.differential.xout))
    assert np.abs(found[0]).max() > 1.0
    np.testing.assert_allclose(found[0], found[1], atol=1e-3 * np.abs(found[1]).max())  # damping of redundant rows
