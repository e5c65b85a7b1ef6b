"""Costs of trajectory optimisations: value, gradient and Hessian."""

import numpy as np
import pytest

from contact_invariant.cost_sum import CostSum
from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene import load_scenario

MARGIN, SHARE, ANGLES, SPEEDS, EFFORT, TORQUES = 0.03, 0.8, 1e4, 10.0, 20.0, 300.0


@pytest.fixture(scope="module")
def limited():
    """Return the scene of a humanoid, its largest torques, and value and derivatives of the costs of limits."""
    scene = load_scenario("stand").scene
    limit = np.zeros(scene.nv)
    limit[scene.actuated_v] = scene.torque_limits
    state = crocoddyl.StateMultibody(scene.model)
    costs = CostSum(state, scene.nv - 6)
    costs.joint_limits(scene, MARGIN, SHARE, ANGLES, SPEEDS)
    costs.torques(limit[6:], EFFORT, SHARE, TORQUES / limit[6:] ** 2)
    kinematics = scene.model.createData()
    collector = crocoddyl.DataCollectorMultibody(kinematics)  # the data of the costs has no reference to it
    data = costs.sum.createData(collector)

    def evaluate(x, u):
        costs.sum.calc(data, x, u)
        costs.sum.calcDiff(data, x, u)
        gradient = np.concatenate([data.Lx, data.Lu])
        return data.cost, gradient, np.block([[data.Lxx, data.Lxu], [data.Lxu.T, data.Luu]])

    return scene, limit[6:], state, evaluate


def around(scene, limit, reach):
    """Return states and controls with which ratios of joint angles, speeds and torques end at `reach`."""
    limits, rng = scene.limits, np.random.default_rng(1)
    q, v = scene.q0.copy(), np.zeros(scene.nv)
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    ratios = iter(reach * rng.uniform(-1.0, 1.0, (3, len(limit))))
    q[limits.q_index] = middle + half * next(ratios)[: len(middle)]
    v[limits.v_index] = limits.velocity * next(ratios)[: len(middle)]
    return np.concatenate([q, v]), limit * next(ratios)


def test_value_of_barriers(limited):
    scene, limit, _, evaluate = limited
    x, u = around(scene, limit, 1.3)
    limits, q, v = scene.limits, x[: scene.nq], x[scene.nq :]
    low, high = limits.lower + MARGIN, limits.upper - MARGIN
    angle = q[limits.q_index]
    beyond = np.maximum(0.0, np.maximum(low - angle, angle - high))
    fast = np.maximum(0.0, np.abs(v[limits.v_index]) - SHARE * limits.velocity)
    ratio = np.abs(u) / limit
    strong = np.maximum(0.0, ratio - SHARE)
    assert (beyond > 0.0).any() and (fast > 0.0).any() and (strong > 0.0).any()
    squares = ANGLES * beyond @ beyond, SPEEDS * fast @ fast, EFFORT * ratio @ ratio, TORQUES * strong @ strong
    assert evaluate(x, u)[0] == pytest.approx(0.5 * sum(squares))


@pytest.mark.parametrize("reach", [0.7, 0.9, 1.3])
def test_gradient_and_hessian_are_those_of_the_value(limited, reach):
    scene, limit, state, evaluate = limited
    x, u = around(scene, limit, reach)
    _, gradient, hessian = evaluate(x, u)
    step, n = 1e-5, state.ndx
    for k in range(n + len(limit)):
        moved = []
        for h in (step, -step):
            d = h * np.eye(n + len(limit))[k]
            moved.append(evaluate(state.integrate(x, d[:n]), u + d[n:]))
        (value, slope), (back, slope_back) = moved[0][:2], moved[1][:2]
        assert (value - back) / (2.0 * step) == pytest.approx(gradient[k], rel=1e-4, abs=1e-4)
        np.testing.assert_allclose((slope - slope_back) / (2.0 * step), hessian[k], rtol=1e-5, atol=1e-3)
