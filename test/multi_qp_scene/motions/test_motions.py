"""Readers of recorded motions, retargeting and files of reference motions."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from multi_qp_cli.main import main
from multi_qp_cli.motion_command import _robot
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.bvh import read_bvh
from multi_qp_scene.motions.com_path import horizontal_path, outside, zero_moment_points
from multi_qp_scene.motions.contacts import planted
from multi_qp_scene.motions.deepmimic import read_deepmimic
from multi_qp_scene.motions.feet import CLEARANCE, sole_path
from multi_qp_scene.motions.reach import REACH
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.motions.retarget import Retargeting, with_stride
from multi_qp_scene.resources import find_resource
from multi_qp_simulator.log_motion import motion_of
from multi_qp_simulator.runner import run_scenario

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


def bvh_text(bend=lambda k: 30.0, frames=FRAMES, up=lambda k: 0.0):
    """Return a BVH file: the hips move up and down with knees that bend by `bend` degrees at frame k.

    The feet are `up(k)` centimetres above the ground.
    """
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
        row = [0.0, 10.0 + up(k) + 80.0 * math.cos(half), 0.0]
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
    # begins and ends at rest, later than the recording; knees stay bent, and level soles differ a little
    bent = 2.0 * math.acos(REACH)
    assert np.abs(np.maximum(np.radians([0.0, 30.0, 60.0]), bent) - [knee.min(), knee[0], knee.max()]).max() < 0.15
    assert np.abs(np.diff(knee)[[0, -1]]).max() < 1e-3
    assert np.abs(motion.q[:, 7 + motion.joints.index("R_KNEE_P")] - knee).max() < 0.02


def test_a_recording_is_followed_in_mujoco_from_its_first_pose(squat, tmp_path, capsys):
    output, follow = tmp_path / "squat.npz", tmp_path / "squat.yaml"
    command = ["motion", "import", str(squat), "--scale", "0.01", "--output", str(output), "--follow", str(follow)]
    assert main(command) == 0
    assert re.search(r"timing and dynamics +corrected", capsys.readouterr().out)
    motion, scenario = ReferenceMotion.load(output), load_scenario(str(follow))
    first = scenario.scene.q0[scenario.scene.subsystems["humanoid"].q_slice]
    np.testing.assert_allclose(first, motion.q[0], atol=2e-5)
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded and result.report["qp_failures"] == 0
    knee = scenario.scene.model.joints[scenario.scene.model.getJointId("humanoid/L_KNEE_P")].idx_q
    wanted = motion.q[:, 7 + motion.joints.index("L_KNEE_P")]
    error = result.log.q[:, knee] - np.interp(result.log.time, motion.times, wanted)
    assert np.ptp(wanted) > 0.4 and np.abs(error).max() < 0.1


def test_a_motion_that_the_robot_cannot_make_stays_as_recorded(tmp_path, capsys):
    file, follow, output = (tmp_path / name for name in ("leap.bvh", "leap.yaml", "leap.npz"))
    flight = range(8, 24)  # 0.64 s in the air, 0.5 m high

    def up(k):
        t = 0.04 * (k - flight.start)
        return 50.0 * 9.81 * t * (0.04 * len(flight) - t) if k in flight else 0.0

    file.write_text(bvh_text(frames=32, up=up))
    command = ["motion", "import", str(file), "--scale", "0.01", "--output", str(output), "--follow", str(follow)]
    assert main(command) == 2
    printed = capsys.readouterr()
    assert "the dynamics are not corrected: the ZMP is" in printed.out
    assert printed.err.count("\n") == 1 and "no scenario is written" in printed.err
    assert not follow.exists()
    motion = ReferenceMotion.load(output)
    assert motion.times[-1] == pytest.approx(0.04 * 31, abs=0.02)
    assert motion.q[:, 2].max() - motion.q[0, 2] > 0.3
    assert not motion.contacts[35].any() and motion.contacts[[0, -1]].all()


def test_a_scenario_is_written_for_recordings_with_a_file_only(squat, tmp_path, capsys):
    assert main(["motion", "import", str(squat), "--scale", "0.01", "--follow", str(tmp_path / "f.yaml")]) == 2
    assert "--follow needs --output" in capsys.readouterr().err


def test_soles_are_at_rest_while_planted_and_leave_the_ground_between():
    dt, n = 1.0 / 60.0, 60
    recorded = np.zeros((n, 4))
    recorded[:, 0] = np.linspace(0.0, 1.0, n)  # a foot that slides all the time
    on = np.zeros(n, dtype=bool)
    on[5:20], on[40:55] = True, True
    for carried in (True, False):
        path = sole_path(recorded, on, on, 0.1, dt, carried=carried)
        assert np.ptp(path[5:20], axis=0).max() == 0.0 and np.ptp(path[40:55], axis=0).max() == 0.0
        assert path[5, 0] == pytest.approx(np.median(recorded[5:20, 0]))
        assert np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1).max() < 0.1  # no jumps, also at both ends
        assert path[:, 2].min() >= 0.1 and (path[20:40, 2].max() > 0.1 + 0.9 * CLEARANCE) == carried


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


def test_a_part_of_a_recording_with_shorter_steps(squat):
    whole = read_bvh(squat, scale=0.01)
    part = whole.part(0.2, 0.5)
    assert part.duration == pytest.approx(0.3, abs=whole.dt)
    np.testing.assert_array_equal(part.positions[0], whole.positions[round(0.2 / whole.dt)])
    shift = np.array([[1.0, 0.2, 0.0]]) * np.arange(3)[:, None]
    points = {"pelvis": shift + [0.0, 0.0, 0.9], "left_ankle": shift + [0.4, 0.1, 0.0], "chest": shift + [0.1, 0, 1.3]}
    found = with_stride(points, 0.5)
    np.testing.assert_allclose(found["left_ankle"], 0.5 * shift + [0.2, 0.05, 0.0])
    np.testing.assert_allclose(found["chest"] - found["pelvis"], points["chest"] - points["pelvis"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--begin", "1", "--end", "0.5"], "expected 0 <= begin < end <="),
        (["--end", "100"], "expected 0 <= begin < end <="),
        (["--stride", "0"], "--stride is 0, expected 0.1 to 1.5"),
        (["--slower", "1.2"], "--flight and --slower need --dynamics full"),
        (["--dynamics", "full", "--flight", "2"], "--flight: 0.05 to 0.5 s"),
    ],
)
def test_wrong_parts_and_strides_are_refused(squat, capsys, options, message):
    assert main(["motion", "import", str(squat), "--scale", "0.01", *options]) == 2
    assert message in capsys.readouterr().err


def test_the_nominal_motion_stands_wide_and_flies_as_long_as_is_asked(tmp_path):
    file, flight = tmp_path / "leap.bvh", range(8, 24)

    def up(k):
        t = 0.04 * (k - flight.start)
        return 50.0 * 9.81 * t * (0.04 * len(flight) - t) if k in flight else 0.0

    file.write_text(bvh_text(frames=32, up=up))
    scene, robot, landmarks = _robot("humanoid")
    retargeting = Retargeting(scene, robot, landmarks)
    nominal = retargeting.nominal(read_bvh(file, scale=0.01), rate=30.0, flight=0.3, slower=1.5)
    in_air = ~nominal.clip.planted.any(axis=1)
    assert nominal.dt * in_air.sum() == pytest.approx(0.3, abs=2 * nominal.dt)
    assert nominal.dt * (~in_air).sum() > 1.5 * 0.04 * (32 - len(flight)) - 0.1
    left, right = (path[0] for path in nominal.soles)
    assert left.translation[1] - right.translation[1] == pytest.approx(0.17, abs=1e-6)
    assert nominal.q.shape == (len(in_air), scene.nq)


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


def test_a_rolling_foot_is_no_flight_and_a_fall_is_one():
    dt, n = 1.0 / 60.0, 60
    rests = np.ones((n, 2), dtype=bool)
    rests[10:, 0], rests[24:36, 1] = False, False
    level = np.zeros((n, 3))
    assert planted(rests, level, dt).any(axis=1).all()
    falling = level.copy()
    t = dt * np.arange(n)
    falling[:, 2] = -0.5 * 9.81 * (t - 0.5) ** 2
    assert (~planted(rests, falling, dt).any(axis=1)).sum() == 12


def test_the_distance_outside_a_support_is_that_of_its_nearest_point():
    corners = np.array([[0.0, 0.0], [0.2, 0.0], [0.2, 0.1], [0.0, 0.1], [0.1, 0.05]])
    assert outside(np.array([0.1, 0.09]), corners) == 0.0
    assert outside(np.array([0.1, 0.14]), corners) == pytest.approx(0.04)
    assert outside(np.array([0.23, 0.14]), corners) == pytest.approx(0.05)  # of a corner, not of an edge's line


def test_the_zero_moment_point_of_a_path_is_in_the_support():
    dt, n = 1.0 / 60.0, 120
    reference = np.column_stack([np.linspace(0.0, 0.4, n), np.zeros(n)])
    corners = np.array([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]])
    both = np.vstack([corners, corners + [0.4, 0.0]])
    supports = [corners if k < 54 else both if k < 66 else corners + [0.4, 0.0] for k in range(n)]
    heights, spin = np.full(n, 0.6), np.zeros((n, 2))
    path = np.column_stack([horizontal_path(reference, heights, spin, supports, dt), heights])
    far = [outside(p, own) for p, own in zip(zero_moment_points(path, spin, dt), supports, strict=True)]
    before = zero_moment_points(np.column_stack([reference, heights]), spin, dt)
    assert max(outside(p, own) for p, own in zip(before, supports, strict=True)) > 0.05
    assert max(far) < 0.01


#: Those whose references take many seconds.
LONG = [pytest.param(name, marks=pytest.mark.slow) for name in ("jump", "jump_to_bar", "swing", "tucked_swing")]


@pytest.mark.parametrize("name", ["squat", *LONG])
def test_a_shipped_motion_is_the_log_of_its_reference(name):
    shipped = ReferenceMotion.load(find_resource(f"config/motions/{name}.npz"))
    scenario = load_scenario(find_resource(f"config/motions/{name}_reference.yaml"))
    made = motion_of(run_scenario(scenario).log, scenario)
    assert made.joints == shipped.joints and made.times[-1] == pytest.approx(shipped.times[-1])
    np.testing.assert_allclose(made.q, shipped.q, atol=1e-3)
