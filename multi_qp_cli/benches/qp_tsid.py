"""Comparison with TSID on one standing humanoid with equal tasks: tick times and solutions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pinocchio as pin

from multi_qp_cli.benches.crowd import load_chain
from multi_qp_cli.benches.result import spread
from multi_qp_controller.controller import Controller
from multi_qp_controller.tsid_compat import tsid
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

_TASKS: dict[str, Any] = {
    "balance": {
        "type": "com",
        "subsystems": ["person_1"],
        "target": {"over_contacts": ["person_1_left_foot", "person_1_right_foot"]},
        "weight": 100,
        "stiffness": 20,
    },
    "upright": {
        "type": "pose",
        "frame": "person_1/torso",
        "axes": ["roll", "pitch", "yaw"],
        "target": {"rpy": [0, 0, 0]},
        "weight": 10,
        "stiffness": 20,
    },
    "posture": {"type": "posture", "subsystem": "person_1", "weight": 1, "stiffness": 10},
}
#: TSID has no costs of torques and accelerations: ours are negligible. Costs of forces are our defaults.
_COST = {"acceleration": 1e-8, "torque": 0.0, "force": 1e-5, "moment": 1e-3}


class TsidTick:
    """TSID's `InverseDynamicsFormulationAccForce` with `SolverHQuadProgFast` on the scene of one humanoid."""

    def __init__(self, scenario: Scenario, controller: Controller) -> None:
        """Set up TSID with the tasks, contacts, gains and torque limits of the controller after its first step."""
        scene = scenario.scene
        self.robot = tsid.RobotWrapper(scene.model, tsid.FLOATING_BASE_SYSTEM, False)
        q, v = scene.q0, np.zeros(scene.nv)
        self.formulation = tsid.InverseDynamicsFormulationAccForce("tsid", self.robot, False)
        self.formulation.computeProblemData(0.0, q, v)
        self._references: list[Any] = []
        for contact in controller.contacts.values():
            self._add_contact(contact, controller.dt)
        self._add_tasks(controller)
        bounds = tsid.TaskActuationBounds("torques", self.robot)
        limits = np.empty(scene.na)
        limits[np.argsort(np.argsort(scene.actuated_v))] = scene.torque_limits  # TSID has them in the order of v
        bounds.setBounds(-limits, limits)
        self.formulation.addActuationTask(bounds, 1.0, 0, 0.0)
        self._references.append(bounds)
        self._order = scene.actuated_v - 6
        self.solver = tsid.SolverHQuadProgFast("qp")
        self.solver.resize(self.formulation.nVar, self.formulation.nEq, self.formulation.nIn)

    def step(self, state: State, time: float) -> tuple[Array, Array]:
        """Return q̈, (nv,), and τ in the order of the scene, (na,)."""
        problem = self.formulation.computeProblemData(time, state.q, state.v)
        solution = self.solver.solve(problem)
        torque = self.formulation.getActuatorForces(solution)
        return self.formulation.getAccelerations(solution), torque[self._order]

    def _add_contact(self, contact: Any, dt: float) -> None:
        points = np.ascontiguousarray(contact.first.points.T)
        normal = np.array([0.0, 0.0, -1.0])
        made = tsid.Contact6d(contact.name, self.robot, contact.first.name, points, normal, contact.friction, 0.0, 1e4)
        made.setKp(np.full(6, 1.0 / dt**2))
        made.setKd(np.full(6, 1.0 / dt))
        made.setReference(self.robot.framePosition(self.formulation.data(), contact.first.frame_id))
        made.setRegularizationTaskWeightVector(np.sqrt([1.0, 1.0, 1.0, 100.0, 100.0, 100.0]))
        self.formulation.addRigidContact(made, _COST["force"], 1.0, 0)
        self._references.append(made)

    def _add_tasks(self, controller: Controller) -> None:
        robot, data = self.robot, self.formulation.data()
        com = tsid.TaskComEquality("balance", robot)
        posture = tsid.TaskJointPosture("posture", robot)
        upright = tsid.TaskSE3Equality("upright", robot, "person_1/torso")
        upright.setMask(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
        upright.useLocalFrame(False)
        place = pin.SE3(np.eye(3), np.zeros(3))
        sample = tsid.TrajectorySample(12, 6)
        sample.value(np.concatenate([place.translation, place.rotation.T.ravel()]))
        upright.setReference(sample)
        target = tsid.TrajectorySample(3)
        reference = controller.tasks["balance"].target(controller.kinematics)
        target.value(np.asarray(robot.com(data)) if reference is None else reference.position)
        com.setReference(target)
        angles = tsid.TrajectorySample(robot.na)
        angles.value(controller.scenario.scene.q0[7:])
        posture.setReference(angles)
        for task, name in ((com, "balance"), (upright, "upright"), (posture, "posture")):
            ours = controller.tasks[name]
            size = {"balance": 3, "upright": 6, "posture": robot.na}[name]
            task.setKp(np.full(size, ours.stiffness))
            task.setKd(np.full(size, ours.damping))
            self.formulation.addMotionTask(task, ours.weight, 1, 0.0)
            self._references.append(task)


def measure_single(ticks: int = 400) -> dict[str, Any]:
    """Run one humanoid and solve each tick with TSID too; return times and the differences of the solutions."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = load_chain(1, Path(folder), tasks=_TASKS, regularisation=_COST)
    controller = Controller(scenario)
    scene, dt = scenario.scene, controller.dt
    state = scene.initial_state()
    controller.step(state, 0.0)
    peer = TsidTick(scenario, controller)
    ours: list[float] = []
    theirs: list[float] = []
    q_error, t_error = 0.0, 0.0
    for tick in range(1, ticks):
        begun = perf_counter()
        command = controller.step(state, tick * dt)
        ours.append(1e3 * (perf_counter() - begun))
        begun = perf_counter()
        acceleration, torque = peer.step(state, tick * dt)
        theirs.append(1e3 * (perf_counter() - begun))
        q_error = max(q_error, _difference(command.a, acceleration))
        t_error = max(t_error, _difference(command.tau, torque))
        v = state.v + dt * command.a
        state = State(pin.integrate(scene.model, state.q, dt * v), v)
    return {
        "ours_ms": spread(ours[10:]),
        "tsid_ms": spread(theirs[10:]),
        "ratio": spread(theirs[10:])["median"] / spread(ours[10:])["median"],
        "acceleration_difference": q_error,
        "torque_difference": t_error,
    }


def _difference(value: Array, expected: Array) -> float:
    return float(np.abs(value - expected).max() / max(1.0, np.abs(expected).max()))
