"""Conversions between planned postures and messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from multi_qp_ros.conversions import WORLD, doubles, to_stamp
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.suggestions import unknown_name

#: Names of the coordinates of a floating base, as MoveIt's for a floating joint.
BASE = ("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z", "rot_w")


def postures_message(postures: Sequence[Array], scene: Scene, subsystem: str, stamp: int) -> JointTrajectory:
    """Return configurations of a subsystem, (nq,) each, one per phase, as a message with the plan's stamp [ns]."""
    names, read = _coordinates(scene, subsystem)
    message = JointTrajectory(joint_names=names)
    message.header.frame_id, message.header.stamp = WORLD, to_stamp(stamp)
    for q in postures:
        values = [float(np.arctan2(q[k + 1], q[k])) if continuous else float(q[k]) for k, continuous in read]
        message.points.append(JointTrajectoryPoint(positions=doubles(values)))
    return message


def postures_of(message: JointTrajectory, scenario: Scenario, subsystem: str) -> tuple[Array, ...]:
    """Return the configurations of a subsystem in a message, (nq,) each.

    Raises:
        MultiQpError: when a name is missing or unknown, a number missing or not finite, or a quaternion not of norm 1.
    """
    scene = scenario.scene
    names, read = _coordinates(scene, subsystem)
    given = list(message.joint_names)
    wrong = [name for name in given if name not in names]
    if wrong:
        raise MultiQpError(unknown_name("coordinate of a posture", wrong[0], names))
    absent = [name for name in names if name not in given]
    if absent or len(given) != len(names):
        raise MultiQpError(f"the postures need each of the {len(names)} coordinates of {subsystem} once")
    column = [given.index(name) for name in names]
    body, postures = scene.subsystems[subsystem], []
    for number, point in enumerate(message.points, start=1):
        values = np.array(point.positions, dtype=float)
        if values.shape != (len(names),) or not np.isfinite(values).all():
            raise MultiQpError(f"posture {number}: expected {len(names)} finite numbers")
        q = np.zeros(body.q_slice.stop - body.q_slice.start)
        for (k, continuous), value in zip(read, values[column], strict=True):
            q[k] = np.cos(value) if continuous else value
            if continuous:
                q[k + 1] = np.sin(value)
        length = float(np.linalg.norm(q[3:7]))
        if body.floating and abs(length - 1.0) > 1e-3:
            raise MultiQpError(f"posture {number}: the base's quaternion has the norm {length:.3g}")
        if body.floating:
            q[3:7] /= length
        postures.append(q)
    return tuple(postures)


def _coordinates(scene: Scene, subsystem: str) -> tuple[list[str], list[tuple[int, bool]]]:
    """Return names of a subsystem's coordinates, their indices in its q, and whether they are (cos, sin) there."""
    body = scene.subsystems[subsystem]
    names = [f"{subsystem}/{name}" for name in BASE] if body.floating else []
    read = [(k, False) for k in range(len(names))]
    for joint in joints_of(scene, body):
        names.append(f"{subsystem}/{joint.name}")
        read.append((joint.q_index - body.q_slice.start, joint.continuous))
    return names, read
