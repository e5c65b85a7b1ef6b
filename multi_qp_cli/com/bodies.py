"""Whole-body feasibility of contacts and centres of mass, for tables 4 and 5 of [Tonneau2018]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from com_trajectory.kinematics.sampled_robot import SampledRobot
from com_trajectory.trajectory import ComTrajectory
from multi_qp_scene.arrays import Array
from multi_qp_scene.builder import build_scene
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.models import valid_model
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.resources import model_path
from multi_qp_scene.schema.subsystems import SubsystemSpec
from multi_qp_scene.separation import Separation
from multi_qp_scene.surfaces import Surface
from multi_qp_scene.whole_body_ik import IkSolution, Placement, WholeBodyIk

NAME = "walker"
REACHED = 5e-3
"""Error of a contact or of the centre of mass that counts as reached [m, rad]."""
CLEARANCE = 2e-3
"""Minimum distance in inverse kinematics between bodies that are not in contact [m]."""
_POSTURE = "half_sitting"
_ITERATIONS, _FIRST_ITERATIONS = 60, 20  # of one search, and of a search that is given up if it is not promising
_STEP = 0.1  # largest time between two configurations on a trajectory [s]
_PROMISING = 0.1  # error [m, rad] below which a search goes on


@dataclass(frozen=True)
class BoxObstacle:
    """Fixed box in the environment.

    Attributes:
        size: edge lengths [m].
        pose: pose of its centre in the world.
    """

    size: tuple[float, float, float]
    pose: pin.SE3


class PosedRobot:
    """Robot posed by inverse kinematics within its joint limits, without self-collisions or collisions with boxes.

    Attributes:
        rest: rest posture with its lowest surface at height 0, (nq,).
    """

    def __init__(self, model: str, blocks: Sequence[BoxObstacle] = ()) -> None:
        """Load a shipped model with a floating base, and add boxes to its environment."""
        loaded = valid_model(model_path(model))
        posture = _POSTURE if _POSTURE in loaded.spec.postures else None
        spec = SubsystemSpec(model=model, posture=posture)
        self._scene = build_scene(SceneParts({NAME: (loaded, spec)}))
        self._sampled = SampledRobot(model_path(model))
        geometry = _with_boxes(self._sampled.geometry, blocks)
        self._ik = WholeBodyIk(self._scene, NAME, apart=Separation(self._sampled.model, geometry, clearance=CLEARANCE))
        self._touching = Separation(self._sampled.model, geometry, clearance=0.0)
        self._data = self._scene.model.createData()
        self.rest: Array = self._scene.q0.copy()
        pin.framesForwardKinematics(self._scene.model, self._data, self.rest)
        surfaces = [surface.frame_id for surface in self._scene.surfaces.values()]
        self.rest[2] -= min(float(self._data.oMf[frame].translation[2]) for frame in surfaces)

    def surface(self, effector: str) -> Surface:
        """Return a surface of the robot."""
        return self._scene.surfaces[f"{NAME}/{effector}"]

    def reach(
        self, contacts: Sequence[Contact], com: Array | None, q: Array, *, also: Sequence[Array] = (), tries: int = 6
    ) -> Array | None:
        """Return a posture with these contacts and centre of mass, (nq,); None if none was found.

        Args:
            contacts: poses of surfaces.
            com: (3,) [m]; free if None.
            q: initial and nominal configuration of the search, (nq,).
            also: further initial configurations.
            tries: number of further random initial configurations, at increasing distance.
        """
        placements = self._placements(contacts)
        random = np.random.default_rng(0)
        starts = [q, *also]
        for attempt in range(len(starts) + tries):
            if attempt < len(starts):
                near = starts[attempt]
            else:
                near = q.copy()
                scale = 0.12 * (attempt + 1 - len(starts))
                low, high = self._scene.model.lowerPositionLimit[7:], self._scene.model.upperPositionLimit[7:]
                near[7:] = np.clip(near[7:] + random.normal(scale=scale, size=len(low)), low, high)
            found = self._ik.solve(near, placements, com=com, rest=near, iterations=_ITERATIONS)
            if _reached(found):
                return found.q
        return None

    def reach_from(self, starts: Iterable[Array], contacts: Sequence[Contact], com: Array) -> Array | None:
        """Return a posture with these contacts and centre of mass, (nq,), as `reach`, from many starts.

        A start from which the error stays large in the first iterations is given up.
        """
        placements = self._placements(contacts)
        for near in starts:
            found = self._ik.solve(near, placements, com=com, rest=near, iterations=_FIRST_ITERATIONS)
            if not _reached(found) and max(found.contact_error, found.com_error) <= _PROMISING:
                found = self._ik.solve(found.q, placements, com=com, rest=found.q, iterations=_ITERATIONS)
            if _reached(found):
                return found.q
        return None

    def _placements(self, contacts: Sequence[Contact]) -> list[Placement]:
        return [
            Placement(self.surface(contact.effector).frame_id, contact.pose, turns=contact.kind == "point")
            for contact in contacts
        ]

    def collides(self, q: Array) -> bool:
        """Whether the robot collides with itself or a box at a configuration, (nq,)."""
        return bool(self._touching.overlapping(q))

    def first_unreachable_time(self, trajectory: ComTrajectory, postures: Sequence[Array]) -> float | None:
        """Return the first time at which the body cannot follow a trajectory [s]; None if it always can.

        Args:
            trajectory: trajectory of the centre of mass.
            postures: known postures on the way, (nq,) each, the first and last at its ends; if there is one for each
                transition, they are at the ends of the phases, else evenly spaced.
        """
        q, goal = postures[0], postures[-1]
        duration = trajectory.duration
        ends = np.linspace(0.0, duration, len(postures))
        if len(postures) == len(trajectory.phases) + 1:
            ends = np.concatenate([[0.0], trajectory.phase_ends])
        times = np.linspace(0.0, duration, max(9, round(duration / _STEP) + 1))
        for time, number in zip(times, trajectory.phase_at(times), strict=True):
            contacts = trajectory.phases[int(number)].phase.contacts
            k = min(int(np.searchsorted(ends, time, side="right")), len(ends) - 1)
            share = (time - ends[k - 1]) / (ends[k] - ends[k - 1])
            between = pin.interpolate(self._scene.model, postures[k - 1], postures[k], float(share))
            found = self.reach(contacts, trajectory.position(time), q, also=(between, goal))
            if found is None:
                return float(time)
            q = found
        return None

    def com(self, q: Array) -> Array:
        """Return the centre of mass, (3,) [m], at a configuration, (nq,)."""
        return np.array(pin.centerOfMass(self._scene.model, self._data, q, False))

    def contacts(self, random: np.random.Generator, effectors: Sequence[str]) -> tuple[list[Contact], Array] | None:
        """Return contacts at a random collision-free posture, and the posture; None if the sample collides.

        Args:
            random: random generator.
            effectors: names of the surfaces in contact.
        """
        (q,) = self.random_configurations(random, 1)
        if self.collides(q):
            return None
        found = []
        for effector, pose in self.surface_poses(q, effectors).items():
            surface = self.surface(effector)
            found.append(Contact(effector, NAME, effector, pose, surface.points, surface.normals, 0.6, surface.kind))
        return found, q

    def random_configurations(self, random: np.random.Generator, count: int) -> Iterator[Array]:
        """Yield random configurations, (nq,), with the base at the origin; some collide."""
        for joints in self._sampled.draw(random, count):
            yield self._sampled.configuration(joints)

    def surface_poses(self, q: Array, effectors: Sequence[str]) -> dict[str, pin.SE3]:
        """Return the poses of surfaces in the world at a configuration, (nq,)."""
        pin.framesForwardKinematics(self._scene.model, self._data, q)
        return {effector: self._data.oMf[self.surface(effector).frame_id].copy() for effector in effectors}


def _reached(found: IkSolution) -> bool:
    return max(found.contact_error, found.com_error) <= REACHED and found.overlap < CLEARANCE


def _with_boxes(geometry: pin.GeometryModel, blocks: Sequence[BoxObstacle]) -> pin.GeometryModel:
    """Return the geometry of a robot with fixed boxes and the collision pairs between them."""
    geometry = geometry.copy()
    pieces = len(geometry.geometryObjects)
    for number, block in enumerate(blocks):
        added = geometry.addGeometryObject(pin.GeometryObject(f"box_{number}", 0, 0, block.pose, coal.Box(*block.size)))
        for piece in range(pieces):
            geometry.addCollisionPair(pin.CollisionPair(piece, added))
    return geometry
