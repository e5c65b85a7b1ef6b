"""Conversions between contact sequences or centre-of-mass trajectories and messages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from com_trajectory.trajectory import ComTrajectory
from multi_qp_ros.conversions import WORLD, to_stamp
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.suggestions import unknown_name

_OFF = Transform(translation=Vector3(x=math.nan, y=math.nan, z=math.nan), rotation=Quaternion(w=1.0))


def sequence_message(
    sequence: ContactSequence, stamp: int, scenario: Scenario | None = None
) -> MultiDOFJointTrajectory:
    """Return a contact sequence as a message with a stamp [ns]: one point per phase, NaN for inactive contacts.

    Contacts are named as in the scenario if it has one of the same pair of surfaces, else by their own surface,
    "<subsystem>/<surface>". The time of a point is the start of the phase.
    """
    known = {} if scenario is None else {spec.surfaces: name for name, spec in scenario.spec.contacts.items()}

    def name_of(contact: Contact) -> str:
        return known.get((contact.surface, str(contact.other)), contact.surface)

    names = list(dict.fromkeys(name_of(contact) for phase in sequence.phases for contact in phase.contacts))
    message = MultiDOFJointTrajectory(joint_names=names)
    message.header.frame_id, message.header.stamp = WORLD, to_stamp(stamp)
    begin = 0.0
    for phase in sequence.phases:
        on = {name_of(contact): contact.pose for contact in phase.contacts}
        transforms = [_transform(on[name]) if name in on else _OFF for name in names]
        message.points.append(MultiDOFJointTrajectoryPoint(transforms=transforms, time_from_start=_duration(begin)))
        begin += phase.duration or 0.0
    return message


def sequence_of(message: MultiDOFJointTrajectory, scenario: Scenario, *, friction: float) -> ContactSequence:
    """Return the contact sequence of a message.

    Args:
        message: message whose names are surfaces, "<subsystem>/<surface>", or contacts of the scenario.
        scenario: scenario with the surfaces.
        friction: friction coefficient of contacts that are not in the scenario.

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
        trajectories: trajectories by subsystem.
        step: time between points [s]; points are added at the ends of all phases and curves, the last one at the end of
            the longest trajectory.
        stamp: stamp of the message [ns].
    """
    message = MultiDOFJointTrajectory(joint_names=list(trajectories))
    message.header.frame_id, message.header.stamp = WORLD, to_stamp(stamp)
    times = _instants(trajectories.values(), step)
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


def curves_of(message: MultiDOFJointTrajectory, subsystem: str) -> tuple[Array, Array, Array, Array]:
    """Return the times of a trajectory message, (k,) [s], and a subsystem's position, velocity, acceleration, (k, 3).

    Raises:
        MultiQpError: when the subsystem is not in the message, or a point is incomplete.
    """
    names = list(message.joint_names)
    if subsystem not in names:
        raise MultiQpError(f"the trajectory of the centre of mass is of {', '.join(names)}, not of {subsystem}")
    k, points = names.index(subsystem), message.points
    for number, point in enumerate(points, start=1):
        if not len(point.transforms) == len(point.velocities) == len(point.accelerations) == len(names):
            raise MultiQpError(f"point {number} of the trajectory lacks a position, velocity or acceleration")
    vectors = (
        [point.transforms[k].translation for point in points],
        [point.velocities[k].linear for point in points],
        [point.accelerations[k].linear for point in points],
    )
    position, velocity, acceleration = (np.array([[v.x, v.y, v.z] for v in part]).reshape(-1, 3) for part in vectors)
    return begins_of(message), position, velocity, acceleration


def begins_of(message: MultiDOFJointTrajectory) -> Array:
    """Return the times of a message's points, (k,) [s]; in a schedule these are the starts of the phases."""
    times = (point.time_from_start for point in message.points)
    return np.array([time.sec + 1e-9 * time.nanosec for time in times])


def _instants(trajectories: Iterable[ComTrajectory], step: float) -> Array:
    """Return the ends of all phases and curves, and instants about `step` [s] apart between them, (k,) [s]."""
    ends = [0.0]
    for trajectory in trajectories:
        ends += [*trajectory.phase_ends, *(piece.end for piece in trajectory.pieces)]
    fixed = np.unique(np.round(ends, 9))
    parts = [np.linspace(a, b, max(1, round((b - a) / step)), endpoint=False) for a, b in pairwise(fixed)]
    return np.concatenate([*parts, fixed[-1:]])


def _contact(scenario: Scenario, surface: str, pose: pin.SE3, friction: float, other: str | None) -> Contact:
    known = scenario.scene.surfaces[surface]
    subsystem, _, effector = surface.partition("/")
    extent = 2.0 * np.abs(known.points[:, :2]).max(axis=0)
    size = (float(extent[0]), float(extent[1])) if known.kind == "planar" else (0.0, 0.0)
    return Contact(surface, subsystem, effector, pose, known.points, known.normals, friction, known.kind, size, other)


def _pose(transform: Transform, where: str) -> pin.SE3 | None:
    """Return the pose of a contact; None if it is inactive."""
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
