from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

FORWARD = pin.utils.rotate("y", -np.pi / 2)  # a hand with the fingers forwards
HALF_WIDTH = 0.15  # of the box, between the palms
BOX = pin.SE3(np.eye(3), np.array([0.40, 0.0, 0.90]))
SHIFTS = [(axis, sign * 0.1) for axis in range(3) for sign in (-1, 1)]
TURNS = [(axis, sign * np.radians(20)) for axis in range(3, 6) for sign in (-1, 1)]


def displaced(axis: int, amount: float) -> pin.SE3:
    """The box moved along, or turned about, one of its axes."""
    move = np.zeros(6)
    move[axis] = amount
    return BOX * pin.exp6(pin.Motion(move))


def grasp(humanoid, box: pin.SE3) -> tuple[np.ndarray, float]:
    """Inverse kinematics: flat feet, both palms flat on the box, balance.

    Returns:
        Configuration, shape (nq,), and the largest error of soles and palms [m, rad].
    """
    model, data = humanoid.model, humanoid.data
    rest = humanoid.standing_on_soles(humanoid.file["postures"]["ready"])
    goals = {side: humanoid.frame(rest, side) for side in ("l_sole", "r_sole")}
    center = goals["l_sole"].translation[0]
    goals["l_gripper"] = box * pin.SE3(FORWARD, np.array([0.0, HALF_WIDTH, 0.0]))
    goals["r_gripper"] = box * pin.SE3(FORWARD, np.array([0.0, -HALF_WIDTH, 0.0]))
    q, errors = rest.copy(), [np.ones(6)]
    for step in range(120):
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        com_jacobian = pin.jacobianCenterOfMass(model, data, q)
        frames = {name: model.getFrameId(name) for name in goals}
        errors = [pin.log6(data.oMf[frames[name]].actInv(goal)).vector for name, goal in goals.items()]
        rows = [10 * pin.getFrameJacobian(model, data, frame, pin.LOCAL) for frame in frames.values()]
        pull = 0.03 if step < 80 else 0.003  # towards the nominal posture
        rows += [com_jacobian[:2], pull * np.eye(model.nv)]
        wanted = [10 * e for e in errors] + [np.array([center, 0.0]) - data.com[0][:2]]
        wanted.append(pull * pin.difference(model, q, rest))
        change = np.linalg.lstsq(np.vstack(rows), np.concatenate(wanted), rcond=None)[0]
        q = pin.integrate(model, q, change * min(1.0, 0.3 / np.abs(change).max()))
        q[7:] = np.clip(q[7:], model.lowerPositionLimit[7:], model.upperPositionLimit[7:])
    return q, max(float(np.abs(e).max()) for e in errors)


@pytest.mark.parametrize(("axis", "amount"), [(0, 0.0), *SHIFTS, *TURNS])
def test_palms_stay_flat_on_a_moving_box(humanoid, axis, amount):
    q, error = grasp(humanoid, displaced(axis, amount))
    assert error < 1e-4
    com = pin.centerOfMass(humanoid.model, humanoid.data, q)
    sole = humanoid.frame(q, "l_sole").translation
    assert abs(com[0] - sole[0]) < 0.08
    arms = [j for j in humanoid.joints if "SHOULDER" in j or "ELBOW" in j or "WRIST" in j]
    for joint in arms:
        k = humanoid.model.joints[humanoid.model.getJointId(joint)].idx_q
        margin = min(q[k] - humanoid.model.lowerPositionLimit[k], humanoid.model.upperPositionLimit[k] - q[k])
        assert margin > 0.1, joint
