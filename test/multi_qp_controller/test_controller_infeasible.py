"""Controller with an infeasible QP: relaxed limits, fallback solvers, explanation."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import run_scenario

DT = 0.01


@pytest.mark.parametrize("solver", ["daqp", "piqp_sparse", "quadprog"])
@pytest.mark.parametrize("formulation", ["full", "reduced"])
def test_infeasible_limits_are_relaxed(box, formulation, solver, make_bench):
    """A velocity limit beyond the motors' capability is relaxed and reported; the dynamics still hold."""
    box.spec.states["stand"].transitions.clear()
    bench = make_bench(box, formulation=formulation, solver=solver)
    bench.step()
    v = bench.state.v.copy()
    v[bench.index("humanoid/R_SHOULDER_P")[1]] = -40.0  # five times its limit: no motor stops that in one tick
    command = bench.controller.step(State(bench.state.q, v), bench.time)
    diagnostics = command.diagnostics
    assert diagnostics.status is Status.RELAXED
    assert diagnostics.message.startswith("the QP has no solution (infeasible); ")
    assert diagnostics.message.endswith("were relaxed")
    assert "joint limit humanoid/R_SHOULDER_P" in diagnostics.slack
    assert all(name.startswith(("joint limit", "collision", "friction cone")) for name in diagnostics.slack)
    assert diagnostics.dynamics_residual < 1e-8
    assert (np.abs(command.tau) <= bench.scene.torque_limits * (1 + 1e-6)).all()
    violated = [entry.row for entry in bench.controller.explain_failure().violated]
    assert any("R_SHOULDER_P" in row for row in violated)
    assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("deadline", [None, 1e9])
def test_limits_are_relaxed_for_one_tick(box, deadline):
    box.spec.states["stand"].transitions.clear()
    controller, state = Controller(box, deadline=deadline), box.scene.initial_state()
    assert controller.step(state, 0.0).diagnostics.status is Status.OK
    v = state.v.copy()
    v[box.scene.velocity_names.index("humanoid/R_SHOULDER_P")] = -40.0
    diagnostics = controller.step(State(state.q, v), 0.005).diagnostics
    assert diagnostics.status is Status.RELAXED, diagnostics.message
    assert diagnostics.message.startswith("the QP has no solution")
    assert controller.failed_problem is not None
    assert controller.step(state, 0.01).diagnostics.status is Status.OK


def test_infeasibility_of_a_200_kg_box_is_explained():
    scenario = load_scenario("box", parameters={"box.mass": 200.0})
    controllers = []
    result = run_scenario(scenario, dt=0.02, observers=[lambda controller, _: controllers.append(controller)])
    assert not result.succeeded
    assert result.report["qp_failures"] > 0
    explanation = controllers[-1].explain_failure()
    named = " ".join([v.row for v in explanation.violated] + [c.row for c in explanation.conflict])
    assert "infeasible" in explanation.message
    assert "dynamics box/root_joint" in named
    assert "torque limit humanoid/" in named or "friction cone" in named
    assert np.isfinite(result.log.tau).all()


def test_no_explanation_without_failure(bench):
    bench.step()
    assert bench.controller.failed_problem is None
    assert bench.controller.explain_failure() is None
