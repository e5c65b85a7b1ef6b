"""Tests of the curves of a run: against statics, the log and the scene, and as figures."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.figure import Figure

from multi_qp_cli.main import main
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator.runner import run_scenario
from multi_qp_viewer.curve_plots import draw_curves
from multi_qp_viewer.curves import CURVE_KINDS, Curve, RunCurves, Series

STANDING = """\
description: a humanoid that stands and turns its torso
dt: 0.005
duration: 2
subsystems:
  humanoid: {model: humanoid, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment:
  ground: {model: ground}
contacts:
  left: {surfaces: [humanoid/left_sole, ground/floor], friction: 0.6}
  right: {surfaces: [humanoid/right_sole, ground/floor]}
tasks:
  posture: {type: posture, subsystem: humanoid}
  torso: {type: pose, frame: humanoid/torso, target: {rpy: [0, 0.17, 0.17], duration: 0.5}, axes: [roll, pitch, yaw]}
initial_state: only
states:
  only: {contacts: [left, right], hold: 2}
"""


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """Return the scenario, its log and its curves."""
    path = tmp_path_factory.mktemp("curves") / "standing.yaml"
    path.write_text(STANDING)
    scenario = load_scenario(path)
    log = run_scenario(scenario).log
    log.save(path.with_suffix(".npz"))
    return (
        path,
        scenario.scene,
        log,
        RunCurves(scenario.scene, Series(**{f.name: getattr(log, f.name) for f in fields(Series)})),
    )


def test_at_rest_zmp_and_capture_point_are_below_the_com_and_the_soles_carry_the_weight(standing):
    _, scene, log, curves = standing
    assert np.abs(log.v[-1]).max() < 1e-3, "at rest at the end"
    for axis in "xy":
        com, zmp, capture = (
            curves.curve(f"balance/humanoid/{axis}/{point}").values for point in ("com", "zmp", "capture_point")
        )
        assert zmp[-1] == pytest.approx(com[-1], abs=1e-3)
        assert capture[-1] == pytest.approx(com[-1], abs=1e-3)
    normal = sum(curves.curve(f"force/{side}/normal").values[-1] for side in ("left", "right"))
    assert normal == pytest.approx(9.81 * scene.subsystems["humanoid"].mass, rel=1e-3)


def test_the_zmp_follows_from_the_motion_of_the_whole_robot(standing):
    """Newton and Euler: the ZMP of the contact forces is that of gravity and the momentum's rate, at every tick."""
    _, scene, log, curves = standing
    zmp = np.column_stack([curves.curve(f"balance/humanoid/{axis}/zmp").values for axis in "xy"])
    data = scene.model.createData()
    mass, ground = scene.subsystems["humanoid"].mass, curves.balance("humanoid").points["zmp"][:, 2]
    for t in range(0, len(log.time), 40):
        rate = pin.computeCentroidalMomentumTimeVariation(scene.model, data, log.q[t], log.v[t], log.a[t])
        com = data.com[0]
        force = rate.linear + np.array([0.0, 0.0, 9.81 * mass])
        moment = rate.angular + np.cross(com, force)  # about the world's origin
        expected = np.array([ground[t] * force[0] - moment[1], ground[t] * force[1] + moment[0]]) / force[2]
        assert zmp[t] == pytest.approx(expected, abs=1e-6)
        assert curves.balance("humanoid").points["com"][t] == pytest.approx(com, abs=1e-9)


def test_capture_point_is_ahead_by_the_velocity_of_the_com(standing):
    _, scene, log, curves = standing
    points = curves.balance("humanoid").points
    height = points["com"][:, 2] - points["zmp"][:, 2]
    data = scene.model.createData()
    velocity = np.empty_like(points["com"])
    for t in range(len(velocity)):
        pin.centerOfMass(scene.model, data, log.q[t], log.v[t])
        velocity[t] = data.vcom[0]
    expected = points["com"][:, :2] + velocity[:, :2] * np.sqrt(height / 9.81)[:, None]
    assert np.abs(velocity[:, :2]).max() > 1e-3, "it moves"
    assert points["capture_point"][:, :2] == pytest.approx(expected, abs=1e-9)


def test_bounds_are_those_of_the_scene(standing):
    _, scene, log, curves = standing
    tangential, normal = (curves.curve(f"force/left/{part}") for part in ("tangential", "normal"))
    assert tangential.upper == pytest.approx(0.6 * normal.values)
    assert (tangential.values <= tangential.upper + 1e-9).all()
    cop, sole = curves.curve("cop/left/x"), scene.surfaces["humanoid/left_sole"].points
    assert (cop.lower[0], cop.upper[0]) == (sole[:, 0].min(), sole[:, 0].max())
    assert (cop.values >= cop.lower - 1e-9).all() and (cop.values <= cop.upper + 1e-9).all()
    name = scene.actuated_joint_names[3]
    torque = curves.curve(f"torque/{name}")
    assert torque.values == pytest.approx(log.tau[:, 3])
    assert torque.upper[0] == scene.torque_limits[3] and torque.lower[0] == -scene.torque_limits[3]
    joint = scene.model.joints[scene.model.getJointId(name)]
    (row,) = np.flatnonzero(scene.limits.v_index == joint.idx_v)
    angle, velocity = curves.curve(f"joint/{name}"), curves.curve(f"velocity/{name}")
    assert angle.values == pytest.approx(log.q[:, joint.idx_q])
    assert (angle.lower[0], angle.upper[0]) == (scene.limits.lower[row], scene.limits.upper[row])
    assert velocity.values == pytest.approx(log.v[:, joint.idx_v])
    assert velocity.upper[0] == scene.limits.velocity[row]
    margin, x = curves.curve("balance/humanoid/margin/com"), curves.curve("balance/humanoid/x/com")
    inside = np.minimum(x.values - x.lower, x.upper - x.values)
    assert (margin.values <= inside + 1e-9).all() and (margin.values > 0.0).all()


def test_task_errors_are_logged_with_their_units(standing):
    _, scene, log, curves = standing
    assert dict(zip(log.task_names, log.task_units, strict=True)) == {"posture": "rad", "torso/rotation": "rad"}
    data = scene.model.createData()
    pin.forwardKinematics(scene.model, data, log.q[-1])
    torso = pin.updateFramePlacement(scene.model, data, scene.frame_id("humanoid/torso")).rotation
    angle = np.linalg.norm(pin.log3(pin.rpy.rpyToMatrix(0.0, 0.17, 0.17).T @ torso))
    values = curves.curve("task/torso/rotation").values
    assert values[-1] == pytest.approx(angle, abs=1e-9) and values[-1] > 0.01
    assert np.isfinite(values).all()


def test_names_match_with_wildcards(standing):
    *_, curves = standing
    assert {name.split("/")[0] for name in curves.names} == set(CURVE_KINDS)
    assert curves.match(["force/l*"]) == ["force/left/normal", "force/left/tangential"]
    assert curves.match(["task", "task/torso/*"]) == ["task/posture", "task/torso/rotation"]
    with pytest.raises(MultiQpError, match="unknown curve 'force/lefd/normal'; did you mean 'force/left/normal'"):
        curves.match(["force/lefd/normal"])


def test_panels_contain_values_near_bounds_and_none_that_are_far():
    time = np.linspace(0.0, 1.0, 50)
    near = Curve("a", "a", "", "N m", 8.0 * np.sin(6 * time), np.full(50, -10.0), np.full(50, 10.0))
    far = Curve("b", "b", "", "N m", np.sin(6 * time), np.full(50, -300.0), np.full(50, 300.0))
    empty = Curve("c", "c", "", "m", np.full(50, np.nan))
    figure = Figure()
    draw_curves(figure, time, np.array(["state"] * 50), [near, far, empty])
    ranges = [axes.get_ylim() for axes in figure.axes]
    assert ranges[0][1] > 10.0 and ranges[1][1] < 2.0 and np.isfinite(ranges[2]).all()
    assert [len(axes.lines) for axes in figure.axes] == [3, 3, 1]
    assert figure.axes[1].get_title(loc="left") == "b   [-300, 300]"


def test_command_plots_lists_and_refuses(standing, tmp_path, capsys):
    path, scene, log, curves = standing
    run, yaml = str(path.with_suffix(".npz")), ["--scenario", str(path)]
    assert main(["plot", run, "--list", *yaml]) == 0
    assert capsys.readouterr().out.split() == list(curves.names)
    out = tmp_path / "p.svg"
    assert main(["plot", run, "--curves", "balance", "force/left/*", *yaml, "--output", str(out)]) == 0
    drawn = out.read_text()
    assert all(text in drawn for text in ("capture point", "balance/humanoid/margin", "force/left", "normal"))
    assert main(["plot", run, "--over", "plane", *yaml, "--output", str(out)]) == 0
    assert "ZMP" in out.read_text()
    for arguments, message in [
        (["--curves", "x"], "the scenario 'standing' is not in `multi-qp list`: add --scenario FILE.yaml"),
        (["--curves", "x", *yaml], "unknown curve 'x'"),
        (["--curves", "x", "--scenario", "box"], "is not a log of the scenario 'box'"),
        (["--curves", "*", *yaml], "panels, expected at most 60"),
        (["--curves", "x", "--over", "size"], "--curves cannot be combined with --over"),
        (yaml, "--scenario is of use with --curves, --list or --over plane only"),
    ]:
        assert main(["plot", run, *arguments, "--output", str(out)]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
