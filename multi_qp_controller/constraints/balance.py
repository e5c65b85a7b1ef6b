"""Balance: the capture point of everybody who stands on the ground stays over the feet."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.constraints.balance_kernel import edge_rows
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.kinematics import Group, Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.qp.labels import Block
from multi_qp_controller.support_kernel import edges_of
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import BalanceSpec
from multi_qp_scene.subsystem import SubsystemKind
from multi_qp_scene.surfaces import Surface

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

GRAVITY = 9.81
#: A centre of mass lower than this over its support [m] is treated as if it were here: the pendulum's rate is bounded.
LEAST_HEIGHT = 0.2
#: A contact counts as ground while its normal is within this of the vertical (cosine).
LEVEL = 0.85
#: A capture point outside is asked to come back no faster than this [m/s].
RECOVERY_SPEED = 0.1


@dataclass(slots=True)
class StandingGroup:
    """Subsystems that contacts hold together, and the ground under them.

    Attributes:
        group: its members.
        corners: a point on each edge of the support polygon, (k, 2) [m].
        normals: inward normals of the edges, (k, 2).
        ground: mean height of the polygon [m].
        offsets: how far each edge is from the origin along its normal, (k,) [m].
    """

    group: Group
    corners: Array
    normals: Array
    ground: float
    offsets: Array


class _Ground(NamedTuple):
    """Subsystems that stand, and the surfaces that they stand on, as `edges_of` wants them."""

    group: Group
    frame_joints: Indices
    axes: Array
    joints: Indices
    points: Array

    @classmethod
    def of(cls, kinematics: Kinematics, group: Group, surfaces: tuple[Surface, ...]) -> _Ground:
        """Look them up."""
        frames = [kinematics.fixed_frame(surface.frame_id) for surface in surfaces]
        frame_joints = np.array([frame.joint for frame in frames], dtype=np.intp)
        axes = np.array([frame.place[:, 2] for frame in frames])
        return cls(group, frame_joints, axes, *kinematics.points_on(surfaces))


class BalanceConstraint:
    """Rows that keep the capture point c + ċ/ω, ω = √(g/h), of each standing group over its support polygon.

    A group is a set of subsystems that contacts join, with at least one character; its polygon is the hull of its level
    contacts with the environment. With n the inward normal of an edge and d the capture point's distance from it, the
    damper asks n·(ċ + c̈/ω) >= −ξ (d − δ_s)/(δ_i − δ_s) once d < δ_i. While the capture point is inside, a centre of
    pressure under the feet exists that brings the centre of mass to rest; so the tasks may ask for what they like.

    Attributes:
        count: number of active rows.
    """

    def __init__(self, scene: Scene, spec: BalanceSpec) -> None:
        self._scene = scene
        self._groups: list[StandingGroup] = []
        self._limits = np.array(
            [spec.influence, spec.security, spec.damping, GRAVITY, LEAST_HEIGHT, RECOVERY_SPEED], dtype=float
        )
        self.count = 0
        self._known: dict[tuple[str, ...], list[_Ground]] = {}
        self._allocate()

    @property
    def size(self) -> int:
        """Number of rows that can be active with the present contacts."""
        return len(self._near)

    def label(self) -> Block:
        """Name the active rows."""
        names = [
            f"{'+'.join(s.name for s in standing.group.subsystems)} edge {k}"
            for standing in self._groups
            for k in range(len(standing.normals))
        ]
        return Block(name="balance", unit="m/s²", rows=tuple(names[k] for k in self._near[: self.count]))

    def set_contacts(self, contacts: Iterable[ActiveContact], kinematics: Kinematics) -> None:
        """Find the standing groups of these contacts; contacts with the environment do not move while they last."""
        self._groups = self.standing(tuple(contacts), kinematics)
        self._allocate()

    def standing(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> list[StandingGroup]:
        """Return the standing groups of contacts where everything is now."""
        groups, key = [], tuple([contact.name for contact in contacts])
        if key not in self._known:
            self._known[key] = [
                _Ground.of(kinematics, Group.of(self._scene, members), tuple(contact.first for contact in grounds))
                for members, grounds in _standing(self._scene, contacts)
            ]
        poses = kinematics.views.poses
        for found in self._known[key]:
            edges = np.empty((len(found.points), 5))  # of each: a point, the normal, the offset
            count, height = edges_of(found.frame_joints, found.axes, LEVEL, found.joints, found.points, poses, edges)
            if count:
                edges = edges[:count]
                groups.append(
                    StandingGroup(found.group, edges[:, :2], edges[:, 2:4].copy(), height, edges[:, 4].copy())
                )
        return groups

    def kept(self) -> BalanceConstraint:
        """Return what names the rows of this tick, which the next does not overwrite."""
        one = copy.copy(self)
        one._near = self._near.copy()
        return one

    def memory(self) -> Memory:
        """Return the standing groups with their polygons, which are those of the moment when the contacts were set."""
        return {
            "groups": [
                {
                    "subsystems": [subsystem.name for subsystem in standing.group.subsystems],
                    "corners": standing.corners,
                    "normals": standing.normals,
                    "ground": standing.ground,
                    "offsets": standing.offsets,
                }
                for standing in self._groups
            ]
        }

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self._groups = []
        for kept in memory["groups"]:
            corners, normals, offsets = kept["corners"], kept["normals"], kept.get("offsets")
            if offsets is None:  # recorded when they were not kept
                offsets = (corners * normals).sum(axis=1)
            group = Group.of(self._scene, kept["subsystems"])
            self._groups.append(StandingGroup(group, corners, normals, kept["ground"], offsets))
        self._allocate()

    def _allocate(self) -> None:
        first = [0, *itertools.accumulate(len(standing.normals) for standing in self._groups)]
        self._near = np.zeros(first[-1], dtype=np.intp)
        #: Each group, and what the kernel wants of it.
        self._edges = [
            (g.group, (g.normals, g.offsets, g.ground, self._limits, g.group.columns, number, self._near))
            for g, number in zip(self._groups, first, strict=False)
        ]

    def update(self, kinematics: Kinematics, D: Array, d: Array, first: int) -> None:
        """Write the rows D q̈ >= d of the edges that a capture point is near to, from row `first` on."""
        row = first
        for group, given in self._edges:
            row = edge_rows(*given, kinematics.centroid(group), kinematics.Ag, first, row, D, d)
        self.count = row - first


def _standing(scene: Scene, contacts: tuple[ActiveContact, ...]) -> list[tuple[list[str], list[ActiveContact]]]:
    """Return the groups of subsystems that contacts join and that stand: their names, and their contacts below."""
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
