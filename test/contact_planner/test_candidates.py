import numpy as np
import pytest

from contact_planner.candidates import _DIRECTIONS, _SupportExtent


def support(points, com):
    return _SupportExtent(np.array(com), np.max((np.array(points) - com) @ _DIRECTIONS, axis=0))


def test_margin_is_the_least_extent_of_the_contacts_over_all_directions():
    feet = support([[0.0, 0.1], [0.0, -0.1]], (0.0, 0.0))
    ahead, behind_and_ahead, beside = feet.margin(np.array([[0.3, 0.0], [0.0, 0.0], [0.05, 0.3]]))
    assert ahead == pytest.approx(0.0)  # nothing is behind
    assert behind_and_ahead == pytest.approx(0.0)
    assert beside == pytest.approx(0.0)
    square = support([[0.2, 0.2], [-0.2, 0.2], [-0.2, -0.2]], (0.0, 0.0))
    assert square.margin(np.array([[0.2, -0.2]]))[0] == pytest.approx(0.2)
    assert square.margin(np.array([[-0.2, -0.2]]))[0] == pytest.approx(0.0)


def test_margin_is_negative_outside_the_contacts():
    assert support([[0.0, 0.0]], (1.0, 0.0)).margin(np.array([[0.1, 0.0]]))[0] == pytest.approx(-0.9)
