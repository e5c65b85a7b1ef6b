"""The exported URDF is equal to the scene's model, and its meshes have resolvable URIs."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import load_scenario, resources
from multi_qp_scene.description import UNLIMITED, robot_descriptions

MASSES = {"king.mass": 52.0, "litter.mass": 7.0}


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("king", parameters=MASSES)


@pytest.fixture(scope="module")
def descriptions(scenario):
    return robot_descriptions(scenario)


def test_every_part_has_one(scenario, descriptions):
    assert set(descriptions) == {*scenario.scene.subsystems, *scenario.scene.environment}


@pytest.mark.parametrize("name", ["front", "king", "litter"])
def test_it_has_the_mass_and_the_inertia_of_the_scene(scenario, descriptions, name):
    model = pin.buildModelFromXML(descriptions[name], pin.JointModelFreeFlyer())
    subsystem, data = scenario.scene.subsystems[name], model.createData()
    assert model.nv == subsystem.nv
    M = pin.crba(model, data, pin.neutral(model))
    q = pin.neutral(scenario.scene.model)
    all_of_it = pin.crba(scenario.scene.model, scenario.scene.model.createData(), q)
    where = subsystem.v_slice
    np.testing.assert_allclose(np.triu(M), np.triu(all_of_it[where, where]), atol=1e-8)


def test_meshes_are_files_and_colours_the_scenario_s(scenario, descriptions):
    root = ElementTree.fromstring(descriptions["king"])
    uris = [urlparse(mesh.get("filename")) for mesh in root.iter("mesh")]
    assert len(uris) > 20
    assert {uri.scheme for uri in uris} == {"file"}
    assert all(Path(unquote(uri.path)).is_file() for uri in uris)
    shown = root.find("material[@name='tint']/color").get("rgba")
    assert [float(channel) for channel in shown.split()] == [*scenario.spec.subsystems["king"].color, 1.0]


def test_package_uris_are_unchanged_for_packages_known_to_ros(scenario, monkeypatch):
    monkeypatch.setattr("multi_qp_scene.description.ros_package_share", lambda package: resources.resource_dirs()[0])
    assert "package://multi_qp_controller/urdf/meshes/litter/" in robot_descriptions(scenario)["litter"]


def limits_of(text):
    """Return lower, upper, velocity and effort limit of each movable joint, without placeholders for infinity."""
    found = {}
    for joint in ElementTree.fromstring(text).iterfind("joint"):
        if joint.get("type") in ("revolute", "continuous", "prismatic"):
            given = [joint.find("limit").get(name) for name in ("lower", "upper", "velocity", "effort")]
            numbers = [math.nan if value is None else float(value) for value in given]
            found[joint.get("name")] = [math.copysign(math.inf, n) if abs(n) >= UNLIMITED else n for n in numbers]
    return found


@pytest.mark.parametrize("name", resources.scenario_names())
def test_its_limits_are_those_of_the_controller(name):
    """Effort limits are those of the scenario's set, not those of the URDF."""
    scenario = load_scenario(name)
    scene, count = scenario.scene, 0
    for part, text in robot_descriptions(scenario).items():
        for joint, (lower, upper, velocity, effort) in limits_of(text).items():
            full = f"{part}/{joint}"
            row = scene.limits.v_index.tolist().index(scene.model.joints[scene.model.getJointId(full)].idx_v)
            assert (lower, upper) == (scene.limits.lower[row], scene.limits.upper[row]), full
            assert velocity == scene.limits.velocity[row], full
            count += 1
            if full in scene.actuated_joint_names:
                assert effort == scene.torque_limits[scene.actuated_joint_names.index(full)], full
    assert count == len(scene.limits.v_index)


def test_a_joint_without_limits_has_large_finite_limits(tmp_path):
    """URDF has no infinity, and other programs refuse a revolute joint without limits."""
    joints = "".join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial></link><joint name="{name}_joint" type="{kind}"><parent link="base"/><child link="{name}"/>'
        f'<axis xyz="0 0 1"/></joint>'
        for name, kind in (("turn", "revolute"), ("slide", "prismatic"), ("wheel", "continuous"))
    )
    (tmp_path / "free.urdf").write_text(f'<robot name="free"><link name="base"/>{joints}</robot>')
    (tmp_path / "free.yaml").write_text("{urdf: free.urdf, root: fixed}")
    (tmp_path / "scene.yaml").write_text(
        "{description: free, subsystems: {free: {model: ./free.yaml}}, initial_state: only, states: {only: {}}}"
    )
    limits = limits_of(robot_descriptions(load_scenario(tmp_path / "scene.yaml"))["free"])
    assert limits["turn_joint"] == limits["slide_joint"] == [-math.inf, math.inf, math.inf, 0.0]
    assert limits["wheel_joint"][2:] == [math.inf, 0.0]
