import numpy as np
import pytest

from contact_planner.candidates import _DIRECTIONS, _Standing


def standing(points, com):
    return _Standing(np.array(com), np.max((np.array(points) - com) @ _DIRECTIONS, axis=0))


def test_the_margin_is_how_far_the_contacts_reach_in_the_direction_where_they_reach_least():
    feet = standing([[0.0, 0.1], [0.0, -0.1]], (0.0, 0.0))
    ahead, behind_and_ahead, beside = feet.margin(np.array([[0.3, 0.0], [0.0, 0.0], [0.05, 0.3]]))
    assert ahead == pytest.approx(0.0)  # nothing is behind
    assert behind_and_ahead == pytest.approx(0.0)
    assert beside == pytest.approx(0.0)
    square = standing([[0.2, 0.2], [-0.2, 0.2], [-0.2, -0.2]], (0.0, 0.0))
    assert square.margin(np.array([[0.2, -0.2]]))[0] == pytest.approx(0.2)
    assert square.margin(np.array([[-0.2, -0.2]]))[0] == pytest.approx(0.0)


def test_a_body_beside_its_contacts_has_a_negative_margin():
    assert standing([[0.0, 0.0]], (1.0, 0.0)).margin(np.array([[0.1, 0.0]]))[0] == pytest.approx(-0.9)
