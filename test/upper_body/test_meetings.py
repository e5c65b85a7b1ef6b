"""Prediction of obstacles and choice of regions and hands."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene.schema.upper_body import AnticipationSpec, HandSpec, SightSpec
from upper_body.hand_path import nearby, reaction_time
from upper_body.meetings import Approach, Meeting, by_region, choose, meeting
from upper_body.regions import Region

REGION = Region(0, np.zeros(3), (0, 1), 0.5, 0.2, 0.25, (0.3, 2.0), 0.0, np.zeros(7))
SHARED = [False, False, True]
RULES = AnticipationSpec(
    type="anticipation",
    subsystem="humanoid",
    joints=["*"],
    obstacles=["*"],
    hands={"left": HandSpec(palm="l", shoulder="l"), "right": HandSpec(palm="r", shoulder="r")},
    sight=SightSpec(link="head"),
)


def found(way, velocity, falls, look_ahead=2.0):
    way = np.array(way, dtype=float)
    one = Approach(way, float(np.linalg.norm(way)), np.array(velocity, dtype=float), falls)
    return meeting(0, 0, REGION, np.zeros(3), one, look_ahead)


def test_a_falling_obstacle_enters_when_gravity_says_so():
    met = found([0.0, 0.0, 2.0], [0.0, 0.0, -1.0], True)
    assert met.time == pytest.approx((-1.0 + np.sqrt(1.0 + 2 * 9.81 * 1.5)) / 9.81, abs=0.011)
    np.testing.assert_allclose(met.direction, [0.0, 0.0, 1.0])
    assert found([0.0, 0.0, 2.0], [0.0, 0.0, -1.0], False).time == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("way", "velocity"), [([1.0, 0.0, 1.0], [0.0, 0.0, -1.0]), ([0.0, 0.0, -0.3], [0.0, 0.0, -2.0])]
)
def test_what_falls_beside_the_region_or_out_of_it_is_not_met(way, velocity):
    assert found(way, velocity, True) is None


def test_where_a_falling_obstacle_is_met_does_not_depend_on_the_steps_of_the_prediction():
    """It stays where it is while time passes, as the place of a hand would shake otherwise."""
    way, velocity = np.array([0.05, 0.15, 2.0]), np.array([0.0, -0.1, -2.0])
    directions = []
    for t in np.arange(0.0, 0.05, 0.005):
        one = found(way + t * velocity - [0, 0, 4.905 * t * t], velocity - [0, 0, 9.81 * t], True)
        directions.append(one.direction)
    assert np.ptp(directions, axis=0).max() < 2e-3


def test_the_nearest_place_of_what_falls_past_the_region_is_exact():
    one = found([0.3, 0.0, 2.0], [0.0, 0.0, -1.0], True)
    np.testing.assert_allclose(one.direction, [1.0, 0.0, 0.0], atol=1e-6)


def at(obstacle, region, miss, time=0.5, place=(0.0, 0.0, 0.0)):
    return Meeting(obstacle, region, np.array([0.0, 0.0, 1.0]), np.array(place), 0.6, time, 1.0, miss)


def test_an_obstacle_belongs_to_the_region_that_it_comes_nearest_to():
    assert [one.region for one in by_region([at(0, 0, 0.3), at(0, 2, 0.1)], -1, 0, SHARED)] == [2]
    assert [one.region for one in by_region([at(0, 0, 0.3), at(0, 2, 0.1)], 0, 0, SHARED)] == [0], (
        "it changed during a meeting"
    )
    assert [one.obstacle for one in by_region([at(0, 0, 0.0, 0.9), at(1, 0, 0.0, 0.2)], -1, 0, SHARED)] == [1, 0]


def test_regions_that_hands_share_come_first_and_are_met_in_a_crowd():
    branches, apple = [at(k, 0, 0.0, 0.0) for k in range(3)], at(3, 2, 0.0, 0.4)
    assert [one.obstacle for one in by_region([*branches, apple], -1, 0, SHARED)][0] == 3
    assert [one.obstacle for one in by_region([*branches, apple], -1, 0, SHARED, 3)] == [3]
    assert len(by_region([*branches, apple], -1, 0, SHARED, 4)) == 4
    palms = [np.array([0.0, 0.2, 0.0]), np.array([0.0, -0.25, 0.0])]
    near = branches[0]._replace(distance=0.2)  # the hand is at it already, and the apple is further away
    chosen = choose(RULES, [[apple, near], []], np.full(4, 0.2), palms, [0, -1], SHARED)
    assert chosen[0] is apple


def test_only_the_nearer_hand_keeps_a_shared_region_free():
    palms, one = [np.array([0.0, 0.2, 0.0]), np.array([0.0, -0.25, 0.0])], at(0, 2, 0.0)
    chosen = choose(RULES, [[one], [one]], np.array([0.2]), palms, [-1, -1], SHARED)
    assert chosen[0] is one and chosen[1] is None
    chosen = choose(RULES, [[one], [one]], np.array([0.2]), palms, [-1, 0], SHARED)
    assert chosen[0] is None and chosen[1] is one, "the hand that meets it keeps it"


def test_reaction_time_and_nearby_places():
    assert reaction_time(0.8, (0.3, 2.0), 1.0) == pytest.approx(0.8)
    assert reaction_time(0.8, (0.3, 2.0), 0.0) == 0.3
    np.testing.assert_allclose(nearby(np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.1), [0.1, 0.0, 0.0])
    np.testing.assert_allclose(nearby(np.zeros(3), np.array([0.05, 0.0, 0.0]), 0.1), [0.05, 0.0, 0.0])
