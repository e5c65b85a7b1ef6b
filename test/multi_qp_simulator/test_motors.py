"""Rotor inertia and damping of actuated joints: the controller's M, inverse dynamics, energy, and MuJoCo agree."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import make_backend, run_scenario

MODEL = """\
urdf: humanoid.urdf
motors:
  L_KNEE_P: {rotor_inertia: 1.0e-4, gear_ratio: 100}
  R_KNEE_P: {rotor_inertia: 1.0e-4, gear_ratio: -100}
  CHEST_P: {rotor_inertia: 0.2}
passive_joints:
  L_ELBOW_P: {damping: 0.7}
"""
SCENE = """\
description: a humanoid with rotors in the air
dt: 0.005
subsystems:
  humanoid: {model: model.yaml}
tasks:
  posture: {type: posture, subsystem: humanoid}
initial_state: only
states:
  only: {hold: 0.1}
"""
ROTORS = {"L_KNEE_P": 1.0, "R_KNEE_P": 1.0, "CHEST_P": 0.2}


def load(folder, model=MODEL):
    (folder / "model.yaml").write_text(model)
    (folder / "scene.yaml").write_text(SCENE)
    return load_scenario(folder / "scene.yaml")


def column(scene, joint):
    return scene.model.joints[scene.model.getJointId(f"humanoid/{joint}")].idx_v


@pytest.fixture
def moving(tmp_path):
    """Return a scenario, its kinematics at a random state, and that state."""
    scenario = load(tmp_path)
    scene, random = scenario.scene, np.random.default_rng(2)
    q = pin.integrate(scene.model, scene.q0, 0.3 * random.standard_normal(scene.nv))
    state = State(q, random.standard_normal(scene.nv))
    kinematics = Kinematics(scene)
    kinematics.update(state)
    return scenario, kinematics, state


def test_reflected_inertia_is_on_the_diagonal_of_M(moving, tmp_path):
    scenario, kinematics, state = moving
    bare = Kinematics(load(tmp_path, MODEL.split("motors:")[0]).scene)
    bare.update(state)
    expected = np.zeros(scenario.scene.nv)
    for joint, inertia in ROTORS.items():
        expected[column(scenario.scene, joint)] = inertia
    assert kinematics.M - bare.M == pytest.approx(np.diag(expected), abs=1e-12)


def test_inverse_dynamics_are_pinocchios(moving):
    scenario, kinematics, state = moving
    scene = scenario.scene
    a = np.random.default_rng(3).standard_normal(scene.nv)
    damped = np.zeros(scene.nv)
    damped[column(scene, "L_ELBOW_P")] = 0.7 * state.v[column(scene, "L_ELBOW_P")]
    expected = pin.rnea(scene.model, scene.model.createData(), state.q, state.v, a) + damped
    assert kinematics.M @ a + kinematics.N == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_mujoco_has_the_same_inertia_and_acceleration(moving):
    scenario, kinematics, state = moving
    scene, backend = scenario.scene, make_backend("mujoco", scenario)
    backend.world.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    backend.state = state
    T, drift = backend.coordinates.jacobian(state.q), backend.coordinates.drift(state)
    M = np.zeros((scene.nv, scene.nv))
    mujoco.mj_fullM(backend.world, backend.data, M)
    assert T.T @ M @ T == pytest.approx(kinematics.M, rel=1e-9, abs=1e-9)
    tau = np.random.default_rng(1).standard_normal(scene.na)
    backend.data.ctrl[:] = tau
    mujoco.mj_forward(backend.world, backend.data)
    force = -kinematics.N
    force[scene.actuated_v] += tau
    acceleration = np.linalg.solve(T, backend.data.qacc - drift)
    assert acceleration == pytest.approx(np.linalg.solve(kinematics.M, force), rel=1e-9, abs=1e-9)


def test_power_of_torques_and_dampers_is_the_rate_of_the_energy(moving):
    """Energy: rigid bodies by pinocchio, the rotors' ½ J q̇² by hand."""
    scenario, kinematics, state = moving
    scene = scenario.scene
    data, h = scene.model.createData(), 1e-5
    rotors = np.zeros(scene.nv)
    for joint, inertia in ROTORS.items():
        rotors[column(scene, joint)] = inertia
    rigid = scene.model.copy()
    rigid.armature = np.zeros(scene.nv)

    def energy(q, v):
        pin.computeMechanicalEnergy(rigid, data, q, v)
        return data.kinetic_energy + data.potential_energy + 0.5 * v @ (rotors * v)

    force = np.zeros(scene.nv)
    force[scene.actuated_v] = 5.0 * np.random.default_rng(1).standard_normal(scene.na)
    a = np.linalg.solve(kinematics.M, force - kinematics.N)
    ends = [energy(pin.integrate(scene.model, state.q, s * state.v + 0.5 * s**2 * a), state.v + s * a) for s in (h, -h)]
    loss = 0.7 * state.v[column(scene, "L_ELBOW_P")] ** 2
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(state.v @ force - loss, rel=1e-5)


def test_log_satisfies_the_equation_of_motion(moving):
    scenario, *_ = moving
    log = run_scenario(scenario).log
    scene = scenario.scene
    for k in range(0, len(log.time), 5):
        needed = pin.rnea(scene.model, scene.model.createData(), log.q[k], log.v[k], log.a[k])
        needed[scene.passive.v_index] += scene.passive.resistance(log.q[k], log.v[k])
        applied = np.zeros(scene.nv)
        applied[scene.actuated_v] = log.tau[k]
        assert needed == pytest.approx(applied, abs=1e-6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("L_KNEE_P: {rotor_inertia: -1}", "motors.L_KNEE_P.rotor_inertia: expected a number"),
        ("L_KNEE: {rotor_inertia: 1}", "unknown actuated joint 'L_KNEE'; did you mean 'L_KNEE_P'?"),
        ("L_KNEE_P: {gear_ratio: 100}", "the key 'rotor_inertia' is missing"),
    ],
)
def test_invalid_motors_give_one_message(line, message, tmp_path):
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, MODEL.replace("L_KNEE_P: {rotor_inertia: 1.0e-4, gear_ratio: 100}", line))
    assert message in str(raised.value) and len(raised.value.problems) == 1


def test_a_scenario_replaces_rotors_by_patterns(tmp_path):
    (tmp_path / "model.yaml").write_text(MODEL)
    motors = 'motors: {"*WRIST_P": {rotor_inertia: 0.003}, CHEST_P: {rotor_inertia: 0.1}}'
    (tmp_path / "scene.yaml").write_text(SCENE.replace("model.yaml}", "model.yaml, " + motors + "}"))
    scene = load_scenario(tmp_path / "scene.yaml").scene
    expected = {"L_WRIST_P": 0.003, "R_WRIST_P": 0.003, "L_WRIST_R": 0.0, "CHEST_P": 0.1, "L_KNEE_P": 1.0}
    assert {joint: scene.model.armature[column(scene, joint)] for joint in expected} == pytest.approx(expected)


def test_a_rotor_of_an_unknown_joint_is_refused(tmp_path):
    (tmp_path / "model.yaml").write_text(MODEL)
    motors = 'motors: {"*WRST*": {rotor_inertia: 0.003}}'
    (tmp_path / "scene.yaml").write_text(SCENE.replace("model.yaml}", "model.yaml, " + motors + "}"))
    with pytest.raises(ConfigError, match=r"scene.yaml.*WRST"):
        load_scenario(tmp_path / "scene.yaml")
