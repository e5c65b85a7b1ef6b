"""The nominal gait is periodic, and the preview's choice is the optimum that a QP solver finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from multi_qp_controller.qp import QPProblem, make_solver
from walking.gait import Gait, PeriodicGait, WalkingRobot
from walking.preview_kernel import best_step
from walking.swing import APEX, SEARCH_SPEED, advance, quintic, resting

ROBOT = WalkingRobot(np.array([[0.0, 0.085], [0.0, -0.085]]), np.array([[0.09, 0.035]] * 2), 0.69, (0.5, 0.45), 0.14)
GAIT = Gait(groups=((0,), (1,)))
WEIGHTS = np.array([1.0, 0.6, 100.0, 0.4])


def rotation(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


@pytest.mark.parametrize("velocity", [(0, 0, 0), (0.8, 0, 0), (-0.3, 0.2, 0), (0.3, -0.1, 0.9)])
def test_two_nominal_steps_repeat(velocity):
    growth = math.exp(ROBOT.omega * GAIT.step_time)
    steps = [PeriodicGait(ROBOT, GAIT).step(np.array(velocity, dtype=float), stance=k) for k in (0, 1)]
    turn = rotation(steps[0].turn)
    # offset at the end of a step, in the heading of the next stance, is the one at its beginning
    begun = turn.T @ steps[0].offset
    assert np.allclose(growth * begun - steps[1].place, steps[1].offset, atol=1e-12)
    begun = turn.T @ steps[1].offset
    assert np.allclose(growth * begun - steps[0].place, steps[0].offset, atol=1e-12)


def test_two_nominal_steps_move_the_body_by_its_velocity():
    velocity = np.array([0.5, -0.2, 0.0])
    left, right = (PeriodicGait(ROBOT, GAIT).step(velocity, stance=k).place for k in (0, 1))
    assert np.allclose(left + right, 2.0 * GAIT.step_time * velocity[:2])
    assert left[1] < 0.0 < right[1]


def test_steps_aside_leave_room_between_the_feet():
    places = [PeriodicGait(ROBOT, GAIT).step(np.array([0.0, 0.3, 0.0]), stance=k).place for k in (0, 1)]
    assert min(abs(place[1]) for place in places) >= ROBOT.least_width - 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_preview_is_the_optimum_of_its_qp(seed):
    random = np.random.default_rng(seed)
    xi, foot = random.uniform(-0.15, 0.15, 2), random.uniform(-0.3, 0.3, 2)
    nominal, offset = random.uniform(-0.3, 0.3, 2), random.uniform(-0.05, 0.05, 2)
    velocity = random.uniform(-0.5, 0.5, 2)
    box, shifts = np.array([[-0.5, 0.5], [0.14, 0.45]]), np.array([[-0.09, 0.09], [-0.035, 0.035]])
    times, lead, reach = np.array([0.1, 0.25, 0.4]), 0.04, 2.2
    given = (nominal, velocity, offset, box, shifts, np.zeros(2), foot, reach, WEIGHTS)
    found = best_step(xi, ROBOT.omega, times, lead, 0.3, *given)
    costs = []
    for time in times:
        growth, total = math.exp(ROBOT.omega * (time + lead)), WEIGHTS[3] * (time - 0.3) ** 2
        solution, wanted = [], nominal + velocity * (time - 0.3)
        for axis in range(2):
            # ½ xᵀ H x + gᵀ x for x = (u, s), of w_u (u − u_nom)² + w_s s² + w_b (d + k s − u)²
            k, d = 1.0 - growth, growth * xi[axis] - offset[axis]
            row = np.array([-1.0, k])
            H = 2.0 * (np.diag(WEIGHTS[:2]) + WEIGHTS[2] * np.outer(row, row))
            g = 2.0 * (WEIGHTS[2] * d * row - np.array([WEIGHTS[0] * wanted[axis], 0.0]))
            carried = foot[axis] + velocity[axis] * time
            low = min(max(box[axis, 0], carried - reach * time), box[axis, 1])
            high = max(min(box[axis, 1], carried + reach * time), box[axis, 0])
            problem = QPProblem.of(H, g, lb=np.array([low, shifts[axis, 0]]), ub=np.array([high, shifts[axis, 1]]))
            x = make_solver("quadprog").solve(problem).x
            solution.append(x)
            total += 0.5 * x @ H @ x + g @ x + WEIGHTS[0] * wanted[axis] ** 2 + WEIGHTS[2] * d**2
        costs.append((total, time, *np.ravel(solution)))
    cost, time, x, sx, y, sy = min(costs)
    assert (found.remaining, found.cost) == (time, pytest.approx(cost, rel=1e-6))
    assert np.allclose((found.x, found.shift_x, found.y, found.shift_y), (x, sx, y, sy), atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_between_two_points_the_preview_is_the_optimum_with_the_zero_moment_point_on_their_line(seed):
    random = np.random.default_rng(seed)
    xi, foot = random.uniform(-0.15, 0.15, 2), random.uniform(-0.3, 0.3, 2)
    nominal, offset = random.uniform(-0.3, 0.3, 2), random.uniform(-0.05, 0.05, 2)
    line, box, omega = random.uniform(-0.3, 0.3, 2), np.array([[-0.4, 0.4], [-0.25, 0.25]]), 5.0
    time, lead, reach = 0.25, 0.03, 2.2
    given = (nominal, np.zeros(2), offset, box, np.zeros((2, 2)), line, foot, reach, WEIGHTS)
    found = best_step(xi, omega, np.array([time]), lead, time, *given)
    growth = math.exp(omega * (time + lead))
    # x = (u, v, σ): w_u |u − u_nom|² + w_s σ² |line|² + w_b |E ξ − b + (1 − E) σ line − u|²
    rows = np.sqrt(WEIGHTS[2]) * np.column_stack([-np.eye(2), (1.0 - growth) * line])
    A = np.vstack([np.sqrt(WEIGHTS[0]) * np.eye(2, 3), [0.0, 0.0, np.sqrt(WEIGHTS[1]) * np.linalg.norm(line)], rows])
    b = np.concatenate([np.sqrt(WEIGHTS[0]) * nominal, [0.0], np.sqrt(WEIGHTS[2]) * (offset - growth * xi)])
    low, high = np.maximum(box[:, 0], foot - reach * time), np.minimum(box[:, 1], foot + reach * time)
    best = lsq_linear(A, b, (np.append(low, -1.0), np.append(high, 1.0)), tol=1e-12)
    assert found.cost == pytest.approx(2.0 * best.cost, rel=1e-4)
    assert np.allclose((found.x, found.y), best.x[:2], atol=1e-3)
    assert np.allclose((found.shift_x, found.shift_y), best.x[2] * line, atol=1e-3)


def test_a_quintic_ends_at_its_goal_and_its_rates_are_derivatives():
    random = np.random.default_rng(1)
    state, (goal, speed) = random.normal(size=3), random.normal(size=2)

    def at(time):
        return np.array(getattr(quintic, "py_func", quintic)(*state, goal, speed, 0.4, time))

    assert np.allclose(at(0.0), state)
    assert np.allclose(at(0.4), [goal, speed, 0.0])
    assert np.allclose((at(0.2 + 1e-5) - at(0.2 - 1e-5))[:2] / 2e-5, at(0.2)[1:], atol=1e-4)


def test_a_swing_lifts_lands_softly_and_searches_for_the_ground():
    swing, goal, dt = resting(np.zeros(3), 0.0), np.array([0.3, 0.02, 0.0, 0.1]), 0.005
    heights = []
    for k in range(80):
        advance(swing, goal, 0.4 - k * dt, k * dt, 0.05, 0.0, APEX, 0.0, 0.0, 0.05, SEARCH_SPEED, 0.0, dt)
        heights.append(swing[0, 2])
    assert max(heights) == pytest.approx(0.05, abs=2e-3)
    assert np.allclose(swing[0, :4], goal, atol=2e-3) and abs(swing[1, 2]) < 0.1
    for k in range(80, 140):
        advance(swing, goal, 0.4 - k * dt, k * dt, 0.05, 0.0, APEX, 0.0, 0.0, 0.05, SEARCH_SPEED, 0.0, dt)
    assert -0.1 < swing[0, 2] < -0.05
