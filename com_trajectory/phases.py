"""Contact phases with their constraints on the centre of mass: reach, wrench cone, region and rest state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, isfinite

import numpy as np

from com_trajectory.costs import QuadraticCost
from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.polytope import Polytope
from com_trajectory.solver import minimise
from com_trajectory.transition import TransitionPoint, transition_by_loads
from com_trajectory.transition_kernel import height_range
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.equilibrium import EquilibriumRegion
from multi_qp_scene.errors import MultiQpError


@dataclass(frozen=True)
class ContactMargin:
    """What trajectories leave unused of the contacts, for what a controller needs beside them.

    Attributes:
        edge: distance by which each contact point is moved to the centre of its phase's, at most half the way [m].
        friction: fraction of the friction coefficients that is used.
    """

    edge: float = 0.0
    friction: float = 1.0

    def within(self, points: Array) -> Array:
        """Return contact points in the world, (k, 3) [m], moved inwards."""
        inwards = points.mean(axis=0) - points
        ways = np.maximum(np.linalg.norm(inwards, axis=1, keepdims=True), 1e-9)
        return points + inwards * np.minimum(0.5, self.edge / ways)


@dataclass(frozen=True, eq=False)
class PlacedContact:
    """Geometry of a contact, shared by the phases that contain it.

    Attributes:
        points: in the world, (k, 3) [m].
        rays: unit rays of the friction pyramids, (k, edges, 3).
        reach: positions of the centre of mass reachable from its effector, in the world; None if unlimited.
        place: position of the surface, (3,) [m].
        steepness: vertical component of the normal of the touched surface, 1 on level ground.
        ahead: horizontal direction of the surface's x axis if it supports the body, else zeros, (3,).
    """

    points: Array
    rays: Array
    reach: Polytope | None
    place: Array
    steepness: float
    ahead: Array

    @classmethod
    def of(cls, contact: Contact, polytopes: Mapping[str, Polytope], contact_margin: ContactMargin) -> PlacedContact:
        """Return the geometry of a contact; polytopes are in the frames of the effectors' surfaces."""
        polytope, pose = polytopes.get(contact.effector), contact.pose
        reach = None if polytope is None else polytope.transformed(pose)
        rotation, ahead = pose.rotation, np.zeros(3)
        steepness = -float(rotation[2, 2])
        if steepness > _STANDING:
            ahead[:2] = rotation[:2, 0]
        rays = replace(contact, friction=contact_margin.friction * contact.friction).rays()
        return cls(contact.points_in_world, rays, reach, pose.translation, steepness, ahead)


class PlannedPhase:
    """A contact phase of one subsystem with the constraints on its centre of mass.

    Attributes:
        phase: the contacts.
        com: a known centre of mass, (3,) [m], or None.
        reach: K⁽ʲ⁾ = ∩ K_i, reachable positions of the centre of mass, in the world; (4).
        limited: the contacts whose effectors limit the reach.
        source: index of the phase in the given sequence; None for an inserted one.
    """

    def __init__(
        self,
        phase: ContactPhase,
        com: Array | None,
        polytopes: Mapping[str, Polytope],
        source: int | None,
        *,
        contact_margin: ContactMargin | None = None,
        known: dict[int, PlacedContact] | None = None,
    ) -> None:
        """Compute the geometry of the contacts; `known` caches it by identity, as contacts are shared by phases."""
        self.phase = phase
        self.com = com
        self.limited = tuple(contact for contact in phase.contacts if contact.effector in polytopes)
        self._margin = contact_margin or ContactMargin()
        known = {} if known is None else known
        for contact in phase.contacts:
            if id(contact) not in known:
                known[id(contact)] = PlacedContact.of(contact, polytopes, self._margin)
        self._placed = [known[id(contact)] for contact in phase.contacts]
        self.reach = Polytope.intersection(placed.reach for placed in self._placed if placed.reach is not None)
        self.source = source

    @cached_property
    def cone(self) -> WrenchCone:
        """Wrenches that the contacts can exert."""
        points = self._margin.within(np.concatenate([placed.points for placed in self._placed]))
        return WrenchCone.of_rays(points, np.concatenate([placed.rays for placed in self._placed]))

    @cached_property
    def region(self) -> EquilibriumRegion:
        """Static-equilibrium region: A⁽ʲ⁾ c ≤ a⁽ʲ⁾."""
        return equilibrium_region(self.cone)

    @cached_property
    def limits(self) -> tuple[Array, Array, tuple[int, int]]:
        """Rows of the reach, then of the region: normals (m, 3), offsets (m,) [m], and the number of each.

        An empty region has no rows.
        """
        reach, region = self.reach, self.region
        if region.empty:
            return reach.A, reach.b, (reach.size, 0)
        A, b = np.concatenate([reach.A, region.A]), np.concatenate([reach.b, region.a])
        return A, b, (reach.size, len(region.a))

    @cached_property
    def rest(self) -> TransitionPoint:
        """The state x⁽ʲ⁾: the known centre of mass, or a position well inside the reach and over the contacts."""
        if self.com is not None:
            return TransitionPoint(self.com)
        if self.reach.size == 0:
            raise MultiQpError(
                f"phase {self.phase.name!r}: its centre of mass is not given and no polytope of its effectors is "
                "known, so its height is undetermined; specify `com` or the polytopes"
            )
        target = self._middle()
        return transition_by_loads(self.cone, self.reach, QuadraticCost.towards(target), preload=PRELOAD)

    @cached_property
    def facing(self) -> Array:
        """Heading of the body, a horizontal unit vector, (3,): the mean of its surfaces' x axes."""
        forward = np.zeros(3)
        for placed in self._placed:
            forward += placed.ahead
        length = hypot(*forward.tolist())
        return forward / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])

    def _middle(self) -> Array:
        """Return the mean of the load-bearing contacts, at a height at which limbs are slightly bent."""
        middle, total = np.zeros(3), 0.0
        for placed in self._placed:
            weight = max(placed.steepness, 0.0) + 1e-3
            middle += weight * placed.place
            total += weight
        middle /= total
        A, b = self.reach.A, self.reach.b
        lowest, highest = height_range(A, b, middle)
        if isfinite(highest) and isfinite(lowest) and highest > lowest:
            return np.array([middle[0], middle[1], lowest + HEIGHT_SHARE * (highest - lowest)])
        rows = np.hstack([A, np.ones((len(A), 1))])
        deepest = minimise(None, np.array([0.0, 0.0, 0.0, -1.0]), rows, b)
        return np.asarray(deepest.x[:3]) if deepest.solved else middle


_STANDING = 0.5  # surfaces less steep than 60 degrees support the body

HEIGHT_SHARE = 0.85
"""Height of a centre of mass at rest, as a fraction between the lowest and highest reachable one."""

PRELOAD = 0.25
"""Share of the weight spread evenly over all friction rays where possible: a margin for accelerations."""


def planned_phases(
    sequence: ContactSequence,
    subsystem: str,
    polytopes: Mapping[str, Polytope],
    contact_margin: ContactMargin | None = None,
) -> list[PlannedPhase]:
    """Return the phases of one subsystem with single changes, see `ContactSequence.with_single_changes`."""
    phases: list[PlannedPhase] = []
    known: dict[int, PlacedContact] = {}
    for phase, source in sequence.of(subsystem).with_single_changes():
        com = phase.com.get(subsystem)
        phases.append(PlannedPhase(phase, com, polytopes, source, contact_margin=contact_margin, known=known))
    return phases
