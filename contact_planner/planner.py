"""Contact planner of one character: stances from its present one to a goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import thread_time

import numpy as np
import pinocchio as pin

from contact_planner.body import CharacterModel
from contact_planner.candidates import Candidates, contact_at
from contact_planner.clearance import CollisionChecker
from contact_planner.faces import Face, faces_of
from contact_planner.nominal_path import NominalPath, base_over, nominal_configuration
from contact_planner.problem import PlanningGoal, PlanningProblem
from contact_planner.reach import LimbReach, limb_reach
from contact_planner.root_path import Reachability, find_root_path
from contact_planner.search import ContactSearch
from contact_planner.stance import ContactPlan, Stance, sequence_of
from contact_planner.steps import Steps
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumTest
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene


class ContactPlanner:
    """Contact planner of one character in one scene.

    Attributes:
        problem: the planning problem.
        body: planning model of the character.
        clearance: its collision checker.
        faces: faces that may be touched.
        reaches: databases of its limbs.
    """

    def __init__(
        self,
        scene: Scene,
        problem: PlanningProblem,
        equilibrium: EquilibriumTest,
        *,
        q: Array | None = None,
        reaches: Mapping[str, LimbReach] | None = None,
    ) -> None:
        """Load the limb databases from the cache, or sample them.

        Args:
            scene: the scene.
            problem: the planning problem.
            equilibrium: test of static equilibrium.
            q: configuration of the whole scene, (nq,), which places other characters; the initial one by default.
            reaches: databases of another planner for the same character.

        Raises:
            MultiQpError: a name is unknown, or there is no suitable surface.
        """
        self.problem = problem
        self._scene = scene
        self._q_scene = scene.q0 if q is None else q
        self._models = {} if problem.model is None else {problem.character: problem.model}
        self.body = CharacterModel(scene, problem.character, problem.limbs, q=self._q_scene, posture=problem.posture)
        touched = {name.split("/")[0] for name in problem.faces or ()}
        self.clearance = CollisionChecker(
            self.body, margin=problem.clearance, apart=problem.apart, own=problem.own, touched=touched
        )
        unknown = [name for name in problem.faces or () if name not in scene.surfaces]
        if unknown:
            raise MultiQpError(f"no surface '{unknown[0]}' in the scene")
        faces = faces_of(
            scene, self._q_scene, names=problem.faces, friction=problem.friction, frictions=problem.frictions
        )
        steep = np.cos(problem.slope) - 1e-9
        self.faces: tuple[Face, ...] = tuple(face for face in faces if face.normal[2] >= steep)
        if not self.faces:
            among = "the environment" if problem.faces is None else f"`faces` ({', '.join(problem.faces)})"
            steepest = f"slope of at most {np.degrees(problem.slope):.0f} degrees"
            raise MultiQpError(f"there is no surface to plan contacts on: none of {among} is planar with a {steepest}")
        self.reaches = reaches or {name: limb_reach(self.body, limb) for name, limb in self.body.limbs.items()}
        self._candidates = Candidates(
            self.body, self.clearance, self.reaches, self.faces, problem.candidate_weights, helpers=problem.helpers
        )
        self._steps = Steps(
            self.body, self.clearance, self.reaches, equilibrium, margin=problem.search.margin, helpers=problem.helpers
        )
        self._search = ContactSearch(
            self.body, self.reaches, self._candidates, self._steps, helpers=problem.helpers, settings=problem.search
        )
        self._needed = tuple(limb for limb in self.reaches if limb not in problem.helpers)
        least = len(self._needed) if problem.least is None else problem.least
        self.valid = Reachability(self.body, self.clearance, self.reaches, self.faces, needed=self._needed, least=least)

    def start_stance(self) -> Stance:
        """Return the stance of the scene: each limb whose surface lies on a face is in contact with it.

        Raises:
            MultiQpError: no limb is in contact.
        """
        body = self.body
        q = self._q_scene[body.subsystem.q_slice].copy()
        body.place(q)
        contacts: dict[str, Contact] = {}
        for name, limb in body.limbs.items():
            pose = body.surface_pose(limb).copy()
            face = self._touched(pose, limb.surface.points)
            if face is not None:
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

    def plan(self, goal: pin.SE3 | Sequence[PlanningGoal], *, start: Stance | None = None) -> ContactPlan:
        """Plan to a goal, or to several goals in order.

        Args:
            goal: pose of the base in the world, or goals in order.
            start: initial stance; that of the scene by default.

        Returns:
            The plan; if a goal is not reached, the best partial plan with a reason.

        Raises:
            MultiQpError: a goal is not finite, or the character has no contact.
        """
        goals = [PlanningGoal(goal)] if isinstance(goal, pin.SE3) else list(goal)
        if not all(np.isfinite(g.X_world_base.homogeneous).all() for g in goals):
            raise MultiQpError("the goal must be finite")
        first = self.start_stance() if start is None else start
        self._steps.reset()
        self._steps.region(first.contacts)  # compile kernels before the clock starts
        stances = [Stance(first.contacts, first.q)]
        seconds = {"path": 0.0, "contacts": 0.0}
        clock = _Clock(self.problem.budget)
        complete, reason, start_joints = True, "", self.body.nominal[7:]
        for target in goals:
            joints = self.body.nominal[7:] if target.joints is None else target.joints
            more, complete, reason = self._leg(stances[-1], target, start_joints, joints, clock, seconds)
            stances += more
            start_joints = joints
            if not complete:
                break
        if complete:
            return self._as_plan(stances, True, "", seconds)
        return self._as_plan([*stances, *self._resting(stances[-1], start_joints)], False, reason, seconds)

    def _leg(
        self,
        first: Stance,
        goal: PlanningGoal,
        start_joints: Array,
        joints: Array,
        clock: _Clock,
        seconds: dict[str, float],
    ) -> tuple[list[Stance], bool, str]:
        """Return the further stances to a goal, whether they reach it, and the reason if not."""
        began = clock.spent
        path = find_root_path(
            self.body.base_pose(first.q),
            goal.X_world_base,
            self.valid,
            low=np.array(self.problem.low),
            high=np.array(self.problem.high),
            budget=0.5 * self.problem.budget,
            seed=self.problem.seed,
        )
        found = clock.spent
        seconds["path"] += found - began
        if not path.complete:
            return [], False, path.reason
        nominal_path = NominalPath(self.body, path.poses, start_joints, joints)
        required = tuple(limb for limb in self.body.limbs if limb in (goal.contacts or self._needed))
        stances, complete, reason = self._search.along(
            replace(first, progress=0), nominal_path, required, lambda: clock.spent > self.problem.budget
        )
        seconds["contacts"] += clock.spent - found
        return [*stances[1:], *(self._resting(stances[-1], joints) if complete else [])], complete, reason

    def _resting(self, stance: Stance, joints: Array) -> list[Stance]:
        """Return a stance with the same contacts near the nominal configuration, if there is one."""
        if stance.moved is None:
            return []
        nominal = nominal_configuration(self.body, joints)
        q_nominal = nominal.placed(self.body.base_pose(stance.q), stance.contacts)
        X_world_base = pin.XYZQUATToSE3(q_nominal[:7])
        needed = [limb for limb in stance.contacts if limb not in self.problem.helpers]
        offsets = [
            stance.contacts[limb].pose.translation - X_world_base.act(nominal.homes[limb].translation)
            for limb in needed
        ]
        if offsets:
            q_nominal[:2] += np.mean(offsets, axis=0)[:2]
        q = self._steps.at_rest(stance, q_nominal)
        return [] if q is None else [Stance(stance.contacts, q, progress=stance.progress)]

    def step_to(self, stance: Stance, limb: str, *, on: Sequence[str] | None = None) -> Stance | None:
        """Return a stance in which one limb has made a new contact with little motion of the base, or None.

        This is the interactive use of [Tonneau2018] section 7.1.

        Args:
            stance: present stance.
            limb: the limb to move.
            on: full names of the candidate faces; all by default.
        """
        faces = None if on is None else [face for face in self.faces if face.name in on]
        self._steps.reset()
        nominal = nominal_configuration(self.body, self.body.nominal[7:])
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        before = self._nominal_over(stance, stance.contacts)
        base = self.body.base_pose(self._nominal_over(stance, rest or stance.contacts))
        sides, others = self._search.sides(rest, limb, base, nominal), list(rest.values())
        for place in self._candidates.places(limb, base, nominal.homes[limb], on=faces, beside=sides, others=others):
            q_nominal = self._nominal_over(stance, {**rest, limb: place.contact})
            follower = self._steps.with_contact(stance, limb, place, q_nominal=q_nominal, before=before)
            if follower is not None and self._steps.swings(stance, follower):
                return follower
        return None

    def _nominal_over(self, stance: Stance, contacts: Mapping[str, Contact]) -> Array:
        """Return the nominal configuration with the base pose that fits contacts best, (nq,)."""
        nominal, tilt = nominal_configuration(self.body, self.body.nominal[7:]), self.body.base_pose(self.body.nominal)
        return nominal.placed(base_over(nominal, contacts, tilt.rotation, self.body.base_pose(stance.q)), contacts)

    def release(self, stance: Stance, limb: str) -> Stance | None:
        """Return a stance in which one limb has broken its contact, or None if the others do not suffice.

        Args:
            stance: present stance.
            limb: the limb to release.
        """
        self._steps.reset()
        nominal = nominal_configuration(self.body, self.body.nominal[7:])
        return self._steps.without_contact(
            stance, limb, q_nominal=nominal.placed(self.body.base_pose(stance.q), stance.contacts)
        )

    def as_plan(self, stances: Sequence[Stance]) -> ContactPlan:
        """Return a plan of given stances."""
        return self._as_plan(list(stances), True, "", {})

    def _as_plan(self, stances: list[Stance], complete: bool, reason: str, seconds: dict[str, float]) -> ContactPlan:
        sequence, postures = sequence_of(
            tuple(stances),
            subsystem=self.body.name,
            com_of=self.body.com,
            name=self.body.name,
            models=self._models,
        )
        return ContactPlan(tuple(stances), complete, reason, sequence, postures, seconds)


class _Clock:
    """CPU time of this thread since construction; plans do not depend on the load of the machine."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self._began = thread_time()

    @property
    def spent(self) -> float:
        """Elapsed CPU time [s]."""
        return thread_time() - self._began
