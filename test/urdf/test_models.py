from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
URDF = ET.parse(ROOT / "urdf/humanoid.urdf").getroot()
HRP4_ORDER = (
    "R_HIP_Y R_HIP_R R_HIP_P R_KNEE_P R_ANKLE_P R_ANKLE_R "
    "L_HIP_Y L_HIP_R L_HIP_P L_KNEE_P L_ANKLE_P L_ANKLE_R CHEST_P CHEST_Y NECK_Y NECK_P "
    "R_SHOULDER_P R_SHOULDER_R R_SHOULDER_Y R_ELBOW_P R_WRIST_Y R_WRIST_P R_WRIST_R "
    "L_SHOULDER_P L_SHOULDER_R L_SHOULDER_Y L_ELBOW_P L_WRIST_Y L_WRIST_P L_WRIST_R"
).split()
MIRROR = np.diag([1.0, -1.0, 1.0])


def numbers(text: str) -> np.ndarray:
    return np.array([float(v) for v in text.split()])


def vertices(mesh: str) -> np.ndarray:
    lines = (ROOT / "urdf/meshes/humanoid" / mesh).read_text().splitlines()
    return np.array([numbers(line[2:]) for line in lines if line.startswith("v ")])


def test_committed_files_are_what_the_generator_writes(tmp_path):
    command = [sys.executable, str(ROOT / "urdf/make_models.py"), "--output", str(tmp_path)]
    subprocess.run(command, check=True, timeout=120)
    written = {p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()}
    meshes = {p.relative_to(ROOT) for p in (ROOT / "urdf/meshes").rglob("*.obj")}
    assert meshes == {p for p in written if p.suffix == ".obj"}
    number = re.compile(r"-?\d+(?:\.\d+)?")
    for path in sorted(written):
        new, old = (tmp_path / path).read_text(), (ROOT / path).read_text()
        assert number.sub("#", new) == number.sub("#", old), path
        # The sine of another platform may differ in the last written digit.
        values = [np.array([float(v) for v in number.findall(text)]) for text in (new, old)]
        np.testing.assert_allclose(*values, rtol=0, atol=1.1e-5, err_msg=str(path))


def test_joints_have_hrp4_names_order_and_axes():
    revolute = [j for j in URDF.iter("joint") if j.get("type") == "revolute"]
    assert [j.get("name") for j in revolute] == HRP4_ORDER
    for joint in revolute:
        axis = {"Y": "0 0 1", "P": "0 1 0", "R": "1 0 0"}[joint.get("name")[-1]]
        assert joint.find("axis").get("xyz") == axis
        assert joint.find("origin").get("rpy") is None


def test_mass_and_height_are_hrp4s(humanoid):
    assert pin.computeTotalMass(humanoid.model) == pytest.approx(39.0, abs=0.5)
    q = humanoid.standing_on_soles({})
    crown = humanoid.frame(q, "head").act(np.array([0, 0, vertices("helmet.obj")[:, 2].max()]))
    assert crown[2] == pytest.approx(1.51, abs=0.02)


def test_bodies_are_physical(figure):
    for inertia in figure.model.inertias[1:]:
        assert inertia.mass > 0.0
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert moments[0] > 1e-6
        assert moments[2] < moments[0] + moments[1]


def test_every_mass_of_the_file_is_physical():
    for inertial in URDF.iter("inertial"):
        cell = {k: float(v) for k, v in inertial.find("inertia").attrib.items()}
        matrix = [
            [cell["ixx"], cell["ixy"], cell["ixz"]],
            [cell["ixy"], cell["iyy"], cell["iyz"]],
            [cell["ixz"], cell["iyz"], cell["izz"]],
        ]
        moments = np.linalg.eigvalsh(np.array(matrix))
        assert float(inertial.find("mass").get("value")) > 0
        assert moments[0] > 0 and moments[2] < moments[0] + moments[1]


