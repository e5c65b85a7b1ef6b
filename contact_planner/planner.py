"""The planner: a goal in, stances out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import thread_time

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.candidates import Candidates, contact_at
from contact_planner.clearance import Clearance
from contact_planner.faces import Face, faces_of
from contact_planner.guide import Guide, base_over, wish_for
from contact_planner.problem import Goal, PlanningProblem
from contact_planner.reach import LimbReach, limb_reach
from contact_planner.root_path import Reachability, find_root_path
from contact_planner.search import ContactSearch
from contact_planner.stance import Plan, Stance, sequence_of
from contact_planner.steps import Steps
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.equilibrium import EquilibriumTest
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


class ContactPlanner:
    """Plans for one character in one scene.

    Attributes:
        problem: what it was made for.
        body: the character.
        clearance: its collision tests.
        faces: what may be touched.
        reaches: its limbs' databases.
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
        """Prepare: limb databases come from the cache, or are sampled once.

        Args:
            scene: the scene.
            problem: who is to go where.
            equilibrium: test of static equilibrium.
            q: configuration of the whole scene, (nq,): where other characters are; the initial one if left out.
            reaches: databases of another planner for the same character, where something has moved since.

        Raises:
            MultiQpError: a name is unknown, or there is nothing to stand on.
        """
        self.problem = problem
        self._scene = scene
        self._q_scene = scene.q0 if q is None else q
        self._models = {} if problem.model is None else {problem.character: problem.model}
        self.body = Body(scene, problem.character, problem.limbs, q=self._q_scene, posture=problem.posture)
        touched = {name.split("/")[0] for name in problem.faces or ()}
        self.clearance = Clearance(
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
            self.body, self.clearance, self.reaches, self.faces, problem.taste, helpers=problem.helpers
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

    def plan(self, goal: pin.SE3 | Sequence[Goal], *, start: Stance | None = None) -> Plan:
        """Plan to a goal, or to several, one after the other.

        Args:
            goal: pose of the base in the world, or what is to be reached, in order.
            start: where the character is; as the scene has it if left out.

        Returns:
            The plan; where a goal was not reached, the best part of one, and why.

        Raises:
            MultiQpError: a goal is not finite, or the character stands on nothing.
        """
        goals = [Goal(goal)] if isinstance(goal, pin.SE3) else list(goal)
        if not all(np.isfinite(g.X_world_base.homogeneous).all() for g in goals):
            raise MultiQpError("the goal must be finite")
        first = self.start_stance() if start is None else start
        self._steps.forget()
        self._steps.region(first.contacts)  # kernels are compiled before the time counts
        stances = [Stance(first.contacts, first.q)]
        seconds = {"path": 0.0, "contacts": 0.0}
        clock = _Clock(self.problem.budget)
        complete, reason, liked = True, "", self.body.nominal[7:]
        for target in goals:
            joints = self.body.nominal[7:] if target.joints is None else target.joints
            more, complete, reason = self._leg(stances[-1], target, liked, joints, clock, seconds)
            stances += more
            liked = joints
            if not complete:
                break
        if complete:
            return self._as_plan(stances, True, "", seconds)
        return self._as_plan([*stances, *self._resting(stances[-1], liked)], False, reason, seconds)

    def _leg(
        self, first: Stance, goal: Goal, liked: Array, joints: Array, clock: _Clock, seconds: dict[str, float]
    ) -> tuple[list[Stance], bool, str]:
        """Return the stances that come after one on the way to a goal, whether they reach it, and why not."""
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
        guide = Guide(self.body, path.poses, liked, joints)
        wanted = tuple(limb for limb in self.body.limbs if limb in (goal.contacts or self._needed))
        stances, complete, reason = self._search.along(
            replace(first, progress=0), guide, wanted, lambda: clock.spent > self.problem.budget
        )
        seconds["contacts"] += clock.spent - found
        return [*stances[1:], *(self._resting(stances[-1], joints) if complete else [])], complete, reason

    def _resting(self, stance: Stance, joints: Array) -> list[Stance]:
        """Return a stance with the same contacts in the posture that is liked there, if it can be had."""
        if stance.moved is None:
            return []
        wish = wish_for(self.body, joints)
        liked = wish.placed(self.body.base_pose(stance.q), stance.contacts)
        X_world_base = pin.XYZQUATToSE3(liked[:7])
        needed = [limb for limb in stance.contacts if limb not in self.problem.helpers]
        away = [
            stance.contacts[limb].pose.translation - X_world_base.act(wish.homes[limb].translation) for limb in needed
        ]
        if away:
            liked[:2] += np.mean(away, axis=0)[:2]
        q = self._steps.at_rest(stance, liked)
        return [] if q is None else [Stance(stance.contacts, q, progress=stance.progress)]

    def step_to(self, stance: Stance, limb: str, *, on: Sequence[str] | None = None) -> Stance | None:
        """Return a stance in which one limb has made a new contact, the base about where it is, or None.

        This is the interactive use of [Tonneau2018] section 7.1.

        Args:
            stance: where the character is.
            limb: the limb that is to touch.
            on: full names of the faces to choose from; all if left out.
        """
        faces = None if on is None else [face for face in self.faces if face.name in on]
        self._steps.forget()
        wish = wish_for(self.body, self.body.nominal[7:])
        rest = {name: contact for name, contact in stance.contacts.items() if name != limb}
        before = self._over(stance, stance.contacts)
        base = self.body.base_pose(self._over(stance, rest or stance.contacts))
        sides, others = self._search.sides(rest, limb, base, wish), list(rest.values())
        for place in self._candidates.places(limb, base, wish.homes[limb], on=faces, beside=sides, others=others):
            liked = self._over(stance, {**rest, limb: place.contact})
            follower = self._steps.made(stance, limb, place, liked=liked, before=before)
            if follower is not None and self._steps.swings(stance, follower):
                return follower
        return None

    def _over(self, stance: Stance, contacts: Mapping[str, Contact]) -> Array:
        """Return the liked posture with its base where it fits contacts best, (nq,)."""
        wish, tilt = wish_for(self.body, self.body.nominal[7:]), self.body.base_pose(self.body.nominal)
        return wish.placed(base_over(wish, contacts, tilt.rotation, self.body.base_pose(stance.q)), contacts)

    def release(self, stance: Stance, limb: str) -> Stance | None:
        """Return a stance in which one limb has let go, or None where the others cannot hold the character.

        Args:
            stance: where the character is.
            limb: the limb that is to come off.
        """
        self._steps.forget()
        wish = wish_for(self.body, self.body.nominal[7:])
        return self._steps.released(stance, limb, liked=wish.placed(self.body.base_pose(stance.q), stance.contacts))

    def as_plan(self, stances: Sequence[Stance]) -> Plan:
        """Return stances that were found one by one as a plan."""
        return self._as_plan(list(stances), True, "", {})

    def _as_plan(self, stances: list[Stance], complete: bool, reason: str, seconds: dict[str, float]) -> Plan:
        sequence, postures = sequence_of(
            tuple(stances),
            subsystem=self.body.name,
            com_of=self.body.com,
            name=self.body.name,
            models=self._models,
        )
        return Plan(tuple(stances), complete, reason, sequence, postures, seconds)


class _Clock:
    """Processor time of this thread since it was made; what else the machine does must not make a plan worse."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self._began = thread_time()

    @property
    def spent(self) -> float:
        """[s]."""
        return thread_time() - self._began
