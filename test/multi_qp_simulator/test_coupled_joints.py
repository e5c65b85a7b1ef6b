"""Mimic joints in closed loop: a gripper on a swinging arm."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp import solver_names
from multi_qp_controller.qp.formulations import FORMULATIONS
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import Run, RunResult, run_scenario

DT = 0.005
LINK = """<link name="{name}"><inertial><origin xyz="0.05 0 0.02"/><mass value="{mass}"/>
<inertia ixx="0.002" iyy="0.003" izz="0.0025" ixy="0" ixz="0.0002" iyz="0"/></inertial></link>
"""
JOINT = """<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{xyz}"/><axis xyz="{axis}"/><limit lower="-1.5" upper="1.5" effort="{effort}" velocity="6"/>{mimic}</joint>
"""
#: name, type, parent, child, place, axis, effort, mimic; `right`, `thumb`, `tip` and `rack` all follow `left`.
JOINTS = (
    ("shoulder", "revolute", "base", "upper", "0 0 1", "0 1 0", 60, ""),
    ("left", "revolute", "upper", "left_finger", "0.3 0.05 0", "0 0 1", 20, ""),
    ("right", "revolute", "upper", "right_finger", "0.3 -0.05 0", "0 0 1", 20,
     '<mimic joint="left" multiplier="-1"/>'),
    ("thumb", "revolute", "upper", "thumb", "0.3 0 0.05", "0 1 0", 20,
     '<mimic joint="left" multiplier="2" offset="0.1"/>'),
    ("tip", "continuous", "right_finger", "right_tip", "0.1 0 0", "0 1 0", 0,
     '<mimic joint="right" multiplier="0.5" offset="-0.2"/>'),
    ("rack", "prismatic", "upper", "rack", "0.1 0 0", "1 0 0", 0, '<mimic joint="left" multiplier="0.2"/>'),
)  # fmt: skip
FOLLOWERS = {"right": (-1.0, 0.0), "thumb": (2.0, 0.1), "tip": (-0.5, -0.2), "rack": (0.2, 0.0)}


def gripper_urdf() -> str:
    links = {"base": 1.0} | {child: 1.0 if child == "upper" else 0.3 for _, _, _, child, *_ in JOINTS}
    keys = ("name", "type", "parent", "child", "xyz", "axis", "effort", "mimic")
    parts = [LINK.format(name=name, mass=mass) for name, mass in links.items()]
    parts += [JOINT.format(**dict(zip(keys, row, strict=True))) for row in JOINTS]
    return f'<robot name="gripper">\n{"".join(parts)}</robot>\n'


@pytest.fixture(scope="module")
def gripper(tmp_path_factory) -> Scenario:
    """Return an arm that swings while its hand closes."""
    folder: Path = tmp_path_factory.mktemp("gripper")
    (folder / "gripper.urdf").write_text(gripper_urdf())
    (folder / "gripper.yaml").write_text("urdf: gripper.urdf\nroot: fixed\n")
    swing = {"type": "joint_angle", "joint": "g/shoulder", "target": 0.8, "duration": 0.4, "weight": 10}
    close = {"type": "joint_angle", "joint": "g/left", "target": 0.5, "duration": 0.5, "weight": 10, "stiffness": 100}
    scenario = {
        "description": "a gripper closes",
        "dt": DT,
        "duration": 1.0,
        "subsystems": {"g": {"model": "gripper.yaml", "posture": {"left": -0.2}}},
        "tasks": {"posture": {"type": "posture", "subsystem": "g", "weight": 0.01}, "swing": swing, "close": close},
        "initial_state": "close",
        "states": {"close": {"hold": 1.0}},
    }
    (folder / "close.yaml").write_text(yaml.safe_dump(scenario, sort_keys=False))
    return load_scenario(folder / "close.yaml")


@pytest.fixture(scope="module")
def closed(gripper) -> RunResult:
    result = run_scenario(gripper)
    assert result.report["qp_failures"] == 0, result.report["failure"]
    return result


def angle(gripper: Scenario, q: np.ndarray, name: str) -> np.ndarray:
    """Return a joint's angle at all ticks, (T,)."""
    joint = gripper.scene.model.joints[gripper.scene.model.getJointId(f"g/{name}")]
    if joint.nq == 2:
        return np.arctan2(q[..., joint.idx_q + 1], q[..., joint.idx_q])
    return q[..., joint.idx_q]


