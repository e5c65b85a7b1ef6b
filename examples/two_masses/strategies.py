"""One QP for two masses, and three strategies with a QP for each mass: [Vaillant2015] Fig. 6.

Object 1, `lift`, has a motor; object 2, `block`, rests on it and has none. The task is the block's height.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from multi_qp_controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp import Explanation, LabelBlock, Labels, QPProblem, explain_infeasibility, make_solver
from multi_qp_controller.qp.formulations import make_formulation
from multi_qp_controller.tasks import JointAngleTask, Task
from multi_qp_scene import load_scenario
from multi_qp_scene.arrays import Array
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import State
from multi_qp_simulator import Integrator
from multi_qp_simulator.simulated_robot import TorqueWorld

HERE = Path(__file__).resolve().parent
DURATION = 2.0  # [s]
#: The task: height of the block [m], stiffness of (34) [1/s²], weight.
TARGET, STIFFNESS, WEIGHT = 0.4, 50.0, 1000.0


@dataclass
class StrategyRun:
    """Result of a strategy, one entry per tick.

    Attributes:
        title: description of the strategy.
        limit: effort limit of the motor [N].
        time: [s].
        lift: height of object 1 [m].
        block: height of object 2 [m]; equal to `lift` in contact.
        effort: effort of the motor [N].
        push: contact force on the block [N]; 0 without contact.
        conflict: of the first QP without a solution, if there was one.
    """

    title: str
    limit: float
    time: list[float] = field(default_factory=list)
    lift: list[float] = field(default_factory=list)
    block: list[float] = field(default_factory=list)
    effort: list[float] = field(default_factory=list)
    push: list[float] = field(default_factory=list)
    conflict: Explanation | None = None

    def add(self, time: float, *, lift: float, block: float, effort: float, push: float) -> None:
        """Append one tick."""
        values = {"time": time, "lift": lift, "block": block, "effort": effort, "push": push}
        for name, value in values.items():
            getattr(self, name).append(float(value))


class Follow(Task):
    """Task on one joint's position with a reference given at each tick (33)."""

    dim = 1

    def __init__(self, name: str, *, joint: ScalarJoint, stiffness: float, weight: float) -> None:
        super().__init__(name, stiffness=stiffness, weight=weight)
        self._joint = joint
        self.reference = np.zeros(3)  # position, velocity, acceleration

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Compute the task's row."""
        position, velocity, acceleration = self.reference
        self._error = np.array([self._joint.angle(kinematics.q) - position])
        self._speed = kinematics.v[self._joint.v_index : self._joint.v_index + 1]
        J[0, self._joint.v_index] = 1.0
        b[:] = acceleration + self.feedback(self._error, self._speed - velocity)


def integrated() -> StrategyRun:
    """One QP over both objects, coupled by their contact; the task is the height of the block."""
    scenario = load_scenario(HERE / "together.yaml")
    controller, world = Controller(scenario), Integrator(scenario)
    motion = StrategyRun("one QP", float(scenario.scene.torque_limits[0]))
    for tick in range(round(DURATION / controller.dt)):
        state, time = world.state, tick * controller.dt
        command = controller.step(state, time)
        push = -command.wrenches["contact"][2]  # z of the block's bottom points down
        motion.add(time, lift=state.q[0], block=state.q[1], effort=command.tau[0], push=push)
        world.step(command, controller.dt)
    return motion


def lift_first() -> StrategyRun:
    """Case 1: a QP for the lift, with the block's target; the block is not modelled."""
    scenario = load_scenario(HERE / "together.yaml")
    controller, world = _lift_alone(), TorqueWorld(scenario)  # the world has both objects, the QP has one
    joint = ScalarJoint.of(controller.scenario.scene.model, "lift/height")
    controller.add_task(
        JointAngleTask("lift height", joint=joint, goal=TARGET, stiffness=STIFFNESS, weight=WEIGHT),
    )
    motion = StrategyRun(
        "case 1: a QP for object 1, without a model of object 2", float(scenario.scene.torque_limits[0])
    )
    for tick in range(round(DURATION / controller.dt)):
        state, time = world.state, tick * controller.dt
        command = controller.step(State(state.q[:1], state.v[:1]), time)
        push = -world.advance(command.tau, ["contact"], controller.dt).wrenches["contact"][2]
        motion.add(time, lift=state.q[0], block=state.q[1], effort=command.tau[0], push=push)
    return motion


