"""Refinement of a synthesised motion with the full model: torques in the cost, within limits, by crocoddyl."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from contact_invariant.capsules import touching_joints
from contact_invariant.carried import Carried
from contact_invariant.character import GRAVITY, Character, behaviour_of
from contact_invariant.contact_schedule import (
    ITERATIONS,
    Span,
    edges_of,
    node_times,
    overlaps_of,
    spans_of,
    touched_at_nodes,
    touched_at_start,
    without_changes_of_face,
    without_creeping,
    without_redundant,
    without_short_gaps,
)
from contact_invariant.line_contacts import LineContacts
from contact_invariant.motion import Motion
from contact_invariant.moving_surfaces import Load, LoadedActuation, MovingPiece, MovingSurface
from contact_invariant.multiple_shooting import MultipleShooting
from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.postures import postures_of
from contact_invariant.refinement_costs import EXTENT, CostFactory, Guess, torque_limits_of
from contact_invariant.start_pose import check_motors
from contact_invariant.surroundings import Surroundings, rectangle
from contact_invariant.tracking_gains import tracking_gains
from contact_invariant.whole_body import WholeBodyMotion
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import KeyedError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.behaviour import DirectionTerm, UprightTerm

#: Factor of the barriers' weights when a refinement that breaks bounds is continued.
FIRMER = 10.0
#: Torque, relative to its limit, that a motor beyond it is to have when the refinement is continued.
RESERVE = 0.8
#: Relative decrease of cost and defects in this number of iterations below which the solver has converged.
DECREASE, STALL = 1e-2, 4
#: Gains of the stabilisation of contacts: position [1/s²], velocity [1/s]. Steps of the integration move a patch by the
#: velocity e, against which these hold an error of e times velocity gain over position gain.
GAINS = np.array([400.0, 32.0])
#: The same when barriers are firm.
FIRM_GAINS = np.array([800.0, 40.0])
#: The same of deviations from a refined motion: a patch stays where it has landed.
HELD_GAINS = np.array([0.0, 32.0])
#: Damping of the inverse of the contacts' inertia [1/kg]: a patch may have more rows than its limb has joints. With the
#: small one, contacts such as sacrum and back, between which there are two joints only, need forces against each other
#: that grow without bound as soon as they drift apart by rounding.
DAMPING, REDUNDANT_DAMPING = 1e-9, 1e-4
#: Singular values of the contacts' Jacobian below this show redundant rows.
RANK = 1e-3

Progress = Callable[[str, int, float], None]


@dataclass(frozen=True)
class Refinement:
    """Result of a refinement.

    Attributes:
        before: postures of the simplified motion on the nodes, with its contacts.
        motion: refined motion.
        costs: cost after each iteration; the first is that of the guess, which does not keep to the dynamics.
        times: computing time at each of them [s].
        iterations: number of iterations.
        gap: largest defect of the dynamics between nodes.
        seconds: computing time [s].
        ended: "converged", "iterations", "no decrease" or "time".
        candidate: states and controls of the solver at the nodes; empty for several characters.
        guess: the motion, contacts and object with which it began; None for several characters.
        parts: of each character.
        pushes: force and moment of the patches on each surface that moves, in the axes of its link's joint and about
            its origin, from each node on, (M + 1, 6) [N], [N m].
    """

    before: WholeBodyMotion
    motion: WholeBodyMotion
    costs: list[float]
    times: list[float]
    iterations: int
    gap: float
    seconds: float
    ended: str
    candidate: tuple[list[Array], list[Array]] = ([], [])
    guess: Guess | None = None
    parts: tuple[Refinement, ...] = ()
    pushes: Mapping[str, Array] = field(default_factory=dict)


def continued(first: Refinement, then: Refinement) -> Refinement:
    """Return a refinement that continues another one, with the iterations and the time of both."""
    return replace(
        then,
        costs=first.costs + then.costs[1:],
        times=first.times + [first.seconds + time for time in then.times[1:]],
        iterations=first.iterations + then.iterations,
        seconds=first.seconds + then.seconds,
    )


def together(parts: Sequence[Refinement], before: WholeBodyMotion, motion: WholeBodyMotion) -> Refinement:
    """Return the refinement of several characters, made one after the other, with the motions of all."""
    costs, times = list(parts[0].costs), list(parts[0].times)
    for part in parts[1:]:
        costs += [costs[-1] + cost for cost in part.costs]
        times += [times[-1] + time for time in part.times]
    return Refinement(
        before=before,
        motion=motion,
        costs=costs,
        times=times,
        iterations=sum(part.iterations for part in parts),
        gap=max(part.gap for part in parts),
        seconds=sum(part.seconds for part in parts),
        ended=next((part.ended for part in parts if part.ended != "converged"), "converged"),
        parts=tuple(parts),
    )


class Refiner:
    """Refinement of motions of one character in one scene."""

    def __init__(self, scenario: Scenario, character: Character, surroundings: Surroundings) -> None:
        """Prepare.

        Raises:
            MultiQpError: a joint of the character has no motor, or there are other moving subsystems.
        """
        self._scenario, self._character, self._surroundings = scenario, character, surroundings
        scene = scenario.scene
        if list(scene.subsystems) != [character.name] or scene.model.joints[1].nv != 6:
            raise KeyedError(("behaviour", "refine"), "expected one character with a floating base, and nothing else")
        check_motors(scenario, character)
        self._start = touched_at_start(scene, character, surroundings)
        behaviour = behaviour_of(scenario)
        turned = [term for term in behaviour.terms if isinstance(term, UprightTerm | DirectionTerm)]
        self._turned = {(term.phase or behaviour.phases) - 1 for term in turned}
        model = pin.Model(scene.model)
        model.names[1] = "root_joint"  # by this name crocoddyl finds the joint without motors
        share = min(EXTENT, behaviour.extent)
        self._lines = LineContacts(scene, character, model, share)
        self._state = crocoddyl.StateMultibody(model)
        self._actuation = crocoddyl.ActuationModelFloatingBase(self._state)

    def refine(
        self,
        motion: Motion,
        touched: NDArray[np.str_],
        strict: set[int],
        *,
        carried: Callable[[Array], Carried | None] = lambda times: None,
        moving: Mapping[str, MovingSurface] = MappingProxyType({}),
        loads: tuple[Load, ...] = (),
        others: tuple[MovingPiece, ...] = (),
        time_limit: float,
        progress: Progress | None,
        before: Refinement | None = None,
        firm: bool = False,
        peaks: Mapping[str, float] = MappingProxyType({}),
    ) -> Refinement:
        """Refine a motion.

        Args:
            motion: simplified motion.
            touched: surface that each effector touches in each piece of the splines, (K, N).
            strict: phases at whose end task terms hold.
            carried: the object at the times of the nodes.
            moving: surfaces of another character, by name.
            loads: what another character does to surfaces.
            others: pieces of another character, which are kept clear of.
            time_limit: computing time after which the motion so far is returned [s].
            progress: called with the name of the stage, the iteration and the cost.
            before: refinement of the same motion to begin with; pairs of own links that are near in it are kept apart
                as well.
            firm: whether barriers are firmer.
            peaks: largest torques in `before` relative to their limits, of the motors whose share is less by this.
        """
        begin = time.process_time()
        with threadpool_limits(1):
            guess, simplified, held = self._guess(motion, touched, strict, carried, moving)
            refined = None if before is None else before.motion.q
            guess = replace(guess, loads=loads, others=others, refined=refined)
            shares = 1.0 if before is None or before.guess is None else before.guess.torque_shares
            guess = replace(guess, torque_shares=shares * self._torque_shares(peaks))
            problem = self._problem(guess, FIRMER if firm else 1.0)
            return self._solved(problem, guess, simplified, held, begin + time_limit, begin, progress, before)

    def _torque_shares(self, peaks: Mapping[str, float]) -> Array:
        """Return the factors of the shares of torque limits with which motors come to `RESERVE`, (nv - 6,)."""
        scene = self._scenario.scene
        found = np.ones(scene.nv - 6)
        for name, index in zip(scene.actuated_joint_names, scene.actuated_v, strict=True):
            found[index - 6] = RESERVE / peaks[name] if name in peaks else 1.0
        return found

    def postures(self, motion: Motion) -> Array:
        """Return the postures of a simplified motion at the nodes, (M + 1, nq)."""
        scene, times = self._scenario.scene, node_times(motion.spline_knots)
        q = postures_of(scene, self._character, motion, np.minimum(times, motion.duration - 1e-9)).q
        q[0] = scene.q0
        return q

    def surfaces(self, names: Sequence[str], times: Array, q: Array) -> dict[str, MovingSurface]:
        """Return surfaces of the character, which another one touches, along postures at the nodes, (M + 1, nq)."""
        scene, found = self._scenario.scene, {}
        data = scene.model.createData()
        for surface in (scene.surfaces[name] for name in names):
            poses = []
            for one in q:
                pin.forwardKinematics(scene.model, data, one)
                poses.append(data.oMi[surface.joint_id].copy())
            face = rectangle(surface, scene.model.frames[surface.frame_id].placement)
            found[surface.name] = MovingSurface(times, poses, face)
        return found

    def pieces(self, times: Array, q: Array, before: Array) -> dict[int, list[MovingPiece]]:
        """Return the pieces of each joint of the character along postures at the nodes, (M + 1, nq).

        Args:
            times: of the nodes, (M + 1,) [s].
            q: present postures.
            before: those of the simplified motion.
        """
        scene, found = self._scenario.scene, dict[int, list[MovingPiece]]()
        data, shapes = scene.model.createData(), scene.collision_model.createData()
        own = {
            k: piece
            for k, piece in enumerate(scene.collision_model.geometryObjects)
            if piece.name.split("/")[0] == self._character.name
        }
        poses: dict[int, list[pin.SE3]] = {k: [] for k in own}
        for one in (*q, *before):
            pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, one)
            for k in own:
                poses[k].append(shapes.oMg[k].copy())
        for k, piece in own.items():
            at, simplified = poses[k][: len(q)], poses[k][len(q) :]
            moving = MovingPiece(times, at, piece.name, piece.geometry, simplified)
            found.setdefault(piece.parentJoint, []).append(moving)
        return found

    def joints(self, surfaces: Sequence[str]) -> frozenset[int]:
        """Return the joints whose links touch with surfaces of the character."""
        scene = self._scenario.scene
        return frozenset(joint for name in surfaces for joint in touching_joints(scene, scene.surfaces[name]))

    @property
    def effectors(self) -> list[str]:
        """Full names of the surfaces with which it touches."""
        return [effector.surface for effector in self._character.effectors]

    def load(self, surface: MovingSurface, wrenches: Array) -> Load:
        """Return what another character does to such a surface."""
        return Load(self._scenario.scene.surfaces[surface.face.name].frame_id, surface.poses, wrenches)

    def _guess(
        self,
        motion: Motion,
        touched: NDArray[np.str_],
        strict: set[int],
        carried: Callable[[Array], Carried | None],
        moving: Mapping[str, MovingSurface],
    ) -> tuple[Guess, WholeBodyMotion, NDArray[np.str_]]:
        """Return the guess, the simplified motion on its nodes, and what patches touch from node to node."""
        scene, times, q = self._scenario.scene, node_times(motion.spline_knots), self.postures(motion)
        overlap = overlaps_of(self._character, behaviour_of(self._scenario))
        edge = edges_of(scene, self._character)
        held = touched_at_nodes(motion.spline_knots, touched, times, self._start, overlap, edge)
        held = without_short_gaps(scene, self._character, times, held, q)
        held = without_creeping(scene, self._character, self._surroundings, held, q)
        held = without_changes_of_face(scene, self._character, held, q)
        held = without_redundant(held, edge)
        spans = spans_of(scene, self._character, self._surroundings, held, q, moving)
        v = np.zeros((len(q), scene.nv))
        v[1:-1] = [pin.difference(scene.model, a, b) for a, b in zip(q[:-2], q[2:], strict=True)]
        v[1:-1] /= (times[2:] - times[:-2])[:, None]
        ends = {k: int(np.abs(times - motion.knots[k + 1]).argmin()) for k in strict}
        nodes, turned = set(ends.values()), {ends[k] for k in strict & self._turned}
        pieces = np.searchsorted(motion.spline_knots, 0.5 * (times[1:] + times[:-1])) - 1
        before = WholeBodyMotion(times, q, touched[pieces])
        return Guess(times, q, v, spans, before.touched != "", nodes, turned, carried(times)), before, held

    def _problem(self, guess: Guess, firmness: float) -> crocoddyl.ShootingProblem:
        costs = CostFactory(self._scenario, self._character, self._actuation.nu, guess, firmness, self._lines)
        steps = np.append(np.diff(guess.times), 0.0)
        models = self._models(guess, steps, GAINS if firmness == 1.0 else FIRM_GAINS, costs.at)
        x0 = np.concatenate([guess.q[0], guess.v[0]])
        return crocoddyl.ShootingProblem(x0, models[:-1], models[-1])

    def gains(self, refinement: Refinement) -> Array:
        """Return the gains that bring the character back to a refined motion, see `tracking_gains`."""
        guess = refinement.guess
        if guess is None:
            raise ValueError("a refinement of several characters has no guess")
        steps = np.diff(guess.times)
        limits, weight = torque_limits_of(self._scenario.scene), self._character.mass * GRAVITY
        with threadpool_limits(1):
            models = self._models(guess, np.append(steps, steps[-1]), HELD_GAINS, self._no_costs)
            return tracking_gains(models, *refinement.candidate, limits=limits, weight=weight)

    def _no_costs(self, k: int, state: crocoddyl.StateMultibody, active: list[Span]) -> crocoddyl.CostModelSum:
        return crocoddyl.CostModelSum(state, self._actuation.nu)

    def _models(
        self,
        guess: Guess,
        steps: Array,
        gains: Array,
        costs: Callable[[int, crocoddyl.StateMultibody, list[Span]], crocoddyl.CostModelSum],
    ) -> list[crocoddyl.IntegratedActionModelEuler]:
        """Return the model of each node.

        Args:
            guess: contacts and object.
            steps: time from each node on, (M + 1,) [s].
            gains: of the stabilisation of contacts.
            costs: of a node with its contacts.
        """
        models, data = [], self._scenario.scene.model.createData()
        for k, (state, actuation) in enumerate(self._states(guess)):
            active = [s for s in guess.spans if s.begin <= min(k, len(steps) - 2) < s.end]
            contacts, damping = self._contacts(state, k, active, gains), self._damping(data, guess.q[k], active)
            action = crocoddyl.DifferentialActionModelContactFwdDynamics(
                state, actuation, contacts, costs(k, state, active), damping, True
            )
            models.append(crocoddyl.IntegratedActionModelEuler(action, float(steps[k])))
        return models

    def _states(self, guess: Guess) -> list[tuple[crocoddyl.StateMultibody, crocoddyl.ActuationModelFloatingBase]]:
        """Return state and actuation of each node: with an object, its inertia is that of the hands that carry it."""
        if guess.loads:
            q, model = guess.q if guess.refined is None else guess.refined, self._state.pinocchio
            forces = sum(load.forces(model, q) for load in guess.loads)
            return [(self._state, LoadedActuation(self._state, force)) for force in np.asarray(forces)]
        if guess.carried is None:
            return [(self._state, self._actuation)] * len(guess.times)
        models = guess.carried.models(self._state.pinocchio, self._scenario.scene, self._character, guess.q)
        made = {id(model): crocoddyl.StateMultibody(model) for model in models}
        actuations = {key: crocoddyl.ActuationModelFloatingBase(state) for key, state in made.items()}
        return [(made[id(model)], actuations[id(model)]) for model in models]

    def _damping(self, data: pin.Data, q: Array, active: list[Span]) -> float:
        """Return the damping of a posture with its contacts."""
        scene, rows = self._scenario.scene, []
        pin.computeJointJacobians(scene.model, data, q)
        pin.updateFramePlacements(scene.model, data)
        for span in active:
            effector = self._character.effectors[span.effector]
            frame = scene.surfaces[effector.surface].frame_id
            J = pin.getFrameJacobian(scene.model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            rows.append(J[:3] if effector.point else J)
        redundant = bool(rows) and np.linalg.svd(np.vstack(rows), compute_uv=False)[-1] < RANK
        return REDUNDANT_DAMPING if redundant else DAMPING

    def _contacts(
        self, state: crocoddyl.StateMultibody, k: int, active: list[Span], gains: Array
    ) -> crocoddyl.ContactModelMultiple:
        nu = self._actuation.nu
        contacts = crocoddyl.ContactModelMultiple(state, nu)
        for span in active:
            effector = self._character.effectors[span.effector]
            frame = self._lines.frame(span, active)
            if effector.point:
                place = self._lines.place(span, active, k, gains)
                model = crocoddyl.ContactModel3D(state, frame, place, pin.LOCAL_WORLD_ALIGNED, nu, gains)
            else:
                pose = span.led_at(k, gains, point=False)
                model = crocoddyl.ContactModel6D(state, frame, pose, pin.LOCAL, nu, gains)
            contacts.addContact(effector.name, model)
        return contacts

    def _solved(
        self,
        problem: crocoddyl.ShootingProblem,
        guess: Guess,
        before: WholeBodyMotion,
        held: NDArray[np.str_],
        deadline: float,
        begin: float,
        progress: Progress | None,
        last: Refinement | None,
    ) -> Refinement:
        xs = [np.concatenate([q, v]) for q, v in zip(guess.q, guess.v, strict=True)]
        limit = self._scenario.scene.torque_limits.max()
        us = [np.clip(u, -limit, limit) for u in problem.quasiStatic(xs[:-1])]  # redundant contacts may ask for more
        if last is not None:
            xs, us = last.candidate
        found = MultipleShooting(problem, xs, us)
        costs, merits, times = [found.cost], [found.merit], [time.process_time() - begin]
        ended = "iterations"
        while len(costs) <= ITERATIONS:
            if time.process_time() > deadline:
                ended = "time"
                break
            if not found.step():
                ended = "no decrease"
                break
            costs.append(found.cost)
            merits.append(found.merit)
            times.append(time.process_time() - begin)
            if progress is not None:
                progress("full dynamics", len(costs) - 1, costs[-1])
            if len(merits) > STALL and merits[-1 - STALL] - merits[-1] < DECREASE * merits[-1]:
                ended = "converged"
                break
        return Refinement(
            before=before,
            motion=WholeBodyMotion(guess.times, np.array(found.xs)[:, : self._scenario.scene.nq], held),
            costs=costs,
            times=times,
            iterations=len(costs) - 1,
            gap=found.gap,
            seconds=time.process_time() - begin,
            ended=ended,
            candidate=(found.xs, found.us),
            guess=guess,
            pushes=self._pushes(problem, guess),
        )

    def _pushes(self, problem: crocoddyl.ShootingProblem, guess: Guess) -> dict[str, Array]:
        """Return what `Refinement.pushes` has, of a problem with the solution."""
        found: dict[str, Array] = {}
        for span in guess.spans:
            if span.base is None:
                continue
            effector = self._character.effectors[span.effector]
            joint = self._scenario.scene.surfaces[effector.surface].joint_id
            own = found.setdefault(span.surface, np.zeros((len(guess.times), 6)))
            for k in range(span.begin, min(span.end, len(problem.runningDatas))):
                data = problem.runningDatas[k].differential
                force = data.multibody.contacts.contacts[effector.name].fext
                own[k] -= span.base.poses[k].actInv(data.pinocchio.oMi[joint].act(force)).vector
        for own in found.values():
            own[-1] = own[-2]
        return found
