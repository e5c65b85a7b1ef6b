"""The linear simulation of [Jain2011]: the state after each step is the closed-form response of the modes."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import thread_time

import numpy as np

from modal_control.character import LinearDynamics, ModalCharacter, displaced
from modal_control.complementarity import correct, hold, preference
from modal_control.control import ControlSettings, ModalControl
from modal_control.modes import Modes
from modal_control.reference import StepReference
from modal_control.responses import free_response, impulse_response
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError

#: Height below which a point is in contact [m].
CONTACT_HEIGHT = 0.005
#: Height of the base relative to that of the reference at which the character has fallen.
FALLEN = 0.5
#: Distance of the base from its reference at which it is lost [m].
LOST = 1.0


@dataclass(frozen=True)
class Push:
    """A force on a link for some steps.

    Attributes:
        frame: link or joint frame, full name.
        force: world axes, (3,) [N].
        start: first step.
        steps: number of steps.
    """

    frame: str
    force: tuple[float, float, float]
    start: int
    steps: int


@dataclass
class LinearRun:
    """Result of a run.

    Attributes:
        q: configurations, (steps + 1, nq).
        v: velocities, (steps + 1, nv).
        contact_forces: sum of the contact forces of each step, (steps, 3) [N].
        wanted: configurations of the reference, (steps + 1, nq).
        errors: distance of the base from its reference, (steps + 1,) [m].
        fallen: step at which the character has fallen, or was far from its reference; None if it has not.
        unsolved: steps whose complementarity problem had no solution.
        force_residual: largest residual of the dual problem.
        correction_residual: largest violation of the complementarity conditions, relative.
        penetration: largest depth of a contact point under the ground [m].
        times: CPU time by part: `modes`, `plan`, `complementarity` [s].
    """

    q: Array
    v: Array
    contact_forces: Array
    wanted: Array
    errors: Array
    fallen: int | None = None
    unsolved: list[int] = field(default_factory=list)
    force_residual: float = 0.0
    correction_residual: float = 0.0
    penetration: float = 0.0
    times: dict[str, float] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        """Largest distance of the base from its reference [m]."""
        return float(self.errors.max())

    @property
    def turned(self) -> Array:
        """Angle between the base and that of the reference over time, (steps + 1,) [rad]."""
        cosines = np.abs(np.sum(self.q[:, 3:7] * self.wanted[:, 3:7], axis=1))
        return np.asarray(2.0 * np.arccos(np.minimum(cosines, 1.0)))

    def took(self, part: str, began: float) -> float:
        """Add the CPU time since `began` to that of a part, and return the present one [s]."""
        now = thread_time()
        self.times[part] = self.times.get(part, 0.0) + now - began
        return now


class LinearSimulation:
    """Control and simulation of a reference motion, with pushes that the control senses after a reaction time.

    Attributes:
        reference: the motion.
    """

    def __init__(
        self,
        character: ModalCharacter,
        reference: StepReference,
        settings: ControlSettings,
        *,
        keep_momentum: bool = False,
        grasps_move_high_modes: bool = False,
    ) -> None:
        """Create it.

        Args:
            character: the robot.
            reference: the motion.
            settings: of the control.
            keep_momentum: whether the velocity of the base after a step is that with which the momentum of the body,
                at its new pose, has changed by the forces alone; in the paper the velocities are kept, so that the
                momentum changes with the pose, which is the missing term of C(q, q̇).
            grasps_move_high_modes: whether the forces of grasps move high modes too. If not, their actuation cancels
                these forces, as after (27), and only a reference whose hands stay in their places can be followed.

        Grasps hold their points where they are when the reference plants them. Meanwhile there are no contacts with
        the ground.

        Raises:
            MultiQpError: when surfaces on the ground are planted together with grasps.
        """
        self._character, self.reference, self._settings = character, reference, settings
        self._keep_momentum, self._grasps_move_high_modes = keep_momentum, grasps_move_high_modes
        grasp = np.zeros(len(character.surfaces), dtype=bool)
        grasp[character.surface_of_point[character.held]] = True
        if grasp.any() and not grasp.all():
            planted = np.array([reference.planted(step) for step in range(len(reference))])
            if np.any(planted[:, grasp].any(axis=1) & planted[:, ~grasp].any(axis=1)):
                raise MultiQpError("linear simulation: expected contacts with the ground, or grasps, not both at once")
        self._places: Array = np.full((len(character.held), 3), np.nan)

    def run(self, *, pushes: tuple[Push, ...] = (), reaction: float = 0.2, steps: int | None = None) -> LinearRun:
        """Run the motion.

        Args:
            pushes: disturbing forces.
            reaction: time since the start of a push in which the plan is made as if the state were that of the
                reference [s].
            steps: number of steps; that of the reference if None.
        """
        count = len(self.reference) - 1 if steps is None else steps
        control = ModalControl(self._character, self.reference, self._settings)
        own = np.zeros((len(self._character.surfaces), 3))
        self.reference.follow(0, *self.reference.state(0), own, blind=False)
        q, v = (each.copy() for each in self.reference.state(0))
        run = LinearRun(np.array([q]), np.array([v]), np.zeros((0, 3)), np.array([q]), np.zeros(1))
        self._places[:] = np.nan
        configurations, velocities, forces, wanted = [q], [v], [], [q]
        here = control.linearised(q)
        for step in range(count):
            blind = any(0 <= step - p.start < round(reaction / self._settings.dt) for p in pushes)
            disturbance = [p for p in pushes if 0 <= step - p.start < p.steps]
            if step:
                self.reference.follow(step, q, v, own, blind=blind)
            wanted.append(self.reference.configuration(step + 1))
            q, v, own = self._step(control, step, here, v, blind, disturbance, run)
            began, before = thread_time(), here[1]
            beside = float(np.linalg.norm(q[:3] - wanted[-1][:3]))
            if not np.isfinite(q).all() or q[2] < FALLEN * wanted[-1][2] or beside > LOST:
                run.fallen = step + 1
            here = control.linearised(q) if run.fallen is None else here
            if self._keep_momentum and run.fallen is None:
                v = here[1].with_momentum(v, before.momentum(v))
            run.took("modes", began)
            configurations.append(q)
            velocities.append(v)
            forces.append(own.sum(axis=0))
            if run.fallen is not None:
                break
        run.q, run.v, run.wanted = np.array(configurations), np.array(velocities), np.array(wanted)
        run.errors = np.linalg.norm(run.q[:, :3] - run.wanted[:, :3], axis=1)
        run.contact_forces = np.array(forces).reshape(-1, 3)
        return run

    def low_modes(self, configurations: Array) -> tuple[int, int]:
        """Return the least and the largest number of low modes at some configurations, (n, nq)."""
        control = ModalControl(self._character, self.reference, self._settings)
        counts = [modes.low.stop - modes.low.start for _, modes in map(control.linearised, configurations[::10])]
        return min(counts), max(counts)

    def _step(
        self,
        control: ModalControl,
        step: int,
        here: tuple[LinearDynamics, Modes],
        v: Array,
        blind: bool,
        pushes: list[Push],
        run: LinearRun,
    ) -> tuple[Array, Array, Array]:
        """Return the state after one step, (23) and (24), and the contact force on each surface, (surfaces, 3)."""
        s, began = self._settings, thread_time()
        dynamics, modes = here
        points, held = dynamics.points, self._character.held
        gripped = held & self.reference.planted(step)[self._character.surface_of_point]
        if not held.all():
            run.penetration = max(run.penetration, float(-points[~held, 2].min()))
        touching = np.flatnonzero(gripped if gripped.any() or held.all() else ~held & (points[:, 2] < CONTACT_HEIGHT))
        closing = gripped & np.isnan(self._places[:, 0])
        self._places[~gripped], self._places[closing] = np.nan, points[closing]
        if blind:
            expected_q, expected_v = self.reference.state(step)
            plan = control.plan(step, *control.linearised(expected_q), expected_v, touching)
        else:
            plan = control.plan(step, dynamics, modes, v, touching)
        run.force_residual = max(run.force_residual, plan.residual)
        J = dynamics.J[touching]
        Z = s.dt * modes.Phi.T @ J.reshape(-1, len(v)).T
        by_contacts = Z @ plan.forces.ravel()
        actuation = modes.Phi.T @ plan.actuation
        actuation[modes.rigid] = 0.0
        actuation[modes.high] = control.high_actuation(step, dynamics, modes, v, by_contacts)
        began = run.took("plan", began)
        pushed = np.zeros(len(v))
        for push in pushes:
            pushed += self._character.point_jacobian(dynamics.q, push.frame, np.zeros(3)).T @ np.array(push.force)
        outer = s.dt * modes.Phi.T @ pushed
        free = free_response(np.zeros(len(v)), modes.inverse @ v, modes.Phi.T @ dynamics.b, modes.squares, s.dt)
        response, rate = (each[0] for each in impulse_response(modes.squares, np.array([s.dt])))
        planned = free[0] + response * (by_contacts + actuation + outer)
        lengths = modes.lengths[modes.low] if s.unit_modes else None
        X = preference(modes, response, Z, rigid=1.0, low=1.0, actuation=s.correction, lengths=lengths)
        if held[touching].any():
            if self._grasps_move_high_modes:
                X[modes.high] = 0.0
            gaps = (self._places - points)[touching]
            found = hold(J, modes.Phi, planned, response, Z, X, plan.forces, gaps=gaps)
        else:
            gaps, friction = points[touching, 2], s.rigid.friction
            found = correct(J, modes.Phi, planned, response, Z, X, plan.forces, gaps=gaps, friction=friction)
        run.took("complementarity", began)
        if found.solved:
            run.correction_residual = max(run.correction_residual, found.residual)
        else:
            run.unsolved.append(step)
        impulses = Z @ found.forces.ravel() + actuation + found.actuation + outer
        p, rates = free[0] + response * impulses, free[1] + rate * impulses
        by_surface = np.zeros((len(self._character.surfaces), 3))
        np.add.at(by_surface, self._character.surface_of_point[touching], found.forces @ self._character.ground.T)
        return displaced(dynamics.q, modes.Phi @ p), modes.Phi @ rates, by_surface
