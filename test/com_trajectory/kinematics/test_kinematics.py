"""Kinematic polytopes: enclosure, generation, and consistency with the shipped robots."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from com_trajectory.kinematics import generate_polytopes, load_polytopes, save_polytopes
from com_trajectory.kinematics.inner_hull import hull_points, inner_hull
from com_trajectory.kinematics.sampled_robot import SampledRobot
from com_trajectory.polytope import Polytope
from multi_qp_cli.main import main
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import model_path
from multi_qp_scene.surfaces import planar_points

ROBOTS = ["humanoid", "tall_humanoid", "quadruped", "hexapod"]
FEW = 2_200  # samples: two chunks


@pytest.fixture(scope="module")
def few():
    return generate_polytopes("quadruped", samples=FEW, seed=3, processes=1)


@pytest.mark.parametrize("robot", ROBOTS)
def test_shipped_polytopes_belong_to_their_robots_and_satisfy_the_specification(robot):
    polytopes = load_polytopes(robot)
    assert set(polytopes.effectors) == {e.name for e in SampledRobot(model_path(robot)).effectors}
    assert polytopes.samples == 100_000
    for name, effector in polytopes.effectors.items():
        assert 4 <= effector.polytope.size <= 100, name
        assert effector.loss < 0.06, name
        assert effector.polytope.violation(effector.centre) < -0.01, name


@pytest.mark.parametrize("robot", ROBOTS)
def test_a_standing_robot_is_inside_the_polytopes_of_its_feet(robot):
    polytopes, sampled = load_polytopes(robot), SampledRobot(model_path(robot))
    posture = sampled.postures[2 if "humanoid" in robot else 1]  # half sitting; standing
    com = pin.centerOfMass(sampled.model, sampled.data, sampled.configuration(posture))
    for effector in (e for e in sampled.effectors if e.carries):
        place = sampled.data.oMi[effector.joint] * effector.X_joint_surface
        points, normals = planar_points((0.1, 0.1))
        contact = Contact("c", "robot", effector.name, place, points, normals, 0.5)
        assert polytopes.of(contact).contains(com), effector.name
        # nowhere near: a metre further away, and below the ground
        assert not polytopes.of(contact).contains(com + [1.5, 0.0, 0.0])
        assert not polytopes.of(contact).contains(place.translation - [0.0, 0.0, 0.05])


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_processes(few, tmp_path):
    save_polytopes(few, tmp_path / "one")
    save_polytopes(generate_polytopes("quadruped", samples=FEW, seed=3, processes=2), tmp_path / "two")
    save_polytopes(generate_polytopes("quadruped", samples=FEW, seed=4, processes=1), tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


def test_configurations_are_within_limits_and_free_of_collisions():
    robot = SampledRobot(model_path("humanoid"))
    joints = robot.draw(np.random.default_rng(0), 300)
    low, high = robot.model.lowerPositionLimit[7:], robot.model.upperPositionLimit[7:]
    assert (joints >= low - 1e-12).all() and (joints <= high + 1e-12).all()
    # both ends of every joint are explored
    span = (joints - low) / (high - low)
    assert span.min(axis=0).max() < 0.1 and span.max(axis=0).min() > 0.9
    verdicts = []
    for row in joints[:40]:
        q = robot.configuration(row)
        pin.centerOfMass(robot.model, robot.data, q, False)
        verdicts.append(robot.collides())
        fresh = pin.GeometryData(robot.geometry)
        pin.computeCollisions(robot.model, robot.model.createData(), robot.geometry, fresh, q, False)
        assert verdicts[-1] == any(result.isCollision() for result in fresh.collisionResults)
    assert any(verdicts) and not all(verdicts)


def test_every_view_is_of_a_configuration(few):
    """Every sample is in the hull, the polytope is in the hull, and little of the hull is lost."""
    robot = SampledRobot(model_path("quadruped"))
    random = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,)))
    views, free = robot.views(random, 2_000)
    assert 0 < free <= few.free < FEW
    for effector, view in zip(robot.effectors, views, strict=True):
        stored = few.effectors[effector.name]
        assert (view[:, 2] < 0.0).all()  # the trunk is above the feet
        # the farthest a foot can be from the centre of mass: hip, leg and the trunk's half length
        assert np.linalg.norm(view, axis=1).max() < 0.3 + 0.12 + 0.09 + 0.285 + 0.31 + 0.1
        outside = stored.polytope.violation(view)
        assert (outside > 1e-6).mean() < 0.1 and outside.max() < 0.08


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(30, 300), faces=st.integers(4, 100))
def test_an_inner_hull_is_inside_and_reports_its_loss(seed, count, faces):
    points = np.random.default_rng(seed).normal(size=(count, 3)) * [1.0, 0.5, 0.2]
    corners = hull_points(points)
    chosen, loss = inner_hull(corners, max_faces=faces)
    whole, part = ConvexHull(points), ConvexHull(chosen)
    assert Polytope.hull(chosen).size <= faces
    assert Polytope.hull(points).contains(chosen, tolerance=1e-9).all()
    assert loss == pytest.approx(1.0 - part.volume / whole.volume, abs=1e-12)
    assert 0.0 <= loss + 1e-12 < 1.0


def copied(folder: Path, robot: str) -> Path:
    """Copy a robot's files into a folder and return its model file."""
    model = model_path(robot)
    shutil.copy(model, folder)
    for name in (f"{robot}.urdf", f"{robot}.polytopes.json"):
        shutil.copy(model.parents[2] / "urdf" / name, folder)
    return folder / model.name


