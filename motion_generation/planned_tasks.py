"""Tasks of planned states, in the format of a scenario file: posture and centre of mass, and swing of a limb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.scene import Scene
from multi_qp_scene.subsystem import Subsystem

#: An entry of a scenario file as plain data.
Entry = dict[str, Any]

#: Prefix of task names in a plan of one character.
PLANNED = "planned"


def body_tasks(
    scene: Scene,
    body: Subsystem,
    com: Mapping[str, object],
    q: Array | None,
    *,
    stem: str = PLANNED,
    duration: float | None = None,
    height: bool = False,
) -> dict[str, Entry]:
    """Return the tasks that move a body to a posture, with its centre of mass at a target.

    Args:
        scene: the scene.
        body: the subsystem.
        com: target of the centre of mass, in the file's format.
        q: configuration of the body, (nq,); if None its initial one, with a free base.
        stem: prefix of the task names.
        duration: of the motion [s]; a step if None.
        height: whether the height of the centre of mass is controlled; else it follows from the posture.
    """
    tasks: dict[str, Entry] = {
        f"{stem}_com": {
            "type": "com",
            "subsystems": [body.name],
            "axes": ["x", "y", "z"] if height else ["x", "y"],
            "target": dict(com),
            "weight": 1000,
            "stiffness": 100,
        }
    }
    posture: object = "initial"
    if q is not None:
        angles = q[7:] if body.floating else q
        posture = {joint: round(float(a), 5) for joint, a in zip(_joints(scene, body), angles, strict=True)}
    tasks[f"{stem}_posture"] = {
        "type": "posture", "subsystem": body.name, "posture": posture, "duration": duration,
        "weight": 0.3 if height else 4, "stiffness": 20,
    }  # fmt: skip
    if q is not None and body.floating:
        base = pin.XYZQUATToSE3(q[:7])
        tasks[f"{stem}_base"] = {
            "type": "pose", "frame": body.base_link, "axes": ["z", "roll", "pitch", "yaw"],
            "target": {"position": numbers(base.translation), "rpy": _rpy(base), "duration": duration},
            "weight": 200, "stiffness": 80,
        }  # fmt: skip
    return tasks


def limb_task(contact: Contact, pose: pin.SE3, duration: float, lift: float, via: Array | None = None) -> Entry:
    """Return the task that moves the surface of a contact to a pose in the world.

    Args:
        contact: the contact.
        pose: target.
        duration: of the swing [s].
        lift: height added in its middle [m].
        via: inner control points of the path, (k, 3) [m]; they replace the lift.
    """
    axes = ["x", "y", "z"] if contact.kind == "point" else ["x", "y", "z", "roll", "pitch", "yaw"]
    target = {"position": numbers(pose.translation), "rpy": _rpy(pose), "duration": duration}
    target |= {"apex": lift} if via is None else {"via": [numbers(point) for point in via]}
    return {
        "type": "pose", "frame": contact.surface, "axes": axes, "target": target, "weight": 1000, "stiffness": 100,
    }  # fmt: skip


def numbers(values: Array) -> list[float]:
    """Return numbers in the format of a file."""
    return [round(float(value), 6) for value in values]


def _rpy(pose: pin.SE3) -> list[float]:
    return numbers(pin.rpy.matrixToRpy(pose.rotation))


def _joints(scene: Scene, body: Subsystem) -> list[str]:
    """Return the names of the joints of a subsystem after its free-flyer, in the order of q."""
    prefix = f"{body.name}/"
    own = [name for name in scene.joint_names if name.startswith(prefix)]
    return [name.removeprefix(prefix) for name in (own[1:] if body.floating else own)]


def com_of(scene: Scene, name: str, q: Array) -> Array:
    """Return the centre of mass of a subsystem at a configuration of the scene, (3,) [m]."""
    data = scene.model.createData()
    pin.centerOfMass(scene.model, data, q, True)
    root = scene.subsystems[name].root_joints[0]
    return np.asarray(data.oMi[root].act(data.com[root]))
