"""Is there a whole body for these contacts and this centre of mass? What tables 4 and 5 of [Tonneau2018] count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from com_trajectory.kinematics.sampled_robot import SampledRobot
from com_trajectory.trajectory import ComTrajectory
from multi_qp_scene.builder import build_scene
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.models import load_model
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import model_path
from multi_qp_scene.schema.scenario_file import SubsystemSpec
from multi_qp_scene.separation import Separation
from multi_qp_scene.surfaces import Surface
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

Array = NDArray[np.float64]

NAME = "walker"
REACHED = 5e-3
"""Error of a contact or of the centre of mass that counts as reached [m, rad]."""
CLEARANCE = 2e-3
"""What inverse kinematics keeps between bodies that do not touch [m]."""
_POSTURE = "half_sitting"


@dataclass(frozen=True)
class Block:
    """A box that stands about.

    Attributes:
        size: edges [m].
        pose: of its middle, in the world.
    """

    size: tuple[float, float, float]
    pose: pin.SE3


class Bodies:
    """A robot posed by inverse kinematics within its joint limits, without collisions with itself and what is there.

    Attributes:
        rest: its resting posture, with its lowest surface at height 0, (nq,).
    """

    def __init__(self, model: str, blocks: Sequence[Block] = ()) -> None:
        """Read a shipped model with a floating base, and put blocks into its world."""
        problems = Problems()
        loaded = load_model(model_path(model), problems)
        problems.raise_if_any()
        assert loaded is not None
        posture = _POSTURE if _POSTURE in loaded.spec.postures else None
        spec = SubsystemSpec(model=model, posture=posture)
        self._scene = build_scene(SceneParts({NAME: (loaded, spec)}))
        self._sampled = SampledRobot(model_path(model))
        geometry = _among(self._sampled.geometry, blocks)
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
            contacts: where surfaces are.
            com: (3,) [m]; anywhere if None.
            q: where the search begins and whose joints it stays near, (nq,).
            also: further postures to begin at.
            tries: further searches, from joints further and further away.
        """
        placements = [
            Placement(self._scene.surfaces[f"{NAME}/{c.effector}"].frame_id, c.pose, turns=c.kind == "point")
            for c in contacts
        ]
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
            found = self._ik.solve(near, placements, com=com, rest=near, iterations=60)
            if max(found.contact_error, found.com_error) <= REACHED and found.overlap < CLEARANCE:
                return found.q
        return None

    def collides(self, q: Array) -> bool:
        """Whether the robot overlaps itself or a block at a configuration, (nq,)."""
        return bool(self._touching.overlapping(q))

    def lost_at(self, trajectory: ComTrajectory, postures: Sequence[Array], *, step: float = 0.1) -> float | None:
        """Return the first instant at which the body cannot follow a trajectory [s]; None if it can all the way.

        Args:
            trajectory: of the centre of mass.
            postures: known on the way, (nq,) each, in their order, the first and the last at its ends; with one for
                each transition between them these are where phases end.
            step: at most this between two instants [s].
        """
        q, goal = postures[0], postures[-1]
        duration = trajectory.duration
        ends = np.linspace(0.0, duration, len(postures))
        if len(postures) == len(trajectory.phases) + 1:
            ends = np.concatenate([[0.0], trajectory.phase_ends])
        times = np.linspace(0.0, duration, max(9, round(duration / step) + 1))
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
        """Return the centre of mass of a configuration, (nq,): (3,) [m]."""
        return np.array(pin.centerOfMass(self._scene.model, self._data, q, False))

    def contacts(
        self, random: np.random.Generator, effectors: Sequence[str], *, spread: float = 1.0
    ) -> tuple[list[Contact], Array] | None:
        """Return contacts of a random posture that does not collide, and it; None if the draw collided.

        Args:
            random: generator.
            effectors: names of the surfaces in contact.
            spread: how far the joints are drawn from the resting posture, 1 for all of their ranges.
        """
        joints = self._sampled.draw(random, 1)[0]
        joints = (1.0 - spread) * self.rest[7:] + spread * joints
        q = self._sampled.configuration(joints)
        if self.collides(q):
            return None
        pin.framesForwardKinematics(self._scene.model, self._data, q)
        found = []
        for effector in effectors:
            surface = self.surface(effector)
            pose = self._data.oMf[surface.frame_id].copy()
            found.append(Contact(effector, NAME, effector, pose, surface.points, surface.normals, 0.6, surface.kind))
        return found, q


def _among(geometry: pin.GeometryModel, blocks: Sequence[Block]) -> pin.GeometryModel:
    """Return a robot's geometry with blocks that do not move, and the pairs between it and them."""
    geometry = geometry.copy()
    pieces = len(geometry.geometryObjects)
    for number, block in enumerate(blocks):
        added = geometry.addGeometryObject(
            pin.GeometryObject(f"block_{number}", 0, 0, block.pose, coal.Box(*block.size))
        )
        for piece in range(pieces):
            geometry.addCollisionPair(pin.CollisionPair(piece, added))
    return geometry
