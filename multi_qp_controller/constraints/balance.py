"""Balance constraint: the capture point of each standing group stays over its support polygon."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from multi_qp_controller.constraints.balance_kernel import edge_rows
from multi_qp_controller.constraints.base import RowConstraint
from multi_qp_controller.constraints.load_kernel import carried_offsets
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.support_polygon import inward_edges, support_polygon
from multi_qp_controller.dynamics.kinematics import Group, Kinematics
from multi_qp_controller.qp.labels import LabelBlock
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.control import BalanceSpec
from multi_qp_scene.subsystem import SubsystemKind
from multi_qp_scene.surfaces import Surface

GRAVITY = 9.81
#: Smallest height of the centre of mass over its support [m]; it bounds the frequency of the pendulum.
LEAST_HEIGHT = 0.2
#: Smallest cosine between a contact normal and the vertical for a ground contact.
LEVEL = 0.85
#: Largest speed at which a capture point outside returns [m/s].
RECOVERY_SPEED = 0.1
#: Share of its torque limits with which a leg on a point carries weight; the rest brakes its motion.
LOAD = 0.7


@dataclass
class StandingGroup:
    """Subsystems joined by contacts, and their support polygon.

    Attributes:
        subsystems: names of the subsystems.
        corners: corners of the support polygon, (corners, 2) [m].
        normals: inward normals of the edges, (k, 2).
        ground: mean height of the polygon [m].
        offsets: distance of each edge from the origin along its normal, (k,) [m].
        feet: names of the ground surfaces of a group that stands on points only: the edges are followed by a line that
            cuts off each corner, and all are shifted inwards to what the legs can carry. Else empty.
    """

    subsystems: tuple[str, ...]
    corners: Annotated[Array, None, 2]
    normals: Annotated[Array, "edges", 2]
    ground: float
    offsets: Annotated[Array, "edges"]
    feet: tuple[str, ...] = ()


class _Legs(NamedTuple):
    """Legs that stand on points, as arguments of `carried_offsets`."""

    joints: Indices
    points: Array
    starts: Indices
    columns: Indices
    effort: Array

    @classmethod
    def of(cls, kinematics: Kinematics, feet: list[Surface]) -> _Legs:
        """Create it from the surfaces of the feet."""
        scene = kinematics.scene
        limits = dict(zip(scene.actuated_v.tolist(), scene.torque_limits.tolist(), strict=True))
        motors = [[c for c in kinematics.fixed_frame(foot.frame_id).columns.tolist() if c in limits] for foot in feet]
        starts = np.array([0, *itertools.accumulate(len(leg) for leg in motors)], dtype=np.intp)
        columns = np.array([c for leg in motors for c in leg], dtype=np.intp)
        effort = LOAD * np.array([limits[c] for c in columns])
        return cls(*kinematics.points_on(tuple(feet)), starts, columns, effort)


class BalanceConstraint(RowConstraint):
    """Rows that keep the capture point c + ċ/ω, ω = √(g/h), of each standing group over its support polygon.

    A group is a set of subsystems that contacts join, with at least one character; its polygon is the hull of its level
    contacts with the environment. With n the inward normal of an edge and d the capture point's distance from it, the
    damper is n·(ċ + c̈/ω) >= −ξ (d − δ_s)/(δ_i − δ_s) for d < δ_i. While the capture point is inside, a centre of
    pressure under the feet exists that brings the centre of mass to rest, whatever the tasks.

    Attributes:
        groups: the standing groups, as computed when the contacts were set.
    """

    group = "balance"

    @dataclass
    class Checkpoint(RowConstraint.Checkpoint):
        """Standing groups."""

        groups: list[StandingGroup]

    def __init__(self, scene: Scene, spec: BalanceSpec) -> None:
        self._scene = scene
        self.groups: list[StandingGroup] = []
        self._limits = np.array(
            [spec.influence, spec.security, spec.damping, GRAVITY, LEAST_HEIGHT, RECOVERY_SPEED], dtype=float
        )
        self._legs_cache: dict[tuple[str, ...], _Legs] = {}
        self._group_cache: dict[tuple[str, ...], Group] = {}
        self._allocate()

    @classmethod
    def of(cls, scenario: Scenario, dt: float, horizon: float) -> BalanceConstraint | None:
        """Create it for a scenario, None where the scenario has no balance constraint; see `make_constraints`."""
        return None if scenario.spec.balance is None else cls(scenario.scene, scenario.spec.balance)

    @property
    def size(self) -> int:
        """Number of rows that can be active with the present contacts."""
        return len(self._near)

    def label(self) -> LabelBlock:
        """Return the names of the active rows."""
        names = [
            f"{'+'.join(standing.subsystems)} edge {k}"
            for standing in self.groups
            for k in range(len(standing.normals))
        ]
        return LabelBlock(name="balance", unit="m/s²", rows=tuple(names[k] for k in self._near[: self.count]))

    def set_contacts(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:
        """Compute the standing groups of these contacts; contacts with the environment are fixed while active."""
        self.groups = self._standing_groups(contacts, kinematics)
        self._allocate()

    def _standing_groups(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> list[StandingGroup]:
        """Return the standing groups of contacts at the present configuration."""
        groups = []
        for members, grounds in _standing(self._scene, contacts):
            surfaces = [contact.first for contact in grounds]
            normals = [kinematics.pose(surface.frame_id).rotation[2, 2] for surface in surfaces]
            polygon = support_polygon(kinematics, surfaces)
            if len(polygon) >= 3 and min(np.abs(normals)) > LEVEL:
                groups.append(_standing_group(tuple(members), polygon, surfaces))
        return groups

    def snapshot(self) -> BalanceConstraint:
        """Return a copy with the labels of this tick."""
        one = copy.copy(self)
        one._near = self._near.copy()
        return one

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state."""
        super().set_state(saved)
        self._allocate()

    def _group(self, subsystems: tuple[str, ...]) -> Group:
        if subsystems not in self._group_cache:
            self._group_cache[subsystems] = Group.of(self._scene, list(subsystems))
        return self._group_cache[subsystems]

    def _carry(self, standing: StandingGroup, kinematics: Kinematics) -> None:
        """Shift the edges of a group on points to what its legs can carry at this tick."""
        if standing.feet not in self._legs_cache:
            feet = [self._scene.surfaces[name] for name in standing.feet]
            self._legs_cache[standing.feet] = _Legs.of(kinematics, feet)
        legs, weight = self._legs_cache[standing.feet], GRAVITY * self._group(standing.subsystems).mass(kinematics)
        poses, J, N = kinematics.views.poses, kinematics.J, kinematics.N
        carried_offsets(*legs, poses, J, N, weight, standing.normals, standing.offsets)

    def _allocate(self) -> None:
        first = [0, *itertools.accumulate(len(standing.normals) for standing in self.groups)]
        self._near = np.zeros(first[-1], dtype=np.intp)
        #: Each group, with its arguments of `edge_rows`.
        self._edges = [
            (group, (g.normals, g.offsets, g.ground, self._limits, group.columns, number, self._near))
            for g, number in zip(self.groups, first, strict=False)
            for group in [self._group(g.subsystems)]
        ]

    def update(self, kinematics: Kinematics, D: Array, d: Array) -> None:
        """Write the rows of the edges within the influence distance of a capture point."""
        self.count = 0
        for standing in self.groups:
            if standing.feet:
                self._carry(standing, kinematics)
        for group, arguments in self._edges:
            self.count = edge_rows(*arguments, kinematics.centroid(group), kinematics.Ag, self.count, D, d)