def block_first() -> StrategyRun:
    """Case 2: a kinematic QP for the block, then a dynamic QP by which the lift follows within its motor's limit."""
    controller, ghost = _lift_alone(), KinematicBlock()
    world = Integrator(controller.scenario)
    joint = ScalarJoint.of(controller.scenario.scene.model, "lift/height")
    follow = Follow("follow", joint=joint, stiffness=4.0 * STIFFNESS, weight=WEIGHT)
    controller.add_task(follow)
    motion = StrategyRun("case 2: object 2 first, object 1 follows", float(controller.scenario.scene.torque_limits[0]))
    for tick in range(round(DURATION / controller.dt)):
        state, time = world.state, tick * controller.dt
        acceleration = ghost.acceleration(time)
        follow.reference = np.array([ghost.position, ghost.velocity, acceleration])
        command = controller.step(state, time)
        motion.add(time, lift=state.q[0], block=ghost.position, effort=command.tau[0], push=0.0)
        world.step(command, controller.dt)
        ghost.advance(acceleration, controller.dt)
    return motion


def block_first_in_contact() -> StrategyRun:
    """Case 3: as case 2, with the contact as a constraint on the lift: q̈₁ = q̈₂.

    With the motor's limit this QP is infeasible, and its infeasible subset is reported; the plot shows the solution
    without the limit.
    """
    controller, ghost = _lift_alone(), KinematicBlock()
    world = Integrator(controller.scenario)
    formulation, solver = make_formulation("full", controller.qp_data), make_solver("daqp")
    motion = StrategyRun("case 3: object 2 first, contact enforced", float(controller.scenario.scene.torque_limits[0]))
    for tick in range(round(DURATION / controller.dt)):
        state, time = world.state, tick * controller.dt
        acceleration = ghost.acceleration(time)
        command = controller.step(state, time)  # updates the QP data
        formulation.prepare()
        problem = _with_contact(formulation.build(), acceleration)
        solution = solver.solve(problem)
        if not solution.found:
            if motion.conflict is None:
                motion.conflict = explain_infeasibility(problem)
            problem.lb[1], problem.ub[1] = -np.inf, np.inf  # x = (q̈, τ): remove the motor's limit
            solution = solver.solve(problem)
        motion.add(time, lift=state.q[0], block=ghost.position, effort=solution.x[1], push=0.0)
        world.step(replace(command, a=solution.x[:1].copy()), controller.dt)
        ghost.advance(acceleration, controller.dt)
    return motion


class KinematicBlock:
    """Kinematic model of the block: its acceleration is that of its task."""

    def __init__(self) -> None:
        self._controller = Controller(load_scenario(HERE / "block_alone.yaml"))
        self._solver = make_solver("daqp")
        self.position, self.velocity = 0.0, 0.0

    def acceleration(self, time: float) -> float:
        """Return q̈₂: the minimum of the block's cost (32) alone, without (12)."""
        self._controller.step(State(np.array([self.position]), np.array([self.velocity])), time)
        cost = self._controller.qp_data.tasks
        return float(self._solver.solve(QPProblem.of(cost.H.copy(), cost.g.copy())).x[0])

    def advance(self, acceleration: float, dt: float) -> None:
        """Integrate one step, as the integrator does."""
        self.velocity += acceleration * dt
        self.position += self.velocity * dt


def _lift_alone() -> Controller:
    return Controller(load_scenario(HERE / "lift_alone.yaml"))


def _with_contact(problem: QPProblem, acceleration: float) -> QPProblem:
    """Return the lift's QP with the row q̈₁ = q̈₂."""
    row = np.zeros((1, len(problem.g)))
    row[0, 0] = 1.0
    known = problem.labels
    named = (*known.equalities, LabelBlock(name="contact with object 2", unit="m/s²", rows=("",)))
    return QPProblem(
        H=problem.H,
        g=problem.g,
        A=np.vstack([problem.A, row]),
        b=np.append(problem.b, acceleration),
        C=problem.C,
        l=problem.l,
        u=problem.u,
        lb=problem.lb.copy(),
        ub=problem.ub.copy(),
        labels=Labels(known.variables, named, known.inequalities),
    )
