"""The planner: a goal in, stances out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.candidates import Candidates, Taste, contact_at
from contact_planner.clearance import Clearance
from contact_planner.faces import Face, faces_of
from contact_planner.reach import limb_reach
from contact_planner.root_path import Reachability, find_root_path
from contact_planner.search import ContactSearch, SearchSettings
from contact_planner.stance import Plan, Stance, sequence_of
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumTest
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlanningProblem:
    """Who is to go where, on what.

    Attributes:
        character: name of the subsystem.
        limbs: full name of the surface at the end of each limb, by the limb's name.
        posture: name of the posture that it likes best.
        faces: full names of the surfaces that may be touched; all planar ones of the environment if left out.
        friction: Coulomb coefficient of faces that `frictions` does not name.
        frictions: Coulomb coefficients by full name of the face.
        slope: steepest face that is used, by the angle of its normal from the vertical [rad].
        clearance: distance kept to what is not touched [m].
        least: how many limbs must have a face within reach along the path; all if left out.
        low: least x, y, z [m], roll, pitch, yaw [rad] of the base, (6,).
        high: the largest, (6,).
        budget: time for planning [s].
        seed: of the search.
        taste: what makes a place for a contact good.
        search: how contacts are searched.
    """

    character: str
    limbs: Mapping[str, str]
    posture: str = "zero"
    faces: tuple[str, ...] | None = None
    friction: float = 0.7
    frictions: Mapping[str, float] = field(default_factory=dict)
    slope: float = 0.9
    clearance: float = 0.01
    least: int | None = None
    low: tuple[float, ...] = (-10.0, -10.0, -1.0, 0.0, 0.0, -np.pi)
    high: tuple[float, ...] = (10.0, 10.0, 10.0, 0.0, 0.0, np.pi)
    budget: float = 10.0
    seed: int = 0
    taste: Taste = Taste()
    search: SearchSettings = SearchSettings()


class ContactPlanner:
    """Plans for one character in one scene.

    Attributes:
        problem: what it was made for.
        body: the character.
        clearance: its collision tests.
        faces: what may be touched.
    """

    def __init__(
        self, scene: Scene, problem: PlanningProblem, equilibrium: EquilibriumTest, *, q: Array | None = None
    ) -> None:
        """Prepare: limb databases come from the cache, or are sampled once.

        Args:
            scene: the scene.
            problem: who is to go where.
            equilibrium: test of static equilibrium.
            q: configuration of the whole scene, (nq,): where other characters are; the initial one if left out.

        Raises:
            MultiQpError: a name is unknown, or there is nothing to stand on.
        """
        self.problem = problem
        self._scene = scene
        self._q_scene = scene.q0 if q is None else q
        self._models: dict[str, str] = {}
        self.body = Body(scene, problem.character, problem.limbs, q=self._q_scene, posture=problem.posture)
        self.clearance = Clearance(self.body, margin=problem.clearance)
        unknown = [name for name in problem.faces or () if name not in scene.surfaces]
        if unknown:
            raise MultiQpError(f"no surface '{unknown[0]}' in the scene")
        faces = faces_of(
            scene, self._q_scene, names=problem.faces, friction=problem.friction, frictions=problem.frictions
        )
        steep = np.cos(problem.slope) - 1e-9
        self.faces: tuple[Face, ...] = tuple(face for face in faces if face.normal[2] >= steep)
        if not self.faces:
            raise MultiQpError("there is no surface to plan contacts on: the environment has no planar surface "
                               "that is flat enough")  # fmt: skip
        self._reaches = {name: limb_reach(self.body, limb) for name, limb in self.body.limbs.items()}
        self._candidates = Candidates(self.body, self.clearance, self._reaches, self.faces, problem.taste)
        self._search = ContactSearch(
            self.body, self.clearance, self._reaches, self._candidates, equilibrium, problem.search
        )
        least = len(self._reaches) if problem.least is None else problem.least
        self.valid = Reachability(
            self.body, self.clearance, self._reaches, self.faces, needed=tuple(self._reaches), least=least
        )

    def start_stance(self, q: Array | None = None, limbs: Sequence[str] | None = None) -> Stance:
        """Return the stance in which the character is: each limb whose surface lies on a face touches it.

        Args:
            q: configuration of the character, (nq,); that of the scene if left out.
            limbs: limbs that touch; found out if left out.

        Raises:
            MultiQpError: no limb touches anything.
        """
        body = self.body
        q = self._q_scene[body.subsystem.q_slice].copy() if q is None else q
        body.place(q)
        contacts: dict[str, Contact] = {}
        for name, limb in body.limbs.items():
            pose = body.surface_pose(limb).copy()
            face = self._touched(pose, limb.surface.points)
            if face is not None and (limbs is None or name in limbs):
                contacts[name] = contact_at(body, name, pose, face.friction, face.name)
        if not contacts:
            raise MultiQpError(f"'{body.name}' stands on nothing: no limb of {sorted(body.limbs)} touches a face")
        return Stance(contacts, q)

    def _touched(self, pose: pin.SE3, points: Array) -> Face | None:
        corners = points @ pose.rotation.T + pose.translation
        for face in self.faces:
            heights = (corners - face.pose.translation) @ face.normal
            if np.all(np.abs(heights) < 2e-3) and face.holds(corners, -1e-3) and len(points):
                return face
        return None

    def plan(self, goal: pin.SE3, *, start: Stance | None = None) -> Plan:
        """Plan to a pose of the base.

        Args:
            goal: pose of the base in the world.
            start: where the character is; as the scene has it if left out.

        Returns:
            The plan; where the goal was not reached, the best part of one, and why.

        Raises:
            MultiQpError: the goal is not finite, or the character stands on nothing.
        """
        if not np.isfinite(goal.homogeneous).all():
            raise MultiQpError("the goal must be finite")
        began = perf_counter()
        deadline = began + self.problem.budget
        first = self.start_stance() if start is None else start
        first = Stance(first.contacts, first.q)
        path = find_root_path(
            self.body.base_pose(first.q),
            goal,
            self.valid,
            low=np.array(self.problem.low),
            high=np.array(self.problem.high),
            budget=0.5 * self.problem.budget,
            seed=self.problem.seed,
        )
        found = perf_counter()
        if path.complete:
            stances, complete, reason = self._search.along(first, path.poses, deadline)
        else:
            stances, complete, reason = [first], False, path.reason
        seconds = {"path": found - began, "contacts": perf_counter() - found}
        return self._as_plan(stances, complete, reason, seconds)

    def step_to(self, stance: Stance, limb: str, *, on: Sequence[str] | None = None) -> Stance | None:
        """Return a stance in which one limb has made a new contact, or None: the interactive use.

        Args:
            stance: where the character is.
            limb: the limb that is to touch.
            on: full names of the faces to choose from; all if left out.
        """
        faces = None if on is None else [face for face in self.faces if face.name in on]
        return self._search.one(stance, limb, on=faces)

    def as_plan(self, stances: Sequence[Stance]) -> Plan:
        """Return stances that were found one by one as a plan."""
        return self._as_plan(list(stances), True, "", {})

    def _as_plan(self, stances: list[Stance], complete: bool, reason: str, seconds: dict[str, float]) -> Plan:
        sequence, postures = sequence_of(
            tuple(stances),
            at_rest=self._search.at_rest(stances[-1]) if len(stances) > 1 else None,
            subsystem=self.body.name,
            com_of=self.body.com,
            name=self.body.name,
            models=self._models,
        )
        return Plan(tuple(stances), complete, reason, sequence, postures, seconds)