def followers_error(gripper: Scenario, q: np.ndarray) -> float:
    """Return the largest error of any coupling at any tick, from the angles and the URDF alone."""
    left = angle(gripper, q, "left")
    errors = [angle(gripper, q, name) - (k * left + offset) for name, (k, offset) in FOLLOWERS.items()]
    return float(np.abs(errors).max())


def reduction(gripper: Scenario) -> np.ndarray:
    """Return T of v = T (shoulder, left): all motions that keep the couplings, (nv, 2)."""
    model = gripper.scene.model
    T = np.zeros((model.nv, 2))
    for name, (column, factor) in {
        "shoulder": (0, 1.0),
        "left": (1, 1.0),
        **{name: (1, k) for name, (k, _) in FOLLOWERS.items()},
    }.items():
        T[model.joints[model.getJointId(f"g/{name}")].idx_v, column] = factor
    return T


def test_the_couplings_hold_while_the_leader_moves_to_its_target(gripper, closed):
    assert followers_error(gripper, closed.log.q) < 1e-9
    assert angle(gripper, closed.log.q[0], "left") == pytest.approx(-0.2)
    assert angle(gripper, closed.log.q[-1], "left") == pytest.approx(0.5, abs=0.01)
    assert gripper.scene.actuated_joint_names == ("g/shoulder", "g/left")
    assert np.abs(closed.log.v).max() > 1.0


def test_the_equation_of_motion_holds_from_the_log_alone(gripper, closed, tmp_path):
    closed.log.save(tmp_path / "run.npz")
    log, model = Log.load(tmp_path / "run.npz"), gripper.scene.model
    assert list(log.coupling_names) == ["g/right", "g/thumb", "g/tip", "g/rack"]
    assert log.coupling_force.shape == (len(log.time), 4)
    data = model.createData()
    motors = [model.joints[model.getJointId(str(name))].idx_v for name in log.actuated_joint_names]
    for k in range(len(log.time)):
        applied = log.coupling_jacobian.T @ log.coupling_force[k]
        applied[motors] += log.tau[k]
        np.testing.assert_allclose(pin.rnea(model, data, log.q[k], log.v[k], log.a[k]), applied, rtol=0, atol=1e-9)
    assert np.abs(log.coupling_force).max(axis=0).min() > 0.05, "every coupling carries something"


def test_the_forces_are_those_of_a_linkage(gripper, closed):
    """Coupling forces vanish in the reduced motions: Tᵀ (M q̈ + N) = Tᵀ S τ."""
    log, T, kinematics = closed.log, reduction(gripper), Kinematics(gripper.scene)
    for k in range(0, len(log.time), 10):
        kinematics.update(State(log.q[k], log.v[k]))
        needed = T.T @ (kinematics.M @ log.a[k] + kinematics.N)
        np.testing.assert_allclose(needed, log.tau[k], rtol=0, atol=1e-9)


def test_couplings_do_no_work(closed):
    log = closed.log
    power = np.einsum("tk,kv,tv->t", log.coupling_force, log.coupling_jacobian, log.v)
    assert np.abs(power).max() < 1e-9
    one_side = log.coupling_force * log.v[:, np.argmax(log.coupling_jacobian == 1.0, axis=1)]
    assert np.abs(one_side).max() > 0.05, "though each passes power on"


