"""Places on patches where whole soles fit, and swings that pass the edges between them."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait import Gait, WalkingRobot
from walking.gait_state import SWING, Measured, Walk
from walking.swing import SEARCH_SPEED, advance, resting
from walking.swing_feet import SwingFeet
from walking.terrain import MARGINS, Terrain

SOLE = np.array([[-0.1, -0.05], [0.1, -0.05], [0.1, 0.05], [-0.1, 0.05]])
FOOT = 1.1 * SOLE
RISE, RUN, FIRST = 0.15, 0.3, 0.4


def box(x, X, y, Y):
    return np.array([[x, y], [X, y], [X, Y], [x, Y]])


def stairs():
    """Return a floor and three treads on it, from x = 0.4 m on."""
    treads = [box(FIRST + k * RUN, FIRST + (k + 1) * RUN, -0.5, 0.5) for k in range(3)]
    return Terrain([box(-5, 5, -5, 5), *treads], [0.0, RISE, 2 * RISE, 3 * RISE], [SOLE] * 2, [FOOT] * 2)


def landing(place, *, stance=0.0, chosen=-1, fixed=False):
    return stairs().landing(0, np.array(place), stance=stance, rise=0.2, chosen=chosen, fixed=fixed)


def test_a_place_where_the_sole_fits_stays():
    found = landing([0.1, 0.2, 0.3])
    assert found.patch == 0 and found.height == 0.0 and np.allclose(found.place, [0.1, 0.2])


def test_a_foot_on_an_edge_moves_to_the_nearer_side():
    floor, tread = landing([0.35, 0, 0]), landing([0.45, 0, 0])
    assert floor.patch == 0 and floor.place[0] == pytest.approx(FIRST - 0.11 - MARGINS[1])
    assert tread.patch == 1 and tread.height == RISE and tread.place[0] == pytest.approx(FIRST + 0.1 + MARGINS[0])


def test_it_also_keeps_its_distance_from_the_next_tread():
    found = landing([FIRST + 0.25, 0, 0], stance=RISE, chosen=1, fixed=True)
    assert found.patch == 1 and found.place[0] == pytest.approx(FIRST + RUN - 0.11 - MARGINS[1])


def test_steps_are_not_higher_than_the_rise():
    found = landing([FIRST + 1.5 * RUN, 0, 0], stance=0.0)
    assert found.patch == 1  # the wanted place is on the second tread, 30 cm above the stance


def test_a_turned_sole_needs_more_room():
    straight, turned = landing([0.45, 0, 0]), landing([0.45, 0, 0.5])
    if turned.patch == 1:
        assert turned.place[0] > straight.place[0] + 0.005
    else:
        assert turned.place[0] < FIRST - 0.11 - MARGINS[1]


def test_random_places_fit_by_a_check_of_their_corners():
    terrain, rng = stairs(), np.random.default_rng(0)
    treads = [(FIRST + k * RUN, FIRST + (k + 1) * RUN, (k + 1) * RISE) for k in range(3)]
    for _ in range(300):
        place = np.array([rng.uniform(-0.2, 1.6), rng.uniform(-0.7, 0.7), rng.uniform(-0.5, 0.5)])
        found = terrain.landing(0, place, stance=0.2, rise=0.3, chosen=-1, fixed=False)
        c, s = np.cos(place[2]), np.sin(place[2])
        corners = found.place + SOLE @ np.array([[c, s], [-s, c]])
        inside = [(corners[:, 0] > x) & (corners[:, 0] < X) & (np.abs(corners[:, 1]) < 0.5) for x, X, _ in treads]
        if found.patch:
            assert inside[found.patch - 1].all()
        else:
            assert not np.any(inside)


def test_no_place_within_the_rise():
    assert landing([0.0, 0, 0], stance=2.0) is None


@pytest.mark.parametrize("ends", [((0.26, 0.0), (0.84, 2 * RISE)), ((0.84, 2 * RISE), (0.26, 0.0))])
def test_a_swing_over_a_tread_touches_no_edge(ends):
    terrain, lift, total, dt = stairs(), 0.04, 0.6, 0.005
    (x, z), (X, Z) = ends
    begin, goal = np.array([x, 0.0, z]), np.array([X, 0.0, Z])
    before, after, highest = terrain.passing(0, begin, goal, yaw=0.0, lift=lift, apex=0.5)
    assert highest == 2 * RISE and (before if Z > z else after) > 0.05
    swing, landing = resting(begin, 0.0), np.array([*goal, 0.0])
    for k in range(round(total / dt)):
        times, parts = (total - k * dt, k * dt), (before * total, after * total)
        advance(swing, landing, *times, highest + lift, 0.0, 0.5, *parts, 0.05, SEARCH_SPEED, 0.0, dt)
        px, pz = swing[0, 0], swing[0, 2]
        under = [n for n in range(3) if px + 0.11 > FIRST + n * RUN and px - 0.11 < FIRST + (n + 1) * RUN]
        below = (max(under) + 1) * RISE if under else 0.0
        assert pz > below - 2e-3
    assert np.allclose(swing[0, :4], landing, atol=3e-3)


def test_patches_on_which_two_feet_may_stand():
    pairs = stairs().neighbours(0.2, 0.5)
    assert (0, 0) in pairs and (0, 1) in pairs and (1, 2) in pairs and (0, 2) not in pairs and (3, 1) not in pairs


def swung(begin, goal, terrain):
    """Return the references of a foot that swings between two places with pitch, (n, 3, 5)."""
    robot = WalkingRobot(np.array([[0.0, 0.1], [0.0, -0.1]]), np.array([[0.1, 0.05]] * 2), 0.7, (0.6, 0.4), 0.14)
    gait = Gait(groups=((0,), (1,)), foot_pitch=0.6, lift=0.04)
    feet, other = SwingFeet(robot, gait, terrain, rise=0.2), np.array([0.0, -0.1, begin[2]])
    walk = Walk(SWING, touchdown=0.4, in_contact=[False, True], patches=[-1, -1])
    walk.lift_places, walk.landings = np.array([begin, other]), np.array([goal, other])
    walk.swings, walk.place = np.array([resting(begin, 0.0), resting(other, 0.0)]), np.array([*goal[:2], 0.0])
    references = []
    for k in range(1, 80):
        places = np.array([walk.swings[0][0, :3], other])
        rest = np.zeros(2), np.zeros((2, 4)), None
        feet.advance(walk, Measured(k * 0.005, np.zeros(3), np.zeros(3), np.zeros(3), places, *rest), 0.005)
        references.append(walk.swings[0].copy())
    return np.array(references)


@pytest.mark.parametrize(
    ("begin", "goal", "pitched"),
    [
        ((FIRST + 0.13, 0.1, RISE), (FIRST - 0.2, 0.1, 0.0), True),
        ((-0.6, 0.1, 0.0), (-0.1, 0.1, 0.0), True),
        ((0.2, 0.1, 0.0), (FIRST + 0.15, 0.1, RISE), False),
    ],
)
def test_feet_pitch_on_the_way_down_and_on_the_level_but_not_upwards(begin, goal, pitched):
    pitch = np.abs(swung(np.array(begin), np.array(goal), stairs())[:, 0, 4])
    assert (pitch.max() > 0.1) == pitched and pitch[-1] < 0.01
    assert pitched or pitch.max() == 0.0


def test_feet_stay_level_over_a_tread_between_two_places():
    curb = Terrain([box(-5, 5, -5, 5), box(0.25, 0.35, -1, 1)], [0.0, 0.05], [SOLE] * 2, [FOOT] * 2)
    assert np.abs(swung(np.array([0.0, 0.1, 0.0]), np.array([0.6, 0.1, 0.0]), curb)[:, 0, 4]).max() == 0.0
