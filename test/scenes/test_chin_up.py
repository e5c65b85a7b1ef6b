"""Scene chin_up: a motion from two key frames is followed by modal-space control, with the robot's torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import linprog

from multi_qp_cli.main import main
from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.runner import run_scenario


def test_the_motion_lifts_the_body_under_the_bar_within_joint_velocities():
    scenario = load_scenario("chin_up")
    motion = ReferenceMotion.load(find_resource("config/motions/chin_up.npz"))
    scene, data = scenario.scene, scenario.scene.model.createData()
    grips = [scene.surfaces[f"humanoid/{side}_grip"].frame_id for side in ("left", "right")]
    coms, places, q = [], [], scene.q0.copy()
    part = scene.subsystems["humanoid"]
    for row in motion.q[::10]:
        q[part.q_slice] = row
        pin.framesForwardKinematics(scene.model, data, q)
        pin.centerOfMass(scene.model, data, q)
        root = part.root_joints[0]
        coms.append(data.oMi[root].act(data.com[root]))
        places.append([data.oMf[grip].translation.copy() for grip in grips])
    coms, places = np.array(coms), np.array(places)
    assert motion.q[:, 2].max() - motion.q[0, 2] == pytest.approx(0.4, abs=2e-3)
    assert np.abs(coms[:, :2] - places.mean(axis=(0, 1))[:2]).max() < 2e-3
    assert np.ptp(places, axis=0).max() < 2e-3
    rates = np.abs(np.diff(motion.q[:, 7:], axis=0)) * 120.0
    assert rates.max() < 3.0


def test_a_lift_is_written_and_an_impossible_one_refused(tmp_path, capsys):
    output = tmp_path / "lift.npz"
    command = ["motion", "lift", "chin_up", "--output", str(output), "--duration", "0.3", "--hold", "0.1"]
    assert main([*command, "--height", "0.1"]) == 0
    motion = ReferenceMotion.load(output)
    assert motion.surfaces == ("left_grip", "right_grip") and motion.contacts.all()
    assert main([*command, "--height", "2"]) == 2
    assert "cannot be 2 m higher" in capsys.readouterr().err
    assert main([*command, "--height", "0"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
@pytest.mark.parametrize("push", [None, (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
def test_it_pulls_itself_up(backend, push):
    scenario = load_scenario("chin_up")
    if push is not None:
        one = PushSpec(link="humanoid/torso", direction=push, force=125.0, duration=20 / 120, at=2.8)
        mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [one]})
        scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))
    result = run_scenario(scenario, backend=backend)
    assert result.report["goals"]["down"]["reached"] and result.report["qp_failures"] == 0
    assert result.report["worst"]["contact_slip_m"] < 1e-3
    tracked = Controller(scenario).generator("chin_up").tracked
    heights, wanted = [], []
    for time, q in zip(result.log.time[::10], result.log.q[::10], strict=True):
        heights.append(tracked.com(q)[2])
        wanted.append(tracked.goal(min(time, tracked.duration))[1][2])
    assert max(heights) - heights[0] > 0.33
    if push is None:
        assert np.sqrt(np.mean((np.array(heights) - wanted) ** 2)) < 0.02


def test_the_top_posture_is_held_statically_within_the_torque_limits():
    """Least largest torque over its limit, by a linear programme over the forces of the hands."""
    scenario = load_scenario("chin_up")
    scene, motion = scenario.scene, ReferenceMotion.load(find_resource("config/motions/chin_up.npz"))
    model, data, part = scene.model, scene.model.createData(), scene.subsystems["humanoid"]
    q, own = scene.q0.copy(), np.arange(scene.nv)[part.v_slice]
    q[part.q_slice] = motion.q[len(motion.q) // 2]
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    gravity, maps = pin.computeGeneralizedGravity(model, data, q)[own], []
    for side in ("left", "right"):
        frame = scene.surfaces[f"humanoid/{side}_grip"].frame_id
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, own]
        maps.append(J[:3].T)
    A = np.hstack(maps)
    limits, balanced = model.effortLimit[own][6:], [0, 1, 2, 3, 5]
    rows, rest = np.column_stack([A[6:], -limits]), np.column_stack([-A[6:], -limits])
    found = linprog(
        np.append(np.zeros(A.shape[1]), 1.0),
        A_ub=np.vstack([rows, rest]),
        b_ub=np.concatenate([gravity[6:], -gravity[6:]]),
        A_eq=np.column_stack([A[balanced], np.zeros(5)]),
        b_eq=gravity[balanced],
        bounds=[(None, None)] * A.shape[1] + [(0.0, None)],
    )
    assert found.status == 0 and found.x[-1] == pytest.approx(0.84, abs=0.02)
