"""Feet of a played motion: early and late landings, displaced footholds, checkpoints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from motion_generation.body_shift import pressed
from motion_generation.played_feet import AHEAD, DEEPEST, FeetPlan, PlayedFeet
from multi_qp_scene.stateful import conformed

OMEGA, WEIGHT, DT = 4.4, 300.0, 0.005
#: Feet at the corners of a rectangle; the first and the last, a diagonal, swing from 0.3 to 0.7 s and land 0.1 m ahead.
CORNERS = np.array([[0.3, 0.2, 0.0], [0.3, -0.2, 0.0], [-0.3, 0.2, 0.0], [-0.3, -0.2, 0.0]])
SWINGING, STANDING = [0, 3], [1, 2]


def trot():
    knots = np.arange(0.0, 1.5, 0.02)
    touched = np.ones((len(knots), 4), dtype=bool)
    touched[(knots > 0.299) & (knots < 0.699)] = [False, True, True, False]
    places = np.tile(CORNERS, (len(knots), 1, 1))
    ahead = np.interp(knots, [0.3, 0.7], [0.0, 0.1])
    places[:, SWINGING, 0] += ahead[:, None]
    normals = np.tile([0.0, 0.0, 1.0], (len(knots), 4, 1))
    return FeetPlan(knots, touched, places, normals, pressed(touched))


@pytest.fixture
def feet():
    return PlayedFeet(trot(), OMEGA, WEIGHT)


def planted(i, time):
    return 100.0 * trot().touched[trot().at(time), i]


def played(feet, until, *, begin=0.0, force=planted, error=lambda time: np.zeros(2), above=lambda i, time: 0.0):
    """Play from a time to another with feet that are where the plan and the feedback want them, or above it [m]."""
    plan = feet._plan
    for time in np.arange(begin, until, DT):
        places = plan.places[plan.at(time)].copy()
        places[:, :2] += feet.offsets
        places[:, 2] += [above(i, time) for i in range(4)]
        feet.update(time, DT, places, None if force is None else [force(i, time) for i in range(4)])
        support = places[feet.on > 0.0][:, :2]
        feet.correct(time, DT, error(time), places, support)


def test_without_forces_feet_land_when_the_motion_plants_them(feet):
    played(feet, 0.69, force=None)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 0.0]
    played(feet, 0.71, begin=0.69, force=None)
    assert feet.on.all() and not feet.offsets.any()


def test_without_forces_feet_land_by_their_height(feet):
    high = lambda i, time: max(0.0, 1.25 * (0.75 - time)) if i == 0 else 0.0  # noqa: E731
    played(feet, 0.745, force=None, above=high)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 1.0] and feet.late[0] > 0.005
    played(feet, 0.76, begin=0.745, force=None, above=high)
    assert feet.on.all() and not feet.late.any()


def test_without_forces_a_foot_in_the_ground_has_landed(feet):
    low = lambda i, time: {0: -0.002, 3: -0.004}.get(i, 0.0) if time > 0.62 else 0.0  # noqa: E731
    played(feet, 0.65, force=None, above=low)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 1.0]  # foot 0 is off its path, no more


def test_without_forces_a_hand_that_comes_from_below_an_edge_lands_in_its_time():
    plan = trot()
    swing = (plan.knots > 0.299) & (plan.knots < 0.699)
    plan.places[swing, 0, 2] = -0.05  # of its way; it ends on a surface at 0
    feet = PlayedFeet(plan, OMEGA, WEIGHT)
    rises = lambda i, time: min(0.0, 2.0 * (time - 0.7)) - plan.places[plan.at(time), 0, 2] if i == 0 else 0.0  # noqa: E731
    played(feet, 0.69, force=None, above=rises)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 0.0]
    played(feet, 0.71, begin=0.69, force=None, above=rises)
    assert feet.on.all()


def test_a_foot_that_touches_early_is_in_contact(feet):
    early = lambda i, time: 0.02 * WEIGHT if i in STANDING or (i == 0 and time > 0.62) else 0.0  # noqa: E731
    played(feet, 0.65, force=early)
    assert feet.on.tolist() == [1.0, 1.0, 1.0, 0.0]


def test_a_foot_that_is_late_descends_until_it_touches(feet):
    late = lambda i, time: 0.02 * WEIGHT if i in STANDING or (i == 0 and time > 0.9) else 0.0  # noqa: E731
    played(feet, 0.8, force=late)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 0.0]
    place, speed, _ = feet.swing(0, 0.8)
    assert -DEEPEST < place[2] < -0.02 and speed[2] < 0.0
    played(feet, 1.1, begin=0.8, force=late)
    assert feet.on.tolist() == [1.0, 1.0, 1.0, 0.0]
    place, speed, _ = feet.swing(3, 1.1)
    assert place[2] == -DEEPEST and speed[2] == 0.0


def on_a_wall():
    """Return the trot whose first foot steps from the floor onto a wall in front of it, at 0.7 s, and leaves it."""
    plan, wall = trot(), np.array([-1.0, 0.0, 0.0])
    plan.places[plan.knots > 0.299, 0] = [0.4, 0.2, 0.3]
    plan.touched[plan.knots > 1.199, 0] = False
    plan.normals[(plan.knots > 0.299) & (plan.knots < 1.199), 0] = wall
    return plan, wall


def test_a_foot_lands_on_a_wall_by_its_distance_from_it():
    plan, wall = on_a_wall()
    feet = PlayedFeet(plan, OMEGA, WEIGHT)

    def step(begin, until, away, down=0.0):
        for time in np.arange(begin, until, DT):
            places = plan.places[plan.at(time)].copy()
            places[0] += away * wall + [0.0, 0.0, -down]
            feet.update(time, DT, places, None)

    step(0.0, 0.78, 0.01, down=0.02)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 1.0]
    place, speed, _ = feet.swing(0, 0.78)
    assert 0.01 < place[0] < DEEPEST and speed[0] > 0.1 and place[2] == speed[2] == 0.0  # to the wall
    step(0.78, 0.79, 0.0005, down=0.02)
    assert feet.on.all() and feet.late[0] == 0.0


def test_a_foot_that_has_never_landed_returns_to_its_path():
    plan, _ = on_a_wall()
    feet = PlayedFeet(plan, OMEGA, WEIGHT)
    never = lambda i, time: planted(i, time) if i else 0.0  # noqa: E731
    played(feet, 1.1, force=never)
    assert feet.swing(0, 1.1)[0][0] == pytest.approx(DEEPEST)
    played(feet, 1.3, begin=1.1, force=never)
    place, speed, _ = feet.swing(0, 1.3)
    assert 0.0 < place[0] < 0.9 * DEEPEST and speed[0] < 0.0 and place[2] == 0.0
    played(feet, 1.45, begin=1.3, force=never)
    assert not feet.swing(0, 1.45)[0][0]


def test_a_displaced_foothold_stays_on_its_wall():
    plan, wall = on_a_wall()
    feet = PlayedFeet(plan, OMEGA, WEIGHT)
    feet.on[0], feet.beside[0], feet.drift[0] = 0.0, [0.02, 0.01], [0.1, -0.1]
    for part in feet.swing(0, 0.5):
        assert part @ wall == 0.0
    np.testing.assert_allclose(feet.swing(0, 0.5)[0], [0.0, 0.01, 0.0])


def test_a_foot_that_bears_less_than_one_per_cent_of_the_weight_is_in_the_air(feet):
    played(feet, 0.8, force=lambda i, time: 0.008 * WEIGHT if i in SWINGING else 0.5 * WEIGHT)
    assert feet.on.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_sets_of_contacts_contain_those_that_occur(feet):
    possible = set(trot().possible())
    for k, on in possible:
        assert on >= set(STANDING) and 0 <= k < len(trot().knots)
    sets = {on for _, on in possible}
    assert sets == {frozenset([*STANDING, *extra]) for extra in ([], [0], [3], [0, 3])}


def across():
    """Return the unit vector across the diagonal on which the quadruped stands."""
    along = (CORNERS[2] - CORNERS[1])[:2] / np.linalg.norm(CORNERS[2] - CORNERS[1])
    return along, np.array([-along[1], along[0]])


def test_feet_land_where_a_body_that_tips_about_the_diagonal_will_be(feet):
    _, direction = across()
    begin, size = 0.3, 0.002
    tipping = lambda time: size * math.exp(OMEGA * max(time - begin, 0.0)) * direction  # noqa: E731
    played(feet, 0.69, error=tipping)
    wanted = tipping(0.7)
    for i in SWINGING:
        np.testing.assert_allclose(feet.offsets[i], wanted, atol=0.2 * np.linalg.norm(wanted))
        place, _, _ = feet.swing(i, 0.69)
        np.testing.assert_allclose(place[:2], feet.offsets[i], atol=0.2 * np.linalg.norm(wanted))
    assert not feet.offsets[STANDING].any()


def test_what_the_two_feet_can_stop_between_them_displaces_no_foothold(feet):
    along, _ = across()
    played(feet, 0.69, error=lambda time: 0.05 * along)
    np.testing.assert_allclose(feet.offsets, 0.0, atol=1e-9)


def test_nothing_is_displaced_long_before_the_landing(feet):
    _, direction = across()
    played(feet, 0.7 - AHEAD - 0.01, error=lambda time: 0.02 * direction)
    assert not feet.corrected.any()


def test_after_a_displaced_landing_the_body_moves_over_the_feet_and_steps_return(feet):
    _, direction = across()
    error = lambda time: 0.03 * direction * (time < 0.7)  # noqa: E731
    played(feet, 0.7, error=error)
    moved = feet.offsets[0].copy()
    assert np.linalg.norm(moved) > 0.02
    played(feet, 4.0, begin=0.7)
    np.testing.assert_allclose(feet.body.place, feet.offsets.mean(axis=0), atol=1e-3)
    assert np.linalg.norm(feet.body.rate) < 1e-3


def test_a_restored_state_goes_on_alike(feet):
    _, direction = across()
    error = lambda time: 0.01 * direction  # noqa: E731
    played(feet, 0.6, error=error)
    saved = conformed(PlayedFeet.Checkpoint, feet.get_state(), None)
    other = PlayedFeet(trot(), OMEGA, WEIGHT)
    other.set_state(saved)
    for one in (feet, other):
        played(one, 0.9, begin=0.6, error=error)
    np.testing.assert_array_equal(feet.offsets, other.offsets)
    np.testing.assert_array_equal(feet.body.place, other.body.place)


def test_the_body_follows_displaced_feet_by_what_each_bears():
    borne = np.array([0.6, 0.3, 0.1, 0.0])
    plan = trot()
    plan = replace(plan, shares=np.where(plan.touched, borne, 0.0))
    feet = PlayedFeet(plan, OMEGA, WEIGHT)
    _, direction = across()
    played(feet, 0.7, error=lambda time: 0.03 * direction)
    assert np.linalg.norm(feet.offsets[0]) > 0.02 and not feet.offsets[1].any()
    played(feet, 4.0, begin=0.7)
    np.testing.assert_allclose(feet.body.place, borne @ feet.offsets, atol=1e-3)
