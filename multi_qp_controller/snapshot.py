"""Snapshot of one control tick for viewers: plain data without reference to the QP."""

from __future__ import annotations

from dataclasses import dataclass, field

from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class ContactSnapshot:
    """One active contact; all vectors in the world frame.

    Attributes:
        name: name of the contact in the scenario.
        points: contact points, (k, 3) [m].
        forces: force on the first surface's body at each point, (k, 3) [N].
        normals: inward normal of the first surface at each point (axis of the friction cone), (k, 3).
        friction: Coulomb friction coefficient.
    """

    name: str
    points: Array
    forces: Array
    normals: Array
    friction: float


@dataclass(frozen=True)
class PairSnapshot:
    """One watched collision pair.

    Attributes:
        name: "<body> | <body>".
        point_a: witness point on the first body, world frame, (3,) [m].
        point_b: witness point on the second body, world frame, (3,) [m].
        distance: signed distance [m].
        influence: distance below which the damper acts [m].
        security: distance maintained by the damper [m].
        active: whether the damper is a row of the QP at this tick.
    """

    name: str
    point_a: Array
    point_b: Array
    distance: float
    influence: float
    security: float
    active: bool


@dataclass(frozen=True)
class TargetSnapshot:
    """The present reference of one task, where it is a point or pose in space.

    Attributes:
        name: task name.
        position: world frame, (3,) [m].
        rotation: world frame, (3, 3), or None for a point.
    """

    name: str
    position: Array
    rotation: Array | None = None


@dataclass(frozen=True)
class Snapshot:
    """Everything that viewers draw of one tick.

    Attributes:
        time: [s].
        q: configuration of the whole scene, (nq,).
        state: name of the FSM state.
        status: "ok", "reduced", "relaxed" or "fallback".
        tick_ms: time from state input to torque output [ms].
        contacts: the active contacts.
        com: centre of mass of each moving subsystem, by name, world frame, (3,) [m].
        com_total: centre of mass of the balanced group, world frame, (3,) [m].
        support_polygon: convex hull of the ground contact points, counter-clockwise, world frame, (k, 3) [m].
        pairs: the watched pairs within their influence distance.
        targets: references of the tasks.
        references: configuration of each subsystem that follows a recorded motion, in that motion.
    """

    time: float
    q: Array
    state: str
    status: str
    tick_ms: float
    contacts: tuple[ContactSnapshot, ...] = ()
    com: dict[str, Array] = field(default_factory=dict)
    com_total: Array | None = None
    support_polygon: Array | None = None
    pairs: tuple[PairSnapshot, ...] = ()
    targets: tuple[TargetSnapshot, ...] = ()
    references: dict[str, Array] = field(default_factory=dict)