def test_polytopes_of_another_version_of_the_robot_are_refused(tmp_path, caplog):
    model = copied(tmp_path, "quadruped")
    assert load_polytopes(model).robot == "quadruped"
    urdf = tmp_path / "quadruped.urdf"
    urdf.write_text(urdf.read_text().replace('<mass value="20"/>', '<mass value="21"/>'))
    with pytest.raises(MultiQpError, match="another version of .*quadruped.urdf; `multi-qp com polytopes"):
        load_polytopes(model)
    assert load_polytopes(model, allow_stale=True).robot == "quadruped"
    assert "another version" in caplog.text


@pytest.mark.parametrize("text", ["", "[]", '{"robot": "x"}', '{"effectors": {"a": {"A": 3}}}'])
def test_a_broken_file_is_named(tmp_path, text):
    model = copied(tmp_path, "quadruped")
    (tmp_path / "quadruped.polytopes.json").write_text(text)
    with pytest.raises(MultiQpError, match="quadruped.polytopes.json: not a file of kinematic polytopes"):
        load_polytopes(model)


def test_a_missing_polytopes_file_is_reported_with_its_command(tmp_path):
    model = copied(tmp_path, "quadruped")
    (tmp_path / "quadruped.polytopes.json").unlink()
    with pytest.raises(MultiQpError, match="no kinematic polytopes"):
        load_polytopes(model)


def test_the_command_writes_them(tmp_path, capsys):
    arguments = ["com", "polytopes", "quadruped", "--samples", "400", "--processes", "1", "--faces", "30"]
    assert main([*arguments, "--output", str(tmp_path / "p.json")]) == 0
    assert "left_hind_foot" in capsys.readouterr().out
    model = copied(tmp_path, "quadruped")
    (tmp_path / "p.json").rename(tmp_path / "quadruped.polytopes.json")
    assert all(e.polytope.size <= 30 for e in load_polytopes(model).effectors.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["box"], "floating base"),
        (["unknown"], "unknown model"),
        (["quadruped", "--samples", "0"], "at least 1 sample"),
        (["quadruped", "--processes", "0"], "at least 1"),
        (["quadruped", "--samples", "3", "--processes", "1"], "too few samples"),
    ],
)
def test_wrong_arguments_give_one_line(arguments, message, tmp_path, capsys):
    assert main(["com", "polytopes", *arguments, "--output", str(tmp_path / "p.json")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
