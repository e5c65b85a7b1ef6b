"""Readers of recorded motions, retargeting and files of reference motions."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from multi_qp_cli.main import main
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.bvh import read_bvh
from multi_qp_scene.motions.deepmimic import read_deepmimic
from multi_qp_scene.motions.reference import ReferenceMotion

#: A person of ten joints beside the fingers, in centimetres, y up, looking along z; offset of each joint.
BONES = {
    "Hips": ("", (0, 90, 0)),
    "Chest": ("Hips", (0, 20, 0)),
    "Neck": ("Chest", (0, 25, 0)),
    **{
        f"{side}{part}": (f"{side}{parent}" if own else parent, (sign * x, y, 0))
        for side, sign in (("Left", 1), ("Right", -1))
        for part, parent, own, x, y in (
            ("Shoulder", "Chest", False, 16, 20),
            ("Elbow", "Shoulder", True, 0, -28),
            ("Wrist", "Elbow", True, 0, -25),
            ("Hip", "Hips", False, 9, 0),
            ("Knee", "Hip", True, 0, -40),
            ("Ankle", "Knee", True, 0, -40),
        )
    },
}
FRAMES = 25


def bvh_text(bend=lambda k: 30.0, frames=FRAMES):
    """Return a BVH file: the hips move up and down with knees that bend by `bend` degrees at frame k, feet at rest."""
    order = []

    def joint(name, indent):
        order.append(name)
        key = "JOINT" if BONES[name][0] else "ROOT"
        channels = (
            "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
            if key == "ROOT"
            else ("3 Zrotation Xrotation Yrotation")
        )
        children = [child for child, (parent, _) in BONES.items() if parent == name]
        inner = "\n".join(joint(child, indent + 1) for child in children) or "End Site { OFFSET 0 -5 0 }"
        offset = " ".join(map(str, BONES[name][1]))
        return f"{key} {name}\n{{\nOFFSET {offset}\nCHANNELS {channels}\n{inner}\n}}"

    hierarchy = joint("Hips", 0)
    rows = []
    for k in range(frames):
        angle = bend(k)
        half = math.radians(0.5 * angle)
        turns = {
            "LeftHip": -0.5,
            "RightHip": -0.5,
            "LeftKnee": 1.0,
            "RightKnee": 1.0,
            "LeftAnkle": -0.5,
            "RightAnkle": -0.5,
        }
        row = [0.0, 10.0 + 80.0 * math.cos(half), 0.0]
        for name in order:
            row += [0.0, turns.get(name, 0.0) * angle, 0.0]
        rows.append(" ".join(f"{value:.6f}" for value in row))
    return f"HIERARCHY\n{hierarchy}\nMOTION\nFrames: {frames}\nFrame Time: 0.04\n" + "\n".join(rows) + "\n"


@pytest.fixture
def squat(tmp_path):
    file = tmp_path / "squat.bvh"
    file.write_text(bvh_text(lambda k: 30.0 + 30.0 * math.sin(2.0 * math.pi * k / FRAMES)))
    return file


def test_a_bvh_file_is_read_in_metres_with_z_up(squat):
    motion = read_bvh(squat, scale=0.01)
    index = motion.landmarks()
    knee, hip, ankle = (motion.positions[0, index[f"left_{part}"]] for part in ("knee", "hip", "ankle"))
    half = math.radians(15.0)
    np.testing.assert_allclose(hip, [0.0, 0.09, 0.1 + 0.8 * math.cos(half)], atol=1e-6)  # left is y, ahead x
    np.testing.assert_allclose(knee - hip, [0.4 * math.sin(half), 0.0, -0.4 * math.cos(half)], atol=1e-6)
    np.testing.assert_allclose(motion.positions[:, index["left_ankle"]], np.tile(ankle, (FRAMES, 1)), atol=1e-6)
    assert motion.duration == pytest.approx(0.04 * (FRAMES - 1))


def test_a_person_becomes_a_robot_whose_feet_rest(squat, tmp_path, capsys):
    output = tmp_path / "squat.npz"
    assert main(["motion", "import", str(squat), "--scale", "0.01", "--output", str(output)]) == 0
    assert "foot skate" in capsys.readouterr().out
    motion = ReferenceMotion.load(output)
    assert motion.robot == "humanoid" and motion.surfaces == ("left_sole", "right_sole")
    assert motion.contacts.all()
    knee = motion.q[:, 7 + motion.joints.index("L_KNEE_P")]
    recorded = np.radians(30.0 + 30.0 * np.sin(2.0 * np.pi * np.minimum(motion.times / 0.04, FRAMES - 1) / FRAMES))
    assert np.abs(knee - recorded).max() < 0.12  # the level sole and the robot's ankles differ a little
    assert np.abs(motion.q[:, 7 + motion.joints.index("R_KNEE_P")] - knee).max() < 0.02


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda text: text.replace("OFFSET 0 20 0", "OFFSET 0 20", 1), "line .*expected a number, found 'CHANNELS'"),
        (lambda text: text.replace("MOTION", "", 1), "expected motion, found 'Frames:'"),
        (lambda text: text.replace("Frames: 25", "Frames: 0"), "0 frames .*no motion"),
        (lambda text: text.replace("Frames: 25", "Frames: 26"), "the file ends"),
        (
            lambda text: text.replace("0.000000 10", "nan 10").replace(" 0.000000 ", " x ", 1),
            "expected a number, found 'x'",
        ),
        (lambda text: text[: len(text) // 3], "the file ends where"),
        (lambda text: "", "the file ends where hierarchy is expected"),
        (lambda text: text.replace("LeftKnee", "Something"), "no joint is the left knee"),
    ],
)
def test_a_damaged_bvh_file_is_named_with_the_line(squat, capsys, change, message):
    squat.write_text(change(squat.read_text()))
    assert main(["motion", "import", str(squat), "--scale", "0.01"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "squat.bvh" in error
    assert re.search(message, error), error


def test_other_units_are_noticed(squat, capsys):
    assert main(["motion", "import", str(squat)]) == 2
    assert "a leg is 80 m long" in capsys.readouterr().err


def test_a_robot_without_landmarks_is_refused(squat, capsys):
    assert main(["motion", "import", str(squat), "--scale", "0.01", "--robot", "quadruped"]) == 2
    assert "no landmark chest" in capsys.readouterr().err


def test_a_motion_of_deepmimic(tmp_path):
    row = [0.0333, 0.0, 0.9, 0.0, *(1, 0, 0, 0) * 3, *(1, 0, 0, 0), 0.0, *(1, 0, 0, 0) * 2, 0.3]
    row += [1, 0, 0, 0, 0.0, 1, 0, 0, 0, 1, 0, 0, 0, 0.3]
    file = tmp_path / "walk.json"
    file.write_text(json.dumps({"Loop": "wrap", "Frames": [row, row, row]}))
    motion = read_deepmimic(file)
    index = motion.landmarks()
    left = motion.positions[0, index["left_hip"]] - motion.positions[0, index["right_hip"]]
    np.testing.assert_allclose(left, [0.0, 0.169774, 0.0], atol=1e-6)
    forearm = motion.positions[0, index["left_wrist"]] - motion.positions[0, index["left_elbow"]]
    assert forearm[0] > 0.05 and forearm[2] < -0.2  # a bent elbow puts the hand ahead
    for text, message in (
        ("{}", "not a motion of DeepMimic"),
        (json.dumps({"Frames": [row[:-1]] * 3}), "rows or more of 44"),
        (json.dumps({"Frames": [row, [0.1, *row[1:]], row]}), "frames of one duration"),
    ):
        file.write_text(text)
        with pytest.raises(MultiQpError, match=message):
            read_deepmimic(file)


def test_a_file_that_is_no_reference_motion_is_refused(tmp_path):
    motion = ReferenceMotion(
        np.array([0.0, 0.1]),
        np.tile([0, 0, 1, 0, 0, 0, 1, 0.5], (2, 1)),
        ("knee",),
        np.ones((2, 1), bool),
        ("sole",),
        "r",
        "s",
    )
    file = tmp_path / "m.npz"
    motion.save(file)
    again = ReferenceMotion.load(file)
    np.testing.assert_array_equal(again.q, motion.q)
    assert again.joints == ("knee",) and again.robot == "r"
    for name, value, message in (
        ("q", np.zeros((2, 8)), "norm 1"),
        ("q", np.zeros((2, 9)), "expected \\(2, 8\\)"),
        ("times", np.array([0.0, np.nan]), "increasing times"),
    ):
        arrays = dict(np.load(file))
        np.savez(tmp_path / "bad.npz", **arrays | {name: value})
        with pytest.raises(MultiQpError, match=message):
            ReferenceMotion.load(tmp_path / "bad.npz")
