"""The complementarity problem of the contacts: Coulomb's law at every point."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.complementarity import DIRECTIONS, correct, preference
from modal_control.lcp_kernel import lemke
from modal_control.modes import modes_of
from modal_control.responses import free_response, impulse_response

DT, FRICTION = 1.0 / 120.0, 0.6


def test_lemke_solves_a_positive_definite_problem(random):
    for _ in range(20):
        root = random.normal(size=(9, 9))
        C, h = root @ root.T + 0.1 * np.eye(9), random.normal(size=9)
        z, solved = lemke(C, h, 200)
        w = C @ z + h
        assert solved and z.min() >= 0.0 and w.min() > -1e-9 and abs(w @ z) < 1e-9


def test_lemke_reports_a_problem_without_solution():
    assert not lemke(np.array([[-1.0]]), np.array([-1.0]), 50)[1]


def corrected(character, squat, push, gap=0.0, lift=0.0):
    """Return the correction of a step at the bottom of the squat without planned forces, and the points' motion.

    A force pushes at the centre of the rigid modes; `lift` is the upward velocity of the whole body [m/s].
    """
    dynamics = character.linearise(squat.q[240])
    modes = modes_of(dynamics, threshold=100.0)
    J = dynamics.J
    Z = DT * modes.Phi.T @ J.reshape(-1, J.shape[2]).T
    response = impulse_response(modes.squares, np.array([DT]))[0][0]
    v = np.zeros(len(modes.Phi))
    v[2] = lift
    force = np.zeros(len(v))
    force[:3] = push
    free = free_response(np.zeros(len(v)), modes.inverse @ v, modes.Phi.T @ dynamics.b, modes.squares, DT)[0]
    free[modes.high] = 0.0
    planned = free + response * (DT * modes.Phi.T @ force)
    X = preference(modes, response, Z, rigid=1.0, low=1.0, actuation=1e-3)
    forces = np.zeros((len(J), 3))
    gaps = np.full(len(J), gap)
    found = correct(J, modes.Phi, planned, response, Z, X, forces, gaps=gaps, friction=FRICTION)
    p = planned + response * (Z @ found.forces.ravel() + found.actuation)
    return dynamics, modes, found, np.einsum("pdv,v->pd", J, modes.Phi @ p)


@pytest.mark.parametrize("push", [(0, 0, 0), (60, 30, 0), (2000, 0, 0), (0, -2000, 0), (-500, 300, 200)])
def test_every_point_obeys_coulombs_law(character, squat, push):
    _, _, found, moved = corrected(character, squat, push)
    assert found.solved and found.residual < 1e-4
    assert moved[:, 2].min() > -1e-8 and found.forces[:, 2].min() > -1e-9
    np.testing.assert_allclose(found.forces[:, 2] * moved[:, 2], 0.0, atol=1e-5)
    for force, step in zip(found.forces, moved[:, :2], strict=True):
        # hexagon |d·f| ≤ μ cos 30° f_z over the directions of its edges, halfway between those of its corners
        edges = DIRECTIONS[:, :2] @ np.array(
            [[np.cos(np.pi / 6), -np.sin(np.pi / 6)], [np.sin(np.pi / 6), np.cos(np.pi / 6)]]
        )
        limit = FRICTION * np.cos(np.pi / 6.0) * force[2]
        assert np.max(edges @ force[:2]) <= limit + 1e-4
        if force[2] > 1.0 and np.linalg.norm(step) > 1e-7:  # it slides: at the limit, and braked
            assert np.max(edges @ force[:2]) >= limit - 1e-3
            assert force[:2] @ step < 0.0


def test_feet_that_leave_the_ground_carry_nothing(character, squat):
    _, _, found, moved = corrected(character, squat, [0.0, 0.0, 0.0], lift=2.0)
    assert np.abs(found.forces).max() < 1e-3 and moved[:, 2].min() > 0.0


def test_points_over_the_ground_may_come_down_to_it(character, squat):
    _, _, found, moved = corrected(character, squat, [0.0, 0.0, 0.0], gap=1e-4)
    assert moved[:, 2].min() > -1e-4 - 1e-8 and moved[:, 2].min() < -0.9e-4
    np.testing.assert_allclose(found.forces[:, 2] * (moved[:, 2] + 1e-4), 0.0, atol=1e-6)


def test_high_modes_keep_their_plan(character, squat):
    _, modes, found, _ = corrected(character, squat, [0.0, 0.0, 0.0])
    dynamics = character.linearise(squat.q[240])
    Z = DT * modes.Phi.T @ dynamics.J.reshape(-1, len(modes.Phi)).T
    total = Z @ found.forces.ravel() + found.actuation
    np.testing.assert_allclose(total[modes.high], 0.0, atol=1e-9)
    assert not found.actuation[modes.rigid].any()


def test_the_preference_is_the_optimum_of_its_cost(character, squat, random):
    dynamics = character.linearise(squat.q[240])
    modes = modes_of(dynamics, threshold=100.0)
    Z = DT * modes.Phi.T @ dynamics.J.reshape(-1, len(modes.Phi)).T
    response, weights = impulse_response(modes.squares, np.array([0.3]))[0][0], {"rigid": 0.7, "low": 1.3}
    X = preference(modes, response, Z, actuation=1e-3, **weights)
    change = random.normal(size=Z.shape[1])
    a_r, a_l = response[modes.rigid], response[modes.low]

    def cost(actuation):
        """Return (26), whose first term contains the gradients of (25) by finite differences."""

        def E(f, i):
            outer, inner = a_r * (Z[modes.rigid] @ f), a_l * (Z[modes.low] @ f + i)
            return 0.5 * (weights["rigid"] * outer @ outer + weights["low"] * inner @ inner)

        z = np.concatenate([actuation, change])
        k, h = len(actuation), 1e-3
        slopes = [
            (E((z + h * e)[k:], (z + h * e)[:k]) - E((z - h * e)[k:], (z - h * e)[:k])) / (2.0 * h)
            for e in np.eye(len(z))
        ]
        return float(np.sum(np.square(slopes)) + 1e-3 * actuation @ actuation)

    best = (X @ change)[modes.low]
    for step in 1e-2 * np.eye(len(best)):
        assert cost(best + step) > cost(best) and cost(best - step) > cost(best)
