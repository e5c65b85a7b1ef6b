"""Fixtures: the box scenario, random states, recorded QPs, and small generated scenes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_controller.command import Command, Status
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp import QPProblem
from multi_qp_controller.qp.formulations import FORMULATIONS, make_formulation
from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.tasks import Task
from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_simulator.runner import run_scenario

#: Arrays of a problem that its formulation overwrites at every tick.
ARRAYS = ("H", "g", "C", "l", "u", "lb", "ub", "relaxable_rows")
#: States of the box scenario in which problems are recorded, and the time after their entry [s].
RECORDED = {"stand": 0.3, "reach": 1.0, "close": 0.96, "lift": 0.5, "carry": 0.7, "lower": 0.5, "release": 0.4}


class Lab:
    """Operations of tests on a scene: random states, motion along a curve, numerical derivatives."""

    def random_state(self, scene: Scene, seed: int, *, speed: float = 1.0) -> State:
        """Return a random state with joints inside their limits and bases near their initial poses."""
        random = np.random.default_rng(seed)
        q = pin.integrate(scene.model, scene.q0, random.uniform(-0.4, 0.4, scene.nv))
        limits = scene.limits
        bounded = np.isfinite(limits.lower)
        share = random.uniform(0.1, 0.9, len(limits.lower))[bounded]
        low, high = limits.lower[bounded], limits.upper[bounded]
        q[limits.q_index[bounded]] = low + share * (high - low)
        return State(q, speed * random.uniform(-1.0, 1.0, scene.nv))

    def kinematics(self, scene: Scene, state: State) -> Kinematics:
        kinematics = Kinematics(scene)
        kinematics.update(state)
        return kinematics

    def along(self, scene: Scene, state: State, acceleration: np.ndarray, h: float) -> State:
        """Return the state on a smooth curve through `state` with that acceleration, h seconds later."""
        q = pin.integrate(scene.model, state.q, h * state.v + 0.5 * h**2 * acceleration)
        return State(q, state.v + h * acceleration)

    def rate(self, scene: Scene, function: Callable, state: State, acceleration: np.ndarray, h: float = 1e-4):
        """Return d/dt of a function of the state along the curve, by central differences of fourth order."""
        values = {k: function(self.along(scene, state, acceleration, k * h)) for k in (-2, -1, 1, 2)}
        return (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12.0 * h)

    def rows(self, task: Task, kinematics: Kinematics, time: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return J and b of a task."""
        J, b = np.zeros((task.dim, kinematics.scene.nv)), np.zeros(task.dim)
        task.compute(kinematics, time, J, b)
        return J, b

    def close_loop(self, scene: Scene, task: Task, state: State, *, duration: float, dt: float) -> np.ndarray:
        """Integrate q̈ = J⁺ b from `state`; return the task's error at every step, (steps,)."""
        kinematics, errors = self.kinematics(scene, state), []
        for step in range(round(duration / dt)):
            kinematics.update(state)
            J, b = self.rows(task, kinematics, step * dt)
            errors.append(task.error)
            v = state.v + dt * (np.linalg.pinv(J) @ b)
            state = State(pin.integrate(scene.model, state.q, dt * v), v)
        return np.array(errors)

    def critically_damped(self, stiffness: float, *, duration: float, dt: float) -> np.ndarray:
        """Return the critically damped response of an error from 1, at rest, (steps,)."""
        x = np.sqrt(stiffness) * dt * np.arange(round(duration / dt))
        return (1.0 + x) * np.exp(-x)

    @staticmethod
    def no_slip(contact: ActiveContact, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return J and rhs of a contact's no-slip rows, [Vaillant2015] (18), (20), from its relative motion."""
        motion = contact.motion
        rhs = (contact.pose_error() / dt - motion.twist) / dt - motion.drift
        return motion.J[: contact.rows], rhs[: contact.rows]


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab()


@pytest.fixture(scope="session")
def scenario() -> Scenario:
    return load_scenario("box")


@pytest.fixture
def box(scenario: Scenario) -> Scenario:
    """Return the box scenario with a specification that the test may change."""
    return replace(scenario, spec=scenario.spec.model_copy(deep=True))


@pytest.fixture(scope="session")
def scene(scenario: Scenario) -> Scene:
    return scenario.scene


@dataclass(frozen=True)
class Recording:
    """One tick of the box scenario: its QP in every formulation, and the physics that a solution must satisfy.

    Attributes:
        at: state of the scene.
        problems: problems by formulation.
        M: joint-space inertia, (nv, nv).
        N: nonlinear effects, (nv,).
        G: generalised force of each ray, (nv, nλ).
        J: no-slip rows, (m, nv).
        W: rays of each contact, (6, 16).
        motors: index in v of each motor, (na,).
        size: variables and equalities, as counted in [Vaillant2015].
    """

    at: State
    problems: dict[str, QPProblem]
    M: np.ndarray
    N: np.ndarray
    G: np.ndarray
    J: np.ndarray
    W: tuple[np.ndarray, ...]
    motors: np.ndarray
    size: tuple[int, int]

    def physics(self, formulation: str, x: np.ndarray) -> PhysicalSolution:
        """Return the physical solution from x, by the documented layout; a missing τ follows from the dynamics."""
        nv, na = len(self.N), len(self.motors)
        if formulation == "full":
            return PhysicalSolution(x[:nv], x[nv : nv + na], self.wrenches(x[nv + na :]))
        tau = self.M @ x[:nv] + self.N - self.G @ x[nv:]
        return PhysicalSolution(x[:nv], tau[self.motors], self.wrenches(x[nv:]))

    def wrenches(self, forces: np.ndarray) -> np.ndarray:
        """Return the concatenated wrenches of all contacts, (6 contacts,)."""
        return np.concatenate([W @ part for W, part in zip(self.W, np.split(forces, len(self.W)), strict=True)])

    def residual(self, solution: PhysicalSolution) -> float:
        """Return the largest entry of M q̈ + N − G Λ − S τ relative to the largest force in it."""
        applied = solution.reactions @ self.J
        applied[self.motors] += solution.torque
        inertial = self.M @ solution.acceleration + self.N
        return float(np.abs(inertial - applied).max() / max(np.abs(inertial).max(), np.abs(applied).max()))


class Recorder:
    """Observer of a run that records one tick of each state in `RECORDED`."""

    def __init__(self) -> None:
        self.recordings: dict[str, Recording] = {}

    def __call__(self, controller: Controller, command: Command) -> None:
        name = command.diagnostics.state
        late_enough = command.time - controller.machine.entered >= RECORDED.get(name, np.inf) - 1e-9
        if late_enough and name not in self.recordings:
            self.recordings[name] = record(controller, command)


def build_problem(controller: Controller, formulation: str) -> QPProblem:
    """Return the QP of the controller's last tick, with copied arrays."""
    made = make_formulation(formulation, controller.qp_data)
    made.prepare()
    problem = made.build()
    return replace(problem, **{name: getattr(problem, name).copy() for name in ARRAYS})


def record(controller: Controller, command: Command) -> Recording:
    """Record the QP of the tick that returned `command`."""
    qp_data, kinematics = controller.qp_data, controller.kinematics
    return Recording(
        at=State(kinematics.q.copy(), kinematics.v.copy()),
        problems={name: build_problem(controller, name) for name in FORMULATIONS},
        M=qp_data.M.copy(),
        N=qp_data.N.copy(),
        G=qp_data.contacts.G.copy(),
        J=qp_data.contacts.J.copy(),
        W=tuple(contact.W.copy() for contact in qp_data.contacts.contacts),
        motors=controller.scenario.scene.actuated_v,
        size=(command.diagnostics.variables, command.diagnostics.equalities),
    )


@pytest.fixture(scope="session")
def recordings() -> dict[str, Recording]:
    """Return one tick of every phase of the box scenario, by FSM state."""
    recorder = Recorder()
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    result = run_scenario(scenario, dt=0.02, solver="daqp", observers=[recorder])
    assert result.succeeded, result.report["ended"]
    return recorder.recordings


LINK = """  <link name="{name}">
    <inertial><mass value="{mass}"/><inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision name="{name}_0"><geometry>{shape}</geometry></collision>
  </link>
"""
JOINT = """  <joint name="{name}" type="{type}">
    <parent link="{parent}"/><child link="{child}"/><origin xyz="{origin}"/><axis xyz="{axis}"/>{extra}
  </joint>
"""


class Workshop:
    """Generates and loads small URDFs, model files and scenarios."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def block(self, name: str, *, mass: float = 2.0, size: tuple[float, ...] = (0.2, 0.2, 0.2), **model: Any) -> None:
        """Write the model of one rigid body; the link is "body"."""
        shape = f'<box size="{" ".join(map(str, size))}"/>'
        self.model(name, LINK.format(name="body", mass=mass, shape=shape), **model)

    def chain(self, name: str, joints: list[dict[str, str]], **model: Any) -> None:
        """Write the model of a chain of links "link0" … whose joints take `type`, `axis`, `extra`; fixed base."""
        shape = '<sphere radius="0.05"/>'
        links = [LINK.format(name=f"link{k}", mass=1.0, shape=shape) for k in range(len(joints) + 1)]
        between = [
            JOINT.format(
                **(
                    {"name": f"joint{k}", "type": "revolute", "axis": "0 1 0", "extra": "", "origin": "0 0 0.3"} | joint
                ),
                parent=f"link{k}",
                child=f"link{k + 1}",
            )
            for k, joint in enumerate(joints)
        ]
        self.model(name, "".join(links + between), **({"root": "fixed"} | model))

    def model(self, name: str, parts: str, **model: Any) -> None:
        (self.folder / f"{name}.urdf").write_text(f'<robot name="{name}">\n{parts}</robot>\n')
        (self.folder / f"{name}.yaml").write_text(yaml.safe_dump({"urdf": f"{name}.urdf", **model}))

    def load(self, **scenario: Any) -> Scenario:
        """Write and load a scenario; generated models are referred to by name."""
        scenario = {
            "description": "made by a test",
            "initial_state": "only",
            "states": {"only": {"hold": 1000}},
        } | scenario
        for part in ("subsystems", "environment"):
            for spec in scenario.get(part, {}).values():
                if (self.folder / f"{spec['model']}.yaml").is_file():
                    spec["model"] = f"./{spec['model']}.yaml"
        path = self.folder / "scenario.yaml"
        path.write_text(yaml.safe_dump(scenario, sort_keys=False))
        return load_scenario(path)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


class Bench:
    """A controller, with the state integrated from its accelerations."""

    def __init__(self, scenario, **options):
        self.scenario, self.scene = scenario, scenario.scene
        self.controller = Controller(scenario, dt=0.01, **options)
        self.state, self.time, self.command = self.scene.initial_state(), 0.0, None

    def step(self, measured=None):
        self.command = self.controller.step(self.state if measured is None else measured, self.time)
        self.time += self.controller.dt
        if self.command.diagnostics.status is not Status.FALLBACK:
            v = self.state.v + self.controller.dt * self.command.a
            self.state = State(pin.integrate(self.scene.model, self.state.q, self.controller.dt * v), v)
        return self.command

    def corrupted(self, *, q=None, v=None, value=np.nan):
        """Return the state with one corrupted entry."""
        state = State(self.state.q.copy(), self.state.v.copy())
        if q is not None:
            state.q[q] = value
        if v is not None:
            state.v[v] = value
        return state

    def index(self, joint):
        model = self.scene.model.joints[self.scene.model.getJointId(joint)]
        return model.idx_q, model.idx_v


@pytest.fixture
def bench(box):
    box.spec.states["stand"].transitions.clear()
    return Bench(box)


@pytest.fixture
def make_bench() -> type[Bench]:
    return Bench
