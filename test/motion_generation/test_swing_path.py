"""Swing paths beside a standing foot."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from motion_generation.swing_path import CLEARANCE, control_points
from multi_qp_controller.references.bezier import BezierPose
from multi_qp_scene.contact_sequence import Contact

LENGTH, WIDTH = 0.22, 0.115
DOWN = np.diag([1.0, -1.0, -1.0])


def foot(x: float, y: float, z: float = 0.0) -> Contact:
    """A level contact of a sole; its z axis points down."""
    return Contact.planar("sole", pin.SE3(DOWN, np.array([x, y, z])), (LENGTH, WIDTH), friction=0.6)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_swing_passes_beside_a_standing_foot_that_the_straight_path_would_meet(side: float, direction: float) -> None:
    """Outlines are apart by the clearance from 0.3 to 0.7 of the duration, for either foot and direction."""
    start, target = foot(0.0, 0.09 * side), foot(0.56 * direction, 0.09 * side, 0.1)
    standing = foot(0.31 * direction, 0.0, 0.1)
    via = control_points(start, target, target.pose, [standing], 0.08)
    assert via is not None
    path = BezierPose(start.pose, target.pose, via, 1.0)
    for time in np.linspace(0.3, 0.7, 41):
        assert side * path.sample(time).position[1] - WIDTH >= CLEARANCE - 1e-9
    assert path.sample(0.5).position[2] > 0.1


@pytest.mark.parametrize(
    "standing",
    [
        pytest.param(foot(0.3, -0.09), id="far enough to the side"),
        pytest.param(foot(1.0, 0.09), id="beyond the end"),
        pytest.param(foot(-0.5, 0.09), id="behind the start"),
    ],
)
def test_a_clear_path_stays_direct(standing: Contact) -> None:
    """No control points where nothing stands in the way."""
    start, target = foot(0.0, 0.09), foot(0.56, 0.09)
    assert control_points(start, target, target.pose, [standing], 0.08) is None


@pytest.mark.parametrize("start", [foot(-0.03, 0.14), foot(0.03, 0.14), foot(-0.05, 0.10)])
def test_a_short_oblique_step_to_the_side_of_the_standing_foot_stays_direct(start: Contact) -> None:
    """Across its path the standing foot is in front: the foot would have been led half a metre aside."""
    target = foot(0.0, 0.09)
    assert control_points(start, target, target.pose, [foot(0.0, -0.085)], 0.08) is None


def test_a_foot_lifted_and_put_down_in_place_needs_no_way_around() -> None:
    """A swing without horizontal motion has no side to move to."""
    start = foot(0.0, 0.05)
    assert control_points(start, start, start.pose, [foot(0.0, -0.05)], 0.08) is None
