"""Velocities along a route bring an ideal body to its end, with the final heading; checkpoints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from multi_qp_scene.schema.walking import RouteSpec, VelocityLimitsSpec, WalkingSpec
from walking.route import Route
from walking.velocity import VelocityCommand

DT = 0.01


def walked(command: VelocityCommand, place, seconds):
    """Move an ideal body by the command; return its places, (n, 3)."""
    places = [np.array(place, dtype=float)]
    for k in range(round(seconds / DT)):
        vx, vy, wz = command.update(k * DT, k * DT, DT, places[-1])
        x, y, yaw = places[-1]
        c, s = math.cos(yaw), math.sin(yaw)
        places.append(np.array([x + DT * (c * vx - s * vy), y + DT * (s * vx + c * vy), yaw + DT * wz]))
    return np.array(places)


@pytest.mark.parametrize("heading", [None, 1.5, -2.0])
@pytest.mark.parametrize("target", [(2.0, 0.5), (-1.0, 0.3), (0.1, 0.02)])
def test_a_target_is_reached_with_its_heading(target, heading):
    command = VelocityCommand([], VelocityLimitsSpec(), RouteSpec(points=[target], heading=heading))
    places = walked(command, (0.0, 0.0, 0.0), 25.0)
    assert command.is_over(25.0)
    assert np.linalg.norm(places[-1, :2] - target) < 0.06
    wanted = math.atan2(target[1], target[0]) if heading is None else heading
    assert abs(math.remainder(places[-1, 2] - wanted, math.tau)) < 0.11
    assert (places[-1] == places[-200]).all()  # it stands


def test_a_path_is_followed():
    points = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    command = VelocityCommand([], VelocityLimitsSpec(), RouteSpec(points=points.tolist(), speed=0.4))
    places = walked(command, (0.0, 0.0, 0.0), 25.0)
    assert command.is_over(25.0)
    for point in points:
        assert np.linalg.norm(places[:, :2] - point, axis=1).min() < 0.15
    speeds = np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1) / DT
    assert speeds.max() < 0.4 + 1e-6
    corridor = np.interp(places[:, 0], [0.0, *points[:, 0]], [0.0, *points[:, 1]])
    assert np.abs(places[:, 1] - corridor).max() < 0.2


def test_a_command_from_outside_replaces_the_route():
    command = VelocityCommand([], VelocityLimitsSpec(), RouteSpec(points=[(2.0, 0.0)]))
    walked(command, (0.0, 0.0, 0.0), 1.0)
    command.command(-0.2, 0.0, 0.0)
    walked(command, (0.0, 0.0, 0.0), 0.45)
    assert command.velocity[0] == pytest.approx(0.05)  # it decelerates by 1 m/s²


def test_progress_is_part_of_the_checkpoint():
    spec = RouteSpec(points=[(1.0, 0.0), (1.0, 1.0)])
    command = VelocityCommand([], VelocityLimitsSpec(), spec)
    place = walked(command, (0.0, 0.0, 0.0), 3.0)[-1]
    other = VelocityCommand([], VelocityLimitsSpec(), spec)
    other.set_state(command.get_state())
    assert isinstance(other.route, Route) and other.route.leg == 1
    assert np.array_equal(walked(other, place, 2.0), walked(command, place, 2.0))
    with pytest.raises(ValueError, match="another kind"):
        VelocityCommand([], VelocityLimitsSpec()).set_state(command.get_state())


def test_schedule_and_route_exclude_each_other():
    given = {"type": "walking", "subsystem": "humanoid", "feet": ["a", "b"], "route": {"points": [[1, 0]]}}
    assert WalkingSpec.model_validate(given).route.points == [(1.0, 0.0)]
    with pytest.raises(ValidationError, match="cannot be combined"):
        WalkingSpec.model_validate({**given, "velocity": [{"velocity": [0.1, 0, 0]}]})
