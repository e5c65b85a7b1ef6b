"""A motion from two key frames: a posture, and the same with the body higher, as in [Jain2011], section 7.3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from scipy.ndimage import gaussian_filter1d

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.scene import Scene
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

#: Weights of the contact surfaces, the centre of mass and the base, beside one another.
FIXED, CENTRE, BODY = 10.0, 3.0, 0.1
#: Largest displacement of a contact surface, and error of the height [m], and width of the smoothing of the joints [s].
FAR, SMOOTH = 2e-3, 0.05


def lifted(
    scene: Scene, subsystem: str, surfaces: Sequence[str], height: float, *, duration: float, hold: float, dt: float
) -> ReferenceMotion:
    """Return a motion from the initial posture of a robot to one with its body higher, and back.

    The centre of mass moves along the vertical through the middle of the surfaces, which keep their poses; the joints
    are those of inverse kinematics at each sample.

    Args:
        scene: the scene.
        subsystem: the robot, with a floating base.
        surfaces: surfaces in contact, without its name.
        height: of the second key frame over the first one; negative for a lower one [m].
        duration: time from one to the other [s].
        hold: rest at both ends and between them [s].
        dt: time between two samples [s].

    Raises:
        MultiQpError: when the robot has no floating base, or the surfaces cannot keep their places.
    """
    model, data, body = scene.model, scene.model.createData(), scene.subsystems[subsystem]
    if not body.floating:
        raise MultiQpError(f"'{subsystem}' has no floating base")
    root = body.root_joints[0]
    ik, base = WholeBodyIk(scene, subsystem), model.getFrameId(model.names[root])
    pin.framesForwardKinematics(model, data, scene.q0)
    pin.centerOfMass(model, data, scene.q0)
    frames = [scene.surfaces[f"{subsystem}/{surface}"].frame_id for surface in surfaces]
    held = [Placement(frame, data.oMf[frame].copy(), weight=FIXED) for frame in frames]
    start = data.oMf[base].copy()
    low = data.oMi[root].act(data.com[root])[2]
    middle = np.mean([placement.pose.translation[:2] for placement in held], axis=0)

    def posture(q: Array, rise: float, iterations: int) -> Array:
        pose = pin.SE3(start.rotation, start.translation + [0.0, 0.0, rise])
        com = np.append(middle, low + rise)
        placements = [*held, Placement(base, pose, weight=BODY)]
        return ik.solve(
            q, placements, com=com, com_weight=np.array([CENTRE, CENTRE, 0.0]), iterations=iterations, tolerance=1e-6
        ).q

    n, rest = round(duration / dt), round(hold / dt)
    x = np.arange(n + 1) / n
    share = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
    rises = height * np.concatenate([np.zeros(rest), share, np.ones(rest), share[::-1], np.zeros(rest + 1)])
    rows, q = [], posture(scene.q0, 0.0, 300)
    for rise in height * share:
        q = posture(q, float(rise), 20)
        rows.append(q)
    found = np.concatenate([[rows[0]] * rest, rows, [rows[-1]] * rest, rows[::-1], [rows[0]] * (rest + 1)])
    joints = np.arange(scene.nq)[body.q_slice][7:]
    found[:, joints] = gaussian_filter1d(found[:, joints], SMOOTH / dt, axis=0, mode="nearest")
    found = np.array([posture(row, float(rise), 8) for row, rise in zip(found, rises, strict=True)])
    far = 0.0
    for row, rise in zip(found, rises, strict=True):
        pin.framesForwardKinematics(model, data, row)
        places = [(p.frame_id, p.pose.translation) for p in held]
        missed = [float(np.linalg.norm(data.oMf[frame].translation - place)) for frame, place in places]
        far = max(far, *missed, abs(float(data.oMf[base].translation[2] - start.translation[2] - rise)))
    if far > FAR:
        raise MultiQpError(f"'{subsystem}' cannot be {height:g} m higher: its base or a surface is {far:.3f} m away")
    names = [scene.velocity_names[k].partition("/")[2] for k in np.arange(scene.nv)[body.v_slice][6:]]
    contacts = np.ones((len(found), len(surfaces)), dtype=bool)
    times = np.asarray(dt * np.arange(len(found)), dtype=float)
    own, source = found[:, body.q_slice], f"key frames {height:g} m apart"
    return ReferenceMotion(times, own, tuple(names), contacts, tuple(surfaces), subsystem, source)
