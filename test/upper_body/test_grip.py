"""Hands that stick to an obstacle, and are placed anew when their place is out of reach."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from upper_body.grip import SLACK, Grip, palm_offset
from upper_body.meetings import Meeting
from upper_body.regions import Region

REGION = Region(0, np.zeros(3), (0,), 0.6, 0.2, 0.45, (0.3, 2.0), 0.0, np.zeros(7))
CENTRE = np.array([0.0, 0.0, 1.0])
AHEAD = np.array([1.0, 0.0, 0.0])


class Wall:
    """A wall across x whose link moves aside; the point nearest to the centre is straight ahead."""

    def __init__(self, shift: float = 0.0, distance: float = 0.3) -> None:
        self.shift, self.distance = shift, distance

    def pose(self, frame: int) -> pin.SE3:
        """Return the pose of the wall."""
        assert frame == 4
        return pin.SE3(pin.utils.rotate("z", 0.3), np.array([self.distance, self.shift, 0.0]))

    def touched(self, obstacle: int, place: np.ndarray) -> tuple[int, np.ndarray]:
        """Return the nearest point."""
        assert obstacle == 2
        return 4, CENTRE + self.distance * AHEAD


def met(distance=0.3, time=0.0):
    return Meeting(2, 0, AHEAD, CENTRE + 0.2 * AHEAD, distance, time, 0.0, 0.0)


def test_a_palm_that_slides_goes_to_the_nearest_point_within_its_range():
    for distance, expected in ((0.1, 0.2), (0.3, 0.3), (0.55, 0.45)):
        np.testing.assert_allclose(
            palm_offset(Grip(), met(distance), REGION, CENTRE, 0.0, None, AHEAD)[0], expected * AHEAD
        )


def test_a_palm_that_sticks_keeps_its_place_on_the_link_until_it_is_out_of_reach():
    grip = Grip()
    for shift in (0.0, 0.1, 0.2, 0.35):
        way, _ = palm_offset(grip, met(), REGION, CENTRE, shift, Wall(shift), AHEAD)
        np.testing.assert_allclose(way, [0.3, shift, 0.0][:3] * np.ones(3) * min(1, 0.45 / np.hypot(0.3, shift)))
    assert grip.placed_at == 0.0
    assert np.hypot(0.3, 0.4) > REGION.reach + SLACK
    palm_offset(grip, met(), REGION, CENTRE, 1.0, Wall(0.4), AHEAD)
    assert grip.placed_at == 1.0 and grip.duration == 2 * REGION.reaction[0]
    ways = [
        palm_offset(grip, met(), REGION, CENTRE, 1.0 + s * grip.duration, Wall(0.4), AHEAD)[0]
        for s in np.linspace(0, 1, 31)
    ]
    np.testing.assert_allclose(ways[-1], 0.3 * AHEAD, atol=1e-12)
    assert np.linalg.norm(np.diff(ways, axis=0), axis=1).max() < 0.06


def test_the_way_to_a_new_place_leaves_the_surface_along_its_normals():
    """[Alvarado2022] section 5.3: a cubic Hermite polynomial, here by its end values and derivatives."""
    grip, pose, normal, h = Grip(), Wall().pose(4), -AHEAD, 1e-6
    grip.hold(4, pose, CENTRE + [0.3, 0.2, 0.0], normal, 0.0, 1.0)
    grip.hold(4, pose, CENTRE + [0.3, 0.0, 0.0], normal, 2.0, 0.5)
    np.testing.assert_allclose(grip.at(2.0, pose), CENTRE + [0.3, 0.2, 0.0])
    np.testing.assert_allclose(grip.at(2.5, pose), CENTRE + [0.3, 0.0, 0.0])
    away, back = (grip.at(2.0 + h, pose) - grip.at(2.0, pose)), (grip.at(2.5, pose) - grip.at(2.5 - h, pose))
    assert away[0] < 0 < back[0]
    np.testing.assert_allclose([away[1:], back[1:]], 0.0, atol=1e-9)
    assert min(grip.at(t, pose)[0] for t in np.linspace(2.0, 2.5, 20)) < 0.27


def test_a_palm_that_sticks_is_flat_on_the_link_and_slides_once_its_place_is_behind():
    grip = Grip()
    palm_offset(grip, met(), REGION, CENTRE, 0.0, Wall(), AHEAD)
    way, normal = palm_offset(grip, met(), REGION, CENTRE, 0.1, Wall(0.2), AHEAD)
    np.testing.assert_allclose(normal, AHEAD, atol=1e-12)  # not along the way, which is oblique
    assert way[1] > 0.1
    palm_offset(grip, met(), REGION, CENTRE, 0.2, Wall(0.2), -AHEAD)
    assert grip.frame == -1


def test_contact_ends_with_the_meeting():
    grip = Grip()
    palm_offset(grip, met(), REGION, CENTRE, 0.0, Wall(), AHEAD)
    assert grip.frame == 4
    palm_offset(grip, met(distance=0.5), REGION, CENTRE, 0.1, Wall(), AHEAD)
    assert grip.frame == -1


def test_a_checkpoint_restores_the_place():
    grip, other = Grip(), Grip()
    palm_offset(grip, met(), REGION, CENTRE, 0.0, Wall(), AHEAD)
    other.set_state(grip.get_state())
    assert other.at(0.1, Wall(0.1).pose(4)) == pytest.approx(grip.at(0.1, Wall(0.1).pose(4)))