def test_left_side_mirrors_the_right(humanoid):
    model = humanoid.model
    for right in (n for n in humanoid.joints if n.startswith("R_")):
        r, left = model.getJointId(right), model.getJointId("L_" + right[2:])
        np.testing.assert_allclose(
            model.jointPlacements[left].translation, MIRROR @ model.jointPlacements[r].translation, atol=1e-9
        )
        a, b = model.inertias[r], model.inertias[left]
        assert a.mass == b.mass
        np.testing.assert_allclose(b.lever, MIRROR @ a.lever, atol=1e-9)
        np.testing.assert_allclose(b.inertia, MIRROR @ a.inertia @ MIRROR, atol=1e-9)
        i, j = model.joints[r].idx_q, model.joints[left].idx_q
        limits = [model.lowerPositionLimit[i], model.upperPositionLimit[i]]
        if not right.endswith("_P"):
            limits = [-limits[1], -limits[0]]
        np.testing.assert_allclose([model.lowerPositionLimit[j], model.upperPositionLimit[j]], limits)
        for bound in (model.velocityLimit, model.effortLimit):
            assert bound[model.joints[r].idx_v] == bound[model.joints[left].idx_v]


def test_mirrored_surfaces_touch_mirrored_places(humanoid):
    q = humanoid.standing_on_soles({})
    for name in ("sole", "palm", "shoulder", "grip"):
        right, left = humanoid.surface(q, f"right_{name}"), humanoid.surface(q, f"left_{name}")
        np.testing.assert_allclose(left.translation, MIRROR @ right.translation, atol=1e-9)
        np.testing.assert_allclose(left.rotation[:, 2], MIRROR @ right.rotation[:, 2], atol=1e-9)


def test_capsules_come_out_of_the_urdf(humanoid):
    kinds = [type(shape.geometry).__name__ for shape in humanoid.shapes.geometryObjects]
    assert set(kinds) == {"Box", "Sphere", "Capsule"}
    thigh = next(s for s in humanoid.shapes.geometryObjects if s.name.startswith("r_hip_pitch_link"))
    assert thigh.geometry.halfLength == pytest.approx(0.15)  # half of the cylinder, hemispheres beyond it


def test_planar_surfaces_lie_on_a_collision_face(figure):
    for name, entry in figure.file["surfaces"].items():
        if entry["type"] != "planar":
            continue
        place = pin.SE3(pin.rpy.rpyToMatrix(np.array(entry["rpy"], float)), np.array(entry["xyz"], float))
        assert any(on_face(figure, shape, entry, place) for shape in figure.shapes.geometryObjects), name


def on_face(figure, shape, entry, place) -> bool:
    """Return whether the rectangle is within a face of the box, with the box behind it."""
    link = figure.model.frames[figure.model.getFrameId(entry["link"])]
    if shape.parentFrame != figure.model.getFrameId(entry["link"]) or type(shape.geometry).__name__ != "Box":
        return False
    box_in_surface = place.actInv(link.placement.actInv(shape.placement))
    half = np.abs(box_in_surface.rotation) @ shape.geometry.halfSide
    low, high = box_in_surface.translation - half, box_in_surface.translation + half
    size = np.array(entry["size"]) / 2
    inside = np.all(low[:2] <= -size + 1e-9) and np.all(high[:2] >= size - 1e-9)
    return bool(inside and abs(high[2]) < 1e-6)


def test_soles_and_palms_are_the_visible_ones():
    assert vertices("r_sole_plate.obj")[:, 2].min() == pytest.approx(-0.085, abs=1e-5)
    assert vertices("r_hand.obj")[:, 1].max() == pytest.approx(0.014, abs=1e-5)


