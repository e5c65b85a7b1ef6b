"""Contact sequences and centre-of-mass trajectories as messages, and back."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
from numpy.typing import NDArray
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from com_trajectory.trajectory import ComTrajectory
from multi_qp_controller.ros.conversions import WORLD, to_stamp
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.suggestions import unknown_name

Array = NDArray[np.float64]

_OFF = Transform(translation=Vector3(x=math.nan, y=math.nan, z=math.nan), rotation=Quaternion(w=1.0))


def sequence_message(sequence: ContactSequence, stamp: int) -> MultiDOFJointTrajectory:
    """Return a contact sequence as a message with a stamp [ns]: one point a phase, NaN where a contact is off.

    The contacts are named after their surfaces, "<subsystem>/<surface>". A phase begins at its point's time.
    """
    names = list(dict.fromkeys(contact.surface for phase in sequence.phases for contact in phase.contacts))
    message = MultiDOFJointTrajectory(joint_names=names)
    message.header.frame_id, message.header.stamp = WORLD, to_stamp(stamp)
    begin = 0.0
    for phase in sequence.phases:
        on = {contact.surface: contact.pose for contact in phase.contacts}
        transforms = [_transform(on[name]) if name in on else _OFF for name in names]
        message.points.append(MultiDOFJointTrajectoryPoint(transforms=transforms, time_from_start=_duration(begin)))
        begin += phase.duration or 0.0
    return message


def sequence_of(message: MultiDOFJointTrajectory, scenario: Scenario, *, friction: float) -> ContactSequence:
    """Return the contact sequence of a message.

    Args:
        message: its names are surfaces, "<subsystem>/<surface>", or contacts of the scenario.
        scenario: has the surfaces.
        friction: of contacts that the scenario does not name.

    Raises:
        MultiQpError: a name is unknown, a point has another number of transforms, a pose is not finite, or a phase is
            without contacts.
    """
    spec, known = scenario.spec.contacts, scenario.scene.surfaces
    phases = []
    for number, point in enumerate(message.points):
        if len(point.transforms) != len(message.joint_names):
            count = f"{len(message.joint_names)} names and {len(point.transforms)} transforms"
            raise MultiQpError(f"phase {number + 1}: expected a transform for each name, got {count}")
        contacts = []
        for name, transform in zip(message.joint_names, point.transforms, strict=True):
            surface = spec[name].surfaces[0] if name in spec else name
            if surface not in known:
                raise MultiQpError(unknown_name("contact or surface", name, sorted({*spec, *known})))
            pose = _pose(transform, f"phase {number + 1}, {name}")
            if pose is not None:
                mu, other = (spec[name].friction, spec[name].surfaces[1]) if name in spec else (friction, None)
                contacts.append(_contact(scenario, surface, pose, mu, other))
        phases.append(ContactPhase(tuple(contacts), str(number + 1)))
    return ContactSequence(tuple(phases), {}, "contact_sequence")


def trajectory_message(trajectories: dict[str, ComTrajectory], *, step: float, stamp: int) -> MultiDOFJointTrajectory:
    """Return centre-of-mass trajectories as a message with a stamp [ns]: one entry for each subsystem.

    Args:
        trajectories: by subsystem.
        step: time between points [s]; the last point is the end of the longest.
        stamp: [ns].
    """
    message = MultiDOFJointTrajectory(joint_names=list(trajectories))
    message.header.frame_id, message.header.stamp = WORLD, to_stamp(stamp)
    end = max(trajectory.duration for trajectory in trajectories.values())
    times = np.append(np.arange(0.0, end - 1e-9, step), end)
    samples = [(t.position(times), t.velocity(times), t.acceleration(times)) for t in trajectories.values()]
    for k, time in enumerate(times):
        message.points.append(
            MultiDOFJointTrajectoryPoint(
                transforms=[
                    Transform(translation=_vector(place[k]), rotation=Quaternion(w=1.0)) for place, _, _ in samples
                ],
                velocities=[Twist(linear=_vector(rate[k])) for _, rate, _ in samples],
                accelerations=[Twist(linear=_vector(second[k])) for _, _, second in samples],
                time_from_start=_duration(float(time)),
            )
        )
    return message


def _contact(scenario: Scenario, surface: str, pose: pin.SE3, friction: float, other: str | None) -> Contact:
    known = scenario.scene.surfaces[surface]
    subsystem, _, effector = surface.partition("/")
    extent = 2.0 * np.abs(known.points[:, :2]).max(axis=0)
    size = (float(extent[0]), float(extent[1])) if known.kind == "planar" else (0.0, 0.0)
    return Contact(surface, subsystem, effector, pose, known.points, known.normals, friction, known.kind, size, other)


def _pose(transform: Transform, where: str) -> pin.SE3 | None:
    """Return the pose; None where it is off."""
    t, r = transform.translation, transform.rotation
    place, turn = np.array([t.x, t.y, t.z]), np.array([r.x, r.y, r.z, r.w])
    if np.isnan(place).any():
        return None
    length = float(np.linalg.norm(turn))
    if not (np.isfinite(place).all() and np.isfinite(turn).all() and abs(length - 1.0) < 1e-3):
        raise MultiQpError(f"{where}: expected a finite position and a unit quaternion")
    return pin.XYZQUATToSE3(np.concatenate([place, turn / length]))


def _transform(pose: pin.SE3) -> Transform:
    x, y, z, w = (float(value) for value in pin.SE3ToXYZQUAT(pose)[3:])
    return Transform(translation=_vector(pose.translation), rotation=Quaternion(x=x, y=y, z=z, w=w))


def _vector(values: Array) -> Vector3:
    return Vector3(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def _duration(seconds: float) -> Duration:
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)
