"""Velocity commands: schedule, limits, time-out, refusals, checkpoint."""

from __future__ import annotations

import math

import numpy as np
import pytest

from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.schema.walking import RandomVelocitySpec, RouteSpec, TimedVelocitySpec, VelocityLimitsSpec
from walking.gait import Gait, PeriodicGait, WalkingRobot, largest_velocity
from walking.velocity import TOGETHER, VelocityCommand, random_schedule

DT = 0.005
LIMITS = VelocityLimitsSpec()


def after(command, seconds, begun=0.0):
    for k in range(round(seconds / DT)):
        time = begun + k * DT
        command.update(time, time, DT)
    return command.velocity


def test_a_schedule_is_followed_with_limited_acceleration():
    schedule = [TimedVelocitySpec(at=1.0, velocity=(0.4, 0.0, 0.0)), TimedVelocitySpec(at=2.0, velocity=(0, 0, 0))]
    command, last = VelocityCommand(schedule, LIMITS), np.zeros(3)
    for k in range(800):
        now = command.update(k * DT, k * DT, DT)
        assert (np.abs(now - last) <= np.array(LIMITS.acceleration) * DT + 1e-12).all()
        last = now.copy()
        if k * DT == 1.9:
            assert np.allclose(now, [0.4, 0.0, 0.0])
    assert command.is_over(4.0) and not command.is_over(1.5)


def test_random_commands_are_within_the_limits_and_end_with_zero():
    random = RandomVelocitySpec(seed=3, duration=60.0, every=2.0, rest=0.25)
    schedule = random_schedule(random, LIMITS)
    times, velocities = np.array([entry.at for entry in schedule]), np.array([entry.velocity for entry in schedule])
    lengths = np.diff(times)
    assert times[0] == 0.0 and times[-1] == 60.0 and not velocities[-1].any()
    assert (lengths[:-1] >= 1.0).all() and (lengths <= 3.0).all() and lengths.std() > 0.2
    low, high = (
        np.array([-LIMITS.back, -LIMITS.aside, -LIMITS.turn]),
        np.array([LIMITS.ahead, LIMITS.aside, LIMITS.turn]),
    )
    assert (velocities >= low).all() and (velocities <= high).all()
    assert (velocities.min(axis=0) < 0.6 * low).all() and (velocities.max(axis=0) > 0.6 * high).all()
    assert 2 <= (~velocities.any(axis=1)).sum() <= 14
    assert random_schedule(random, LIMITS) == schedule
    assert random_schedule(random.model_copy(update={"seed": 4}), LIMITS) != schedule


def test_commands_are_reduced_to_the_limits():
    command = VelocityCommand([], LIMITS)
    assert np.allclose(command.limited(np.array([9.0, 0.0, 0.0])), [0.8, 0.0, 0.0])
    assert np.allclose(command.limited(np.array([-9.0, 0.0, 0.0])), [-0.5, 0.0, 0.0])
    both = command.limited(np.array([9.0, 9.0, 9.0])) / np.array([0.8, 0.3, 1.0])
    assert np.allclose(both, both[0]) and np.linalg.norm(both) == pytest.approx(TOGETHER)


def test_commands_are_reduced_to_what_steps_can_do_and_it_is_told():
    command = VelocityCommand([], VelocityLimitsSpec(ahead=2.0), possible=np.array([0.9, 0.4, 1.1]))
    assert np.allclose(command.limited(np.array([9.0, 0.0, 0.0])), [0.9, 0.0, 0.0])
    command.command(0.6, 0.0, 0.0)
    after(command, 0.2)
    assert command.reduced is None
    command.command(0.8, 0.0, 0.9)
    after(command, 0.4)
    asked, allowed = command.reduced
    assert np.allclose(asked, [0.8, 0.0, 0.9]) and np.linalg.norm(allowed / [0.9, 0.4, 1.1]) == pytest.approx(1.0)


def test_a_reduction_of_a_route_is_not_told_as_one_of_a_command():
    command = VelocityCommand([], LIMITS, RouteSpec(points=[(5.0, 2.0)], speed=3.0), possible=np.array([0.5, 0.2, 1.0]))
    after(command, 0.2)
    assert command.velocity.any() and command.reduced is None


def test_the_largest_velocity_follows_from_reach_and_step_time():
    places, soles = np.array([[0.0, 0.085], [0.0, -0.085]]), np.array([[0.09, 0.035]] * 2)
    robot, gait = WalkingRobot(places, soles, 0.69, (0.5, 0.45), 0.14), Gait(groups=((0,), (1,)))
    found = largest_velocity(robot, gait, stride=0.9, step_turn=0.5)
    assert np.allclose(found * gait.step_time, [0.45, 0.155, 0.5])
    for velocity in (found * [1, 0, 0], found * [0, 1, 0]):
        steps = [PeriodicGait(robot, gait).step(velocity, stance=k).place for k in (0, 1)]
        assert max(abs(x) for x, _ in steps) <= 0.5 and max(abs(y) for _, y in steps) <= 0.45 + 1e-9


def test_a_command_from_outside_stops_after_its_timeout():
    command = VelocityCommand([TimedVelocitySpec(velocity=(0.0, 0.2, 0.0))], LIMITS)
    command.command(0.3, 0.0, 0.0)
    assert after(command, 0.4)[0] == pytest.approx(0.3)
    command.command(0.3, 0.0, 0.0)
    assert after(command, 0.45, begun=0.4)[0] == pytest.approx(0.3)
    assert not after(command, 1.0, begun=0.85).any()  # not the schedule again
    assert command.silence > LIMITS.timeout
    command.command(0.0, 0.0, 0.0)
    after(command, 2.0, begun=2.0)
    assert not command.silence  # the robot was commanded to stand


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e9, None, "fast"])
def test_absurd_commands_are_refused_and_counted(value, caplog):
    command = VelocityCommand([], LIMITS)
    command.command(0.2, 0.0, 0.0)
    with pytest.raises(ArgumentError, match="vy"):
        command.command(0.1, value, 0.0)
    assert command.refused == 1 and "vy" in command.refusal and "refused" in caplog.text
    assert after(command, 0.3)[0] == pytest.approx(0.2)


def test_a_saved_command_continues():
    command, other = VelocityCommand([], LIMITS), VelocityCommand([], LIMITS)
    command.command(0.3, 0.1, 0.2)
    after(command, 0.2)
    other.set_state(command.get_state())
    for k in range(200):
        time = 0.2 + k * DT
        assert np.array_equal(command.update(time, time, DT), other.update(time, time, DT))