def test_palms_face_each_other(humanoid):
    for posture, apart in (("standing", None), ("ready", 0.45)):
        q = humanoid.standing_on_soles(humanoid.file["postures"][posture])
        left, right = humanoid.surface(q, "left_palm"), humanoid.surface(q, "right_palm")
        np.testing.assert_allclose(left.rotation[:, 2], [0, -1, 0], atol=0.02)
        np.testing.assert_allclose(right.rotation[:, 2], [0, 1, 0], atol=0.02)
        if apart:
            assert left.translation[1] - right.translation[1] == pytest.approx(apart, abs=0.01)
            fingers = humanoid.frame(q, "r_gripper").rotation @ [0, 0, -1]
            np.testing.assert_allclose(fingers, [1, 0, 0], atol=0.02)


@pytest.mark.parametrize("posture", ["standing", "half_sitting", "ready"])
def test_postures_stand_on_flat_feet(humanoid, posture):
    angles = humanoid.file["postures"][posture]
    q = humanoid.standing_on_soles(angles)
    com = pin.centerOfMass(humanoid.model, humanoid.data, q)
    for side in ("left", "right"):
        sole = humanoid.surface(q, f"{side}_sole")
        np.testing.assert_allclose(sole.rotation[:, 2], [0, 0, -1], atol=1e-9)
        assert sole.translation[2] == pytest.approx(0.0, abs=1e-9)
        length = humanoid.file["surfaces"][f"{side}_sole"]["size"][0]
        assert abs(com[0] - sole.translation[0]) < length / 2 - 0.05
    assert com[1] == pytest.approx(0.0, abs=1e-9)
    assert (q[7:] >= humanoid.model.lowerPositionLimit[7:]).all()
    assert (q[7:] <= humanoid.model.upperPositionLimit[7:]).all()


def test_self_collision_pairs_are_not_adjacent_links(humanoid):
    q = humanoid.standing_on_soles(humanoid.file["postures"]["half_sitting"])
    shapes = humanoid.shapes
    owner = [humanoid.model.frames[s.parentFrame].name for s in shapes.geometryObjects]
    for first, second in humanoid.file["self_collisions"]:
        pairs = [(i, j) for i, a in enumerate(owner) if a == first for j, b in enumerate(owner) if b == second]
        assert pairs, (first, second)
        shapes.removeAllCollisionPairs()
        for i, j in pairs:
            shapes.addCollisionPair(pin.CollisionPair(i, j))
        data = shapes.createData()
        pin.computeDistances(humanoid.model, humanoid.data, shapes, data, q)
        assert min(r.min_distance for r in data.distanceResults) > 0.015, (first, second)


def test_meshes_exist_and_are_light():
    used = [m.get("filename") for m in URDF.iter("mesh")]
    assert len(used) == len(set(used))
    faces = size = 0
    for name in used:
        path = ROOT / name.replace("package://multi_qp_controller/", "")
        size += path.stat().st_size
        faces += sum(line.startswith("f ") for line in path.read_text().splitlines())
    assert faces < 40_000
    assert size < 2_000_000
    named = {m.get("name") for m in URDF.findall("material")}
    assert named == {"tint", "shell", "dark", "visor"}
    assert {v.find("material").get("name") for v in URDF.iter("visual")} == named


@pytest.mark.parametrize("name", ["tree", "young_tree"])
def test_springs_carry_a_tree_upright(name):
    model = pin.buildModelFromUrdf(str(ROOT / f"urdf/{name}.urdf"))
    springs = yaml.safe_load((ROOT / f"config/models/{name}.yaml").read_text())["passive_joints"]
    data, upright = model.createData(), pin.neutral(model)
    assert set(springs) == set(list(model.names)[1:])
    stiffness, rest = (
        np.array([springs[joint][key] for joint in list(model.names)[1:]]) for key in ("stiffness", "rest")
    )
    np.testing.assert_allclose(pin.computeGeneralizedGravity(model, data, upright), stiffness * rest, atol=1e-6)
    slope = [
        pin.computeGeneralizedGravity(model, data, e) - pin.computeGeneralizedGravity(model, data, -e)
        for e in 1e-5 * np.eye(model.nv)
    ]
    assert np.linalg.eigvalsh(np.diag(stiffness) + np.array(slope) / 2e-5)[0] > 0.0  # and it does not fall over