@pytest.mark.parametrize(
    ("solver", "formulation"), [("active_set", "condensed"), *itertools.product(solver_names(), FORMULATIONS)]
)
def test_all_solvers_and_formulations_agree(gripper, closed, solver, formulation):
    tick = len(closed.log.time) // 4
    state = State(closed.log.q[tick], closed.log.v[tick])

    def answer(solver, formulation) -> Command:
        controller = Controller(gripper, solver=solver, formulation=formulation)
        controller.step(State(closed.log.q[0], closed.log.v[0]), 0.0)
        return controller.step(state, tick * DT)

    wanted, got = answer("daqp", "reduced"), answer(solver, formulation)
    assert got.diagnostics.status is Status.OK
    np.testing.assert_allclose(got.a, wanted.a, atol=1e-3)
    np.testing.assert_allclose(got.tau, wanted.tau, atol=1e-4)
    assert got.couplings.keys() == wanted.couplings.keys()
    np.testing.assert_allclose(list(got.couplings.values()), list(wanted.couplings.values()), atol=1e-4)


def test_sizes_count_a_variable_and_a_row_for_each(closed):
    """(q̈, τ, Λ): 6 + 2 + 4; dynamics and couplings: 6 + 4; coupling forces are unbounded."""
    size = closed.report["qp"]
    assert (size["variables"], size["equalities"]) == (6 + 2 + 4, 6 + 4)
    assert size["inequalities"] == 6 + 2


def test_a_mimicking_joints_own_limit_stops_the_leader(gripper):
    """`thumb` = 2 left + 0.1 ends at 1.5: the leader cannot go beyond 0.7, wherever it is sent."""
    beyond = gripper.spec.tasks["close"].model_copy(update={"target": 1.4})
    spec = gripper.spec.model_copy(update={"tasks": gripper.spec.tasks | {"close": beyond}})
    result = run_scenario(replace(gripper, spec=spec), duration=2.0)
    assert result.report["qp_failures"] == 0
    assert followers_error(gripper, result.log.q) < 1e-9
    assert angle(gripper, result.log.q, "thumb").max() <= 1.5
    assert angle(gripper, result.log.q[-1], "left") > 0.6


def test_postures_do_not_include_mimic_joints(gripper):
    controller = Controller(gripper)
    controller.step(gripper.scene.initial_state(), 0.0)
    assert controller.tasks["posture"].dim == 2


def test_an_inconsistent_start_is_corrected_in_one_step(gripper):
    scene, world = gripper.scene, Integrator(gripper)
    start = State(pin.integrate(scene.model, scene.q0, 0.001 * np.arange(6.0)), 0.01 * np.arange(6.0))
    world.state = start
    controller = Controller(gripper)
    assert followers_error(gripper, start.q) > 1e-3
    command = controller.step(start, 0.0)
    assert command.diagnostics.status is Status.OK
    world.step(command, DT)
    assert followers_error(gripper, world.state.q) < 1e-12


def test_in_a_fallback_the_couplings_hold_and_obey_the_reduced_equation_of_motion(gripper):
    """(Tᵀ M T) ẍ = Tᵀ (S τ − N) of the two motions that are left, at rest; then it falls, still coupled."""
    scene, world, T = gripper.scene, Integrator(gripper), reduction(gripper)
    tau = np.array([3.0, -0.4])
    command = Command(0.0, tau, np.full(scene.nv, np.nan), {}, Diagnostics(status=Status.FALLBACK))
    kinematics = Kinematics(scene)
    kinematics.update(world.state)
    outcome = world.step(command, DT)
    expected = T @ np.linalg.solve(T.T @ kinematics.M @ T, tau - T.T @ kinematics.N)
    np.testing.assert_allclose(outcome.acceleration, expected, atol=1e-8)
    assert set(outcome.couplings) == set(scene.couplings.names)
    for _ in range(40):
        outcome = world.step(command, DT)
        assert followers_error(gripper, world.state.q) < 1e-9
    assert np.abs(world.state.v).max() > 0.5


def test_forces_that_the_backend_does_not_provide_are_nan_in_the_log(gripper):
    class Silent(Integrator):
        def step(self, command, dt):
            outcome = super().step(command, dt)
            return type(outcome)(outcome.acceleration, outcome.wrenches)

    result = Run(gripper, Controller(gripper), Silent(gripper), duration=0.05).execute()
    assert np.isnan(result.log.coupling_force).all() and result.log.coupling_force.shape[1] == 4
