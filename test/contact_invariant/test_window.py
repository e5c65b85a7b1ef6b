"""Moving windows: terms, guesses, stitched motions, and the synthesis of the next window."""

import numpy as np
import pytest

from contact_invariant.motion import Motion
from contact_invariant.window import joined, place_towards, shifted, window_behaviour
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.schema.behaviour import BehaviourSpec

K, PIECES, SAMPLES = 4, 2, 3


@pytest.fixture
def motion():
    rng = np.random.default_rng(0)
    knots, instants = K * PIECES + 1, K * SAMPLES
    return Motion(
        effectors=("foot", "hand"),
        knots=0.5 * np.arange(K + 1),
        x=rng.normal(size=(knots, 12)),
        rates=rng.normal(size=(knots, 12)),
        c=rng.uniform(size=(K, 2)),
        times=(np.arange(instants) + 0.5) * 0.5 / SAMPLES,
        forces=rng.normal(size=(instants, 2, 6)),
        angles=rng.normal(size=(instants, 3)),
    )


@pytest.mark.parametrize("phases", [1, 3])
def test_a_shifted_motion_is_the_same_later(motion, phases):
    times = np.linspace(0.0, 2.0 - 0.5 * phases, 50)
    later = shifted(motion, phases)
    for before, after in zip(motion.features(times + 0.5 * phases), later.features(times), strict=True):
        np.testing.assert_allclose(after[:-1], before[:-1], atol=1e-9)
    np.testing.assert_array_equal(later.c[: K - phases], motion.c[phases:])
    np.testing.assert_array_equal(later.forces[: (K - phases) * SAMPLES], motion.forces[phases * SAMPLES :])
    assert later.x.shape == motion.x.shape and later.angles.shape == motion.angles.shape


@pytest.mark.parametrize("phases", [1, 4, 9])
def test_it_ends_at_rest(motion, phases):
    later = shifted(motion, phases)
    count = min(phases, K) * PIECES
    np.testing.assert_array_equal(later.x[-count:], np.tile(motion.x[-1], (count, 1)))
    assert not later.rates[-count:].any()
    np.testing.assert_array_equal(later.c[-1], motion.c[-1])


def test_joined_motions_are_what_was_played(motion):
    second = shifted(motion, 1)
    both = joined([(motion, 1), (second, K)])
    assert both.duration == pytest.approx(2.5) and len(both.c) == K + 1
    times = np.linspace(0.0, 1.9, 40)
    np.testing.assert_allclose(both.features(times)[0], motion.features(times)[0], atol=1e-9)
    np.testing.assert_allclose(both.times[: K * SAMPLES], motion.times)
    np.testing.assert_array_equal(both.forces[: K * SAMPLES], motion.forces)


def test_places_approach_the_target_at_the_speed():
    start, target = np.array([1.0, 1.0]), np.array([1.0, 3.0])
    np.testing.assert_allclose(place_towards(start, target, 0.5), [1.0, 1.5])
    np.testing.assert_allclose(place_towards(start, target, 5.0), target)


def test_a_window_has_running_costs_and_one_end():
    behaviour = BehaviourSpec.model_validate(
        {
            "character": "humanoid",
            "effectors": {"foot": {"surface": "sole"}},
            "phases": 3,
            "phase_duration": 0.5,
            "terms": [{"type": "stand", "feet": ["foot"]}, {"type": "position", "target": [2.0, 0.0]}],
            "online": {"speed": 0.4, "running": 0.1},
        }
    )
    stand, *places = window_behaviour(behaviour, np.array([1.0, 0.0]), np.array([1.5, 0.0])).terms
    assert stand == behaviour.terms[0]
    assert [term.phase for term in places] == [1, 2, 3] and [term.weight for term in places] == [0.1, 0.1, 1.0]
    np.testing.assert_allclose([term.target for term in places], [[1.2, 0.0], [1.4, 0.0], [1.5, 0.0]])


def test_free_durations_of_a_window_are_refused(refusal):
    message = refusal(scenario_path("walk_to_moving"), "  phases:", "  duration_factor: 1.5\n  phases:")
    assert "duration_factor" in message and "expected 1 with `online`" in message