def _standing_group(subsystems: tuple[str, ...], polygon: Array, surfaces: list[Surface]) -> StandingGroup:
    """Return a group from its support polygon, (k, 3) [m], and its ground surfaces."""
    corners, (normals, offsets) = polygon[:, :2], inward_edges(polygon)
    feet = tuple(surface.name for surface in surfaces) if all(s.kind == "point" for s in surfaces) else ()
    if feet:
        # a line through a corner, parallel to that through its neighbours: shifted inwards it bounds the load there
        along = np.roll(corners, -1, axis=0) - np.roll(corners, 1, axis=0)
        cuts = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
        normals = np.vstack([normals, cuts])
        offsets = np.concatenate([offsets, np.einsum("ij,ij->i", cuts, corners)])
    return StandingGroup(subsystems, corners.copy(), normals, float(polygon[:, 2].mean()), offsets, feet)


def _standing(scene: Scene, contacts: tuple[ActiveContact, ...]) -> list[tuple[list[str], list[ActiveContact]]]:
    """Return the standing groups of subsystems that contacts join: their names and their ground contacts."""
    group_of = {name: {name} for name in scene.subsystems}
    grounds: list[tuple[str, ActiveContact]] = []
    for contact in contacts:
        first, second = contact.first.name.split("/")[0], contact.second.name.split("/")[0]
        if second not in scene.subsystems:
            grounds.append((first, contact))
            continue
        joined = group_of[first] | group_of[second]
        for name in joined:
            group_of[name] = joined
    found = []
    for group in {id(g): g for g in group_of.values()}.values():
        below = [contact for name, contact in grounds if name in group]
        with_character = any(scene.subsystems[name].kind is SubsystemKind.CHARACTER for name in group)
        floating = all(scene.subsystems[name].floating for name in group)
        if below and with_character and floating:
            found.append(([name for name in scene.subsystems if name in group], below))
    return found
