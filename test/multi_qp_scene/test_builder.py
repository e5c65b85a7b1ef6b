"""Assembled scenes: names, slices, masses, limits, initial poses."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_scene import load_scenario
from multi_qp_scene.resources import find_resource
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import State
from multi_qp_scene.subsystem import SubsystemKind


@pytest.fixture(scope="module")
def scene():
    return load_scenario("box").scene


def test_sizes(scene):
    assert (scene.nq, scene.nv, scene.na) == (7 + 30 + 7, 42, 30)
    assert list(scene.subsystems) == ["humanoid", "box"]
    assert list(scene.environment) == ["ground", "table"]
    assert [s.name for s in scene.characters] == ["humanoid"]
    kinds = {name: s.kind for name, s in {**scene.subsystems, **scene.environment}.items()}
    assert kinds == {
        "humanoid": SubsystemKind.CHARACTER,
        "box": SubsystemKind.OBJECT,
        "ground": SubsystemKind.ENVIRONMENT,
        "table": SubsystemKind.ENVIRONMENT,
    }


def test_q_and_v_hold_the_subsystems_one_after_the_other(scene):
    humanoid, box = scene.subsystems.values()
    assert (humanoid.q_slice, humanoid.v_slice) == (slice(0, 37), slice(0, 36))
    assert (box.q_slice, box.v_slice) == (slice(37, 44), slice(36, 42))
    assert humanoid.joint_v_slice == slice(6, 36)
    assert box.joint_v_slice == slice(42, 42)
    assert (humanoid.nv, box.nv) == (36, 6)
    assert humanoid.floating and box.floating


def test_every_name_has_the_prefix_of_its_subsystem(scene):
    prefixes = ("humanoid/", "box/", "ground/", "table/")
    assert all(name.startswith(prefixes) for name in scene.joint_names)
    assert all(frame.name.startswith(prefixes) for frame in list(scene.model.frames)[1:])
    for geometry in (scene.collision_model, scene.visual_model):
        assert all(item.name.startswith(prefixes) for item in geometry.geometryObjects)
    assert len(scene.velocity_names) == scene.nv
    assert len(set(scene.velocity_names)) == scene.nv
    assert scene.velocity_names[2] == "humanoid/root_joint z"
    assert scene.velocity_names[-1] == "box/root_joint yaw"


def test_inertia_is_block_diagonal(scene):
    q = pin.integrate(scene.model, scene.q0, np.random.default_rng(0).uniform(-1, 1, scene.nv))
    M = pin.crba(scene.model, scene.model.createData(), q)
    assert not M[:36, 36:].any()
    assert np.linalg.eigvalsh(np.triu(M) + np.triu(M, 1).T).min() > 0.0


def test_motors_are_in_the_order_of_the_file(scene):
    model = scene.model
    for name, v in zip(scene.actuated_joint_names, scene.actuated_v, strict=True):
        assert model.joints[model.getJointId(name)].idx_v == v
    assert scene.actuated_joint_names[0] == "humanoid/R_HIP_Y"
    assert scene.actuated_joint_names[6] == "humanoid/L_HIP_Y"
    np.testing.assert_array_equal(scene.subsystems["humanoid"].actuated, np.arange(30))
    assert len(scene.subsystems["box"].actuated) == 0


def test_effort_limits_are_those_of_the_chosen_set(tmp_path):
    path = tmp_path / "strong.yaml"
    for chosen, knee in ((None, 300.0), ("animation", 300.0), ("robot", 150.0)):
        humanoid = {"model": "humanoid"} | ({"effort_limits": chosen} if chosen else {})
        path.write_text(scenario_text(subsystems={"h": humanoid}))
        scene = load_scenario(path).scene
        limits = dict(zip(scene.actuated_joint_names, scene.torque_limits, strict=True))
        assert limits["h/R_KNEE_P"] == knee


def scenario_text(**parts):
    return yaml.safe_dump({"description": "test", "initial_state": "a", "states": {"a": {}}, **parts})


def test_limits_are_those_of_the_urdf(scene):
    limits, model = scene.limits, scene.model
    assert len(limits.v_index) == 30
    joint = model.joints[model.getJointId("humanoid/R_KNEE_P")]
    row = limits.v_index.tolist().index(joint.idx_v)
    assert limits.q_index[row] == joint.idx_q
    assert limits.lower[row] == pytest.approx(-0.017453293)
    assert limits.upper[row] == pytest.approx(2.617993878)
    assert limits.velocity[row] == 10.0


def test_initial_poses_are_those_of_the_file(scene):
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for name, wanted in (("humanoid/left_sole", 0.0), ("humanoid/right_sole", 0.0), ("box/bottom", 0.78)):
        assert data.oMf[scene.frame_id(name)].translation[2] == pytest.approx(wanted, abs=1e-6)
    knee = scene.model.joints[scene.model.getJointId("humanoid/R_KNEE_P")].idx_q
    assert scene.q0[knee] == 0.52
    state = scene.initial_state()
    assert not state.v.any()
    state.q[:] = 0.0
    assert scene.q0.any()  # the caller's copy


def test_postures_are_configurations_of_the_subsystem(scene):
    postures = scene.subsystems["humanoid"].postures
    assert set(postures) == {"zero", "standing", "half_sitting", "ready", "initial"}
    np.testing.assert_array_equal(postures["initial"], postures["half_sitting"])
    assert all(q.shape == (37,) for q in postures.values())
    assert postures["ready"][7:].any()
    assert not postures["zero"][7:].any()


def test_a_mass_is_scaled_with_its_inertia():
    light, heavy = (load_scenario("box", parameters={"box.mass": m}).scene for m in (3.0, 6.0))
    box = light.model.getJointId("box/root_joint")
    assert light.subsystems["box"].mass == pytest.approx(3.0)
    assert heavy.subsystems["box"].mass == pytest.approx(6.0)
    np.testing.assert_allclose(heavy.model.inertias[box].inertia, 2.0 * light.model.inertias[box].inertia)
    np.testing.assert_allclose(heavy.model.inertias[box].lever, light.model.inertias[box].lever)


def test_surfaces_are_frames_on_their_links(scene):
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for name, surface in scene.surfaces.items():
        assert scene.frame_id(name) == surface.frame_id
        X_world_link = data.oMf[scene.frame_id(surface.link)]
        X = X_world_link * surface.X_link_surface
        np.testing.assert_allclose(X.homogeneous, data.oMf[surface.frame_id].homogeneous, atol=1e-12)
        assert (surface.joint_id == 0) == (name.split("/")[0] in scene.environment)
    assert data.oMf[scene.frame_id("humanoid/left_sole")].rotation[2, 2] == pytest.approx(-1.0, abs=1e-6)
    assert data.oMf[scene.frame_id("table/top")].rotation[2, 2] == pytest.approx(1.0)


def test_a_model_may_be_used_twice(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        scenario_text(
            subsystems={
                "one": {"model": "humanoid", "color": [1.0, 0.0, 0.0], "pose": {"xyz": [0.0, 1.0, 0.75]}},
                "two": {"model": "humanoid", "mass": 78.0, "posture": {"R_KNEE_P": 0.3}},
            }
        )
    )
    scene = load_scenario(path).scene
    one, two = scene.subsystems.values()
    assert (scene.nv, scene.na) == (72, 60)
    assert two.mass == pytest.approx(78.0)
    assert one.mass == pytest.approx(39.0, abs=0.5)
    assert one.color == (1.0, 0.0, 0.0)
    np.testing.assert_array_equal(scene.q0[:3], [0.0, 1.0, 0.75])
    knee = scene.model.joints[scene.model.getJointId("two/R_KNEE_P")].idx_q
    assert scene.q0[knee] == 0.3
    assert set(one.links).isdisjoint(two.links)


def test_an_unknown_frame_is_named(scene):
    with pytest.raises(KeyError, match="no frame 'humanoid/tail'"):
        scene.frame_id("humanoid/tail")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_is_finite_detects_nan_and_infinity(scene, bad):
    state = scene.initial_state()
    assert state.is_finite
    for where in ("q", "v"):
        spoiled = State(state.q.copy(), state.v.copy())
        getattr(spoiled, where)[3] = bad
        assert not spoiled.is_finite
    both = State(state.q.copy(), state.v.copy())
    both.q[0], both.v[0] = np.inf, -np.inf
    assert not both.is_finite


def test_an_angle_of_a_continuous_joint_is_cosine_and_sine():
    model = pin.Model()
    model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "hinge")
    model.addJoint(1, pin.JointModelRUBX(), pin.SE3.Identity(), "wheel")
    q = pin.neutral(model)
    ScalarJoint.of(model, "hinge").set_angle(q, 0.4)
    ScalarJoint.of(model, "wheel").set_angle(q, 2.0)
    np.testing.assert_allclose(q, [0.4, np.cos(2.0), np.sin(2.0)])


def test_placements_of_fixed_joints_are_preserved_by_the_assembly():
    alone = pin.buildModelFromUrdf(str(find_resource("urdf/lever.urdf")))
    scene = load_scenario("lever").scene
    together = scene.model.inertias[scene.model.getJointId("lever/lever")]
    assert together.lever == pytest.approx(alone.inertias[1].lever)
    assert together.inertia == pytest.approx(alone.inertias[1].inertia)
