"""Is there a whole body for these contacts and this centre of mass? What tables 4 and 5 of [Tonneau2018] count."""

from __future__ import annotations

from collections.abc import Sequence

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
from multi_qp_scene.surfaces import Surface
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

Array = NDArray[np.float64]

NAME = "walker"
REACHED = 5e-3
"""Error of a contact or of the centre of mass that counts as reached [m, rad]."""
_POSTURE = "half_sitting"


class Bodies:
    """A robot alone in the world, posed by inverse kinematics within its joint limits and without self-collision."""

    def __init__(self, model: str) -> None:
        """Read a shipped model with a floating base."""
        problems = Problems()
        loaded = load_model(model_path(model), problems)
        problems.raise_if_any()
        assert loaded is not None
        posture = _POSTURE if _POSTURE in loaded.spec.postures else None
        spec = SubsystemSpec(model=model, posture=posture)
        self._scene = build_scene(SceneParts({NAME: (loaded, spec)}))
        self._ik = WholeBodyIk(self._scene, NAME)
        self._sampled = SampledRobot(model_path(model))
        self._data = self._scene.model.createData()
        self.rest: Array = self._scene.q0

    def surface(self, effector: str) -> Surface:
        """Return a surface of the robot."""
        return self._scene.surfaces[f"{NAME}/{effector}"]

    def reach(
        self, contacts: Sequence[Contact], com: Array, q: Array, *, also: Sequence[Array] = (), tries: int = 6
    ) -> Array | None:
        """Return a posture with these contacts and centre of mass, (nq,); None if none was found.

        Args:
            contacts: where surfaces are.
            com: (3,) [m].
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
            if max(found.contact_error, found.com_error) <= REACHED and not self.collides(found.q):
                return found.q
        return None

    def collides(self, q: Array) -> bool:
        """Whether the robot's own bodies overlap at a configuration, (nq,)."""
        robot = self._sampled
        pin.forwardKinematics(robot.model, robot.data, q)
        return robot.collides()

    def follows(self, trajectory: ComTrajectory, q: Array, goal: Array, *, step: float = 0.1) -> bool:
        """Whether the body can follow a trajectory from one posture to another, (nq,) each, at every `step` [s]."""
        first = q
        times = np.linspace(0.0, trajectory.duration, max(9, round(trajectory.duration / step) + 1))
        for time, number in zip(times, trajectory.phase_at(times), strict=True):
            contacts = trajectory.phases[int(number)].phase.contacts
            between = pin.interpolate(self._scene.model, first, goal, float(time / trajectory.duration))
            found = self.reach(contacts, trajectory.position(time), q, also=(between, goal))
            if found is None:
                return False
            q = found
        return True

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
