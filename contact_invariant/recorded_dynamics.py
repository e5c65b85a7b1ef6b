"""Motion of the full model nearest to a retargeted one, within torque, speed and joint limits, by crocoddyl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.recorded_costs import SPEED, UNLISTED, RecordedCosts, RecordedTask
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.contacts import airborne, intervals
from multi_qp_scene.pairs import unlisted_pairs
from multi_qp_scene.scene import Scene
from multi_qp_scene.separation import Separation
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

#: Firmness of the barriers in successive solutions; footholds are free in all but the last.
FIRMNESS = 0.01, 0.1, 1.0
#: Iterations of each solution, and number of them between two looks at the cost.
ITERATIONS, CHUNK = 60, 10
#: Relative decrease of the cost in a chunk below which the solver has converged.
DECREASE = 1e-3
#: Time around flights in which the reference is smoothed, and width of it [s]: flights are shorter than recorded.
AROUND, SMOOTH = 0.15, 0.08
#: Gains of the stabilisation of contacts: position of known footholds [1/s²], velocity [1/s].
POSITION_GAIN, VELOCITY_GAIN = 1600.0, 80.0
#: Largest defect of the dynamics, and violation of the cones in body weights, with which a motion is of use.
DEFECT, OUTSIDE = 1e-6, 0.05

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class FeasibleMotion:
    """A motion that obeys the dynamics of the full model.

    Attributes:
        times: from 0 to the end, two for each step of the reference, (n,) [s].
        contacts: whether each sole is planted, (n, soles).
        q: configurations of the scene, (n, nq).
        torques: of the joints between them, (n - 1, nv - 6) [N m].
        speed: largest joint velocity over its limit.
        torque: largest torque over its limit.
        outside: largest violation of a friction cone or of the edges of a sole, in body weights.
        defect: largest defect of the dynamics between samples; 0 if it obeys them.
        iterations: number of iterations.
    """

    times: Array
    contacts: NDArray[np.bool_]
    q: Array
    torques: Array
    speed: float
    torque: float
    outside: float
    defect: float
    iterations: int

    @property
    def failure(self) -> str | None:
        """Why the motion is of no use; None if it is."""
        if self.defect > DEFECT:
            return f"no motion was found that obeys the dynamics (defect {self.defect:.2g})"
        if max(self.speed, self.torque) > 1.0:
            return f"joint velocities are {self.speed:.2f}, torques {self.torque:.2f} of their limits"
        if self.outside > OUTSIDE:
            return f"forces are {self.outside:.2f} body weights outside of the cones of the soles"
        return None


class FeasibleMotions:
    """Trajectory optimisation of one robot on level ground with a given contact sequence."""

    def __init__(self, scene: Scene, subsystem: str, soles: Sequence[str]) -> None:
        """Prepare for a robot.

        Args:
            scene: a scene of this robot alone.
            subsystem: a robot with a floating base.
            soles: full names of the surfaces of its feet.

        Raises:
            MultiQpError: a joint has no motor, or the scene has other moving subsystems.
        """
        if list(scene.subsystems) != [subsystem] or scene.model.joints[1].nv != 6 or scene.na != scene.nv - 6:
            raise MultiQpError("full dynamics: expected one robot with a floating base and a motor at each joint")
        self._scene, self._soles = scene, [scene.surfaces[sole] for sole in soles]
        self._costs = RecordedCosts(scene, self._soles, *_pairs(scene, subsystem))
        self._state, self._limit, self._weight = self._costs.state, self._costs.limit, self._costs.weight
        self._actuation = crocoddyl.ActuationModelFloatingBase(self._state)
        self._nu, self._model = self._actuation.nu, self._state.pinocchio
        self._data = self._model.createData()
        apart = Separation(scene.model, self._costs.geometry, clearance=UNLISTED)
        self._ik = WholeBodyIk(scene, subsystem, apart=apart)

    def solve(
        self,
        reference: Array,
        contacts: NDArray[np.bool_],
        soles: Sequence[Sequence[pin.SE3]],
        dt: float,
        progress: Progress | None = None,
    ) -> FeasibleMotion:
        """Return the motion nearest to a reference, at rest at both ends.

        Args:
            reference: configurations of the scene, (n, nq); the motion starts in the first one.
            contacts: whether each sole is planted, (n, soles).
            soles: poses of each sole; those of footholds are changed.
            dt: time between two samples [s].
            progress: called with the number of the solution, the iteration and the cost.
        """
        q = _smoothed(reference, airborne(contacts), dt)
        v = np.zeros((len(q), self._model.nv))
        v[1:-1] = [pin.difference(self._model, a, b) / (2.0 * dt) for a, b in zip(q[:-2], q[2:], strict=True)]
        limits = self._scene.limits
        v[:, limits.v_index] = np.clip(v[:, limits.v_index], -SPEED * limits.velocity, SPEED * limits.velocity)
        task = RecordedTask(q, v, contacts, [list(path) for path in soles], dt)
        xs, iterations = [np.concatenate(pair) for pair in zip(q, v, strict=True)], 0
        us: list[Array] = []
        for number, firmness in enumerate(FIRMNESS):
            placed = number == len(FIRMNESS) - 1
            if placed:
                task = self._finer(self._with_footholds(task, xs))
                xs = [np.concatenate(pair) for pair in zip(*self._between(np.array(xs)), strict=True)]
                us = [u for u in us for _ in range(2)]
            problem = self._problem(task, xs, firmness, placed)
            solver = crocoddyl.SolverFDDP(problem)
            us = us or [np.clip(u, -self._limit, self._limit) for u in problem.quasiStatic(xs[:-1])]
            solver.setCandidate(xs, us, False)
            iterations += _solved(solver, None if progress is None else partial(progress, number))
            xs, us = [x.copy() for x in solver.xs], [u.copy() for u in solver.us]
            if not placed:
                del problem, solver  # of 4 MB a sample
        return self._result(problem, solver, task, iterations)

    def _between(self, states: Array) -> tuple[Array, Array]:
        """Return configurations and velocities of states with one between each two, (2 n - 1, nq), (2 n - 1, nv)."""
        nq, model = self._model.nq, self._model
        q, v = np.repeat(states[:, :nq], 2, axis=0)[:-1], np.repeat(states[:, nq:], 2, axis=0)[:-1]
        for k in range(1, len(q), 2):
            q[k], v[k] = pin.interpolate(model, q[k - 1], q[k + 1], 0.5), 0.5 * (v[k - 1] + v[k + 1])
        return q, v

    def _finer(self, task: RecordedTask) -> RecordedTask:
        """Return a task with half the time between two samples: fast legs turn far in one of them."""
        q, v = self._between(np.hstack([task.q, task.v]))
        index = np.arange(len(q)) // 2
        soles = [[path[k] for k in index] for path in task.soles]
        return RecordedTask(q, v, task.contacts[index], soles, 0.5 * task.dt)

    def start(self, q: Array, soles: Sequence[pin.SE3]) -> Array:
        """Return a configuration near one with the soles at places and links apart, centre of mass over their middle.

        Args:
            q: configuration, (nq,).
            soles: poses of the soles.
        """
        middle = np.mean([X.translation for X in soles], axis=0)
        feet = [Placement(sole.frame_id, X, weight=10.0) for sole, X in zip(self._soles, soles, strict=True)]
        com = np.array([*middle[:2], pin.centerOfMass(self._model, self._data, q)[2]])
        weights = np.array([10.0, 10.0, 0.1])
        return self._ik.solve(q, feet, com=com, com_weight=weights, rest=q, iterations=200, tolerance=1e-5).q

    def _problem(
        self, task: RecordedTask, xs: Sequence[Array], firmness: float, placed: bool
    ) -> crocoddyl.ShootingProblem:
        n, models = len(task.q), []
        for k in range(n):
            contacts = self._contacts(task, k, placed)
            costs = self._costs.at(task, k, xs[k][: self._model.nq], firmness, placed)
            action = crocoddyl.DifferentialActionModelContactFwdDynamics(
                self._state, self._actuation, contacts, costs, 1e-9, True
            )
            models.append(crocoddyl.IntegratedActionModelEuler(action, task.dt if k < n - 1 else 0.0))
        return crocoddyl.ShootingProblem(xs[0], models[:-1], models[-1])

    def _contacts(self, task: RecordedTask, k: int, placed: bool) -> crocoddyl.ContactModelMultiple:
        contacts = crocoddyl.ContactModelMultiple(self._state, self._nu)
        for j in np.flatnonzero(task.contacts[k]):
            known = placed or task.begin(k, j) == 0
            gains = np.array([POSITION_GAIN if known else 0.0, VELOCITY_GAIN])
            frame, X = self._soles[j].frame_id, task.soles[j][k]
            contacts.addContact(str(j), crocoddyl.ContactModel6D(self._state, frame, X, pin.LOCAL, self._nu, gains))
        return contacts

    def _with_footholds(self, task: RecordedTask, xs: Sequence[Array]) -> RecordedTask:
        """Return the task with the footholds of a solution: level, on the ground, at their places after the landing."""
        soles = [list(path) for path in task.soles]
        for j, sole in enumerate(self._soles):
            for first, last in intervals(task.contacts[:, j]):
                if first == 0:
                    continue
                pin.framesForwardKinematics(self._model, self._data, xs[(first + last) // 2][: self._model.nq])
                found, level = self._data.oMf[sole.frame_id], soles[j][first]
                turn = pin.log3(found.rotation @ level.rotation.T)[2]
                place = np.array([*found.translation[:2], level.translation[2]])
                soles[j][first:last] = [pin.SE3(pin.utils.rotate("z", turn) @ level.rotation, place)] * (last - first)
        return RecordedTask(task.q, task.v, task.contacts, soles, task.dt)

    def _result(
        self, problem: crocoddyl.ShootingProblem, solver: crocoddyl.SolverFDDP, task: RecordedTask, iterations: int
    ) -> FeasibleMotion:
        nq, limits = self._model.nq, self._scene.limits
        xs, us, outside = np.array(solver.xs), np.array(solver.us), 0.0
        problem.calc(solver.xs, solver.us)
        for model, data in zip(problem.runningModels, problem.runningDatas, strict=True):
            items = model.differential.costs.costs.todict()
            for name, item in data.differential.costs.costs.todict().items():
                if name.startswith("cone"):
                    cone, r = items[name].cost.residual.reference, item.residual.r
                    outside = max(outside, float(np.maximum(cone.lb - r, r - cone.ub).max()))
        return FeasibleMotion(
            times=np.asarray(task.dt * np.arange(len(xs)), dtype=np.float64),
            contacts=task.contacts,
            q=xs[:, :nq],
            torques=us,
            speed=float((np.abs(xs[:, nq + limits.v_index]) / limits.velocity).max()),
            torque=float((np.abs(us) / self._limit).max()),
            outside=outside / self._weight,
            defect=0.0 if solver.isFeasible else float(max(np.abs(f).max() for f in solver.fs)),
            iterations=iterations,
        )


def _solved(solver: crocoddyl.SolverFDDP, progress: Callable[[int, float], None] | None) -> int:
    """Solve until the cost no longer decreases; return the number of iterations."""
    done, feasible, reg, last = 0, False, 1e-6, np.inf
    while done < ITERATIONS:
        ended = solver.solve(list(solver.xs), list(solver.us), CHUNK, feasible, reg)
        done += solver.iter + 1
        feasible, reg = solver.isFeasible, max(1e-9, min(solver.preg, 1e-2))
        if progress is not None:
            progress(done, float(solver.cost))
        if ended or (feasible and last - solver.cost < DECREASE * solver.cost):
            break
        last = solver.cost if feasible else np.inf
    return done


def _pairs(scene: Scene, subsystem: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of collision pieces of the links that the model lists to be kept apart, and of others."""
    pieces: dict[str, list[int]] = {}
    for k, piece in enumerate(scene.collision_model.geometryObjects):
        pieces.setdefault(scene.model.frames[piece.parentFrame].name, []).append(k)
    listed, other = scene.self_collisions.get(subsystem, ()), unlisted_pairs(scene, subsystem, 0.0)

    def of(links: Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
        return [(a, b) for one, two in links for a in pieces.get(one, ()) for b in pieces.get(two, ())]

    return of(listed), of(other)


def _smoothed(q: Array, flight: NDArray[np.bool_], dt: float) -> Array:
    """Return configurations smoothed around flights, which are shorter than the recorded ones."""
    around = maximum_filter1d(flight.astype(float), 2 * round(AROUND / dt) + 1)
    share = gaussian_filter1d(around, SMOOTH / dt)[:, None]
    found = q + share * (gaussian_filter1d(q, SMOOTH / dt, axis=0, mode="nearest") - q)
    found[:, 3:7] /= np.linalg.norm(found[:, 3:7], axis=1)[:, None]
    return found
