"""Types of tasks added from outside: class, schema and registration, used from a scenario file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.dynamics.relative_motion import relative_motion
from multi_qp_controller.tasks import JointAngleTask, PoseTask, PostureTask, Task, register_task, registry
from multi_qp_controller.vectors import cross
from multi_qp_scene.errors import ArgumentError, MultiQpError
from multi_qp_scene.schema.common import Length
from multi_qp_scene.schema.tasks import TASK_SPECS, JointAngleTaskSpec, TaskBase
from multi_qp_simulator import Integrator


class DistanceTaskSpec(TaskBase):
    """Distance between the origins of two frames.

    Attributes:
        type: selects this type of task.
        frame_a: full name of a link or surface.
        frame_b: full name of the other one.
        target: distance [m].
    """

    type: Literal["distance"]
    frame_a: str
    frame_b: str
    target: Length

    def check(self, scenario, key) -> None:
        for name in ("frame_a", "frame_b"):
            scenario.known((*key, name), "link or surface", getattr(self, name), scenario.names.frames)


class DistanceTask(Task):
    """x = distance between the origins of two frames [m]."""

    Spec = DistanceTaskSpec
    dim = 1

    def __init__(self, name, *, frames, goal, **gains):
        super().__init__(name, **gains)
        self.frames, self.goal = frames, goal

    @classmethod
    def of(cls, name, spec, scenario):
        frames = scenario.scene.frame_id(spec.frame_a), scenario.scene.frame_id(spec.frame_b)
        return cls(name, frames=frames, goal=spec.target, **spec.gains)

    def compute(self, kinematics, time, J, b):
        motion = relative_motion(kinematics, *self.frames)
        p, v, omega = motion.X_B_A.translation, motion.twist[:3], motion.twist[3:]
        distance = np.linalg.norm(p)
        u = motion.X_B_A.rotation.T @ p / distance
        rate = u @ v
        drift = u @ (motion.drift[:3] + cross(omega, v)) + (v @ v - rate**2) / distance
        self._error, self._speed = np.array([distance - self.goal]), np.array([rate])
        J[0] = u @ motion.J[:3]
        b[:] = self.feedback(self._error, self._speed) - drift


@pytest.fixture
def registered() -> Iterator[None]:
    register_task(DistanceTask)
    yield
    del TASK_SPECS.models["distance"], registry._BY_SPEC[DistanceTaskSpec]
    TASK_SPECS.rebuild()


def scene_with(workshop, task):
    """Return a scenario with a bent chain of links, and a task of its state."""
    workshop.chain("arm", [{"extra": '<limit lower="-2" upper="2" velocity="5" effort="100"/>'}] * 3)
    rest = {"type": "posture", "subsystem": "arm", "weight": 0.01}
    return workshop.load(
        subsystems={"arm": {"model": "arm", "posture": {"joint1": 0.8, "joint2": 0.8}}},
        tasks={"rest": rest},
        initial_state="only",
        states={"only": {"tasks": {"apart": task}}},
    )


TASK = {"type": "distance", "frame_a": "arm/link3", "frame_b": "arm/link0", "target": 0.5, "stiffness": 100.0}


def test_registered_task_is_used_from_a_file(registered, workshop) -> None:
    scenario = scene_with(workshop, TASK)
    spec = scenario.spec.states["only"].tasks["apart"]
    assert isinstance(spec, DistanceTaskSpec)
    controller, world = Controller(scenario), Integrator(scenario)
    for tick in range(round(1.5 / controller.dt)):
        command = controller.step(world.state, tick * controller.dt)
        assert command.diagnostics.status == "ok", command.diagnostics.message
        world.step(command, controller.dt)
    task = controller.tasks["apart"]
    assert type(task) is DistanceTask
    assert task.error < 0.01
    # the recorded form of the scenario has it as well
    again = type(scenario.spec).model_validate_json(scenario.spec.model_dump_json(by_alias=True))
    assert again.states["only"].tasks["apart"] == spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame_b": "arm/bases"}, "unknown link or surface 'arm/bases'"),
        ({"target": -1.0}, "target"),
        ({"weigth": 1.0}, "weigth"),
        ({"type": "distances"}, "distance"),
    ],
)
def test_mistakes_in_its_keys_are_reported_with_their_place(registered, workshop, change, message) -> None:
    with pytest.raises(MultiQpError) as error:
        scene_with(workshop, TASK | change)
    assert message in str(error.value) and ".yaml:" in str(error.value)


def test_unregistered_task_is_unknown(workshop) -> None:
    with pytest.raises(MultiQpError, match="distance"):
        scene_with(workshop, TASK)


def test_invalid_registrations_are_refused() -> None:
    class NoSpec(Task):
        def compute(self, kinematics, time, J, b):
            """Nothing."""

    class SameType(JointAngleTaskSpec):
        type: Literal["pose"]

    class OtherPose(JointAngleTask):
        Spec = SameType

    class NoFactory(NoSpec):
        Spec = DistanceTaskSpec

    for wrong, message in (
        (5, "task: expected a class of tasks"),
        (NoSpec, "expected a subclass of Task with a `Spec`"),
        (NoFactory, "NoFactory has no class method `of`"),
        (OtherPose, "the type 'pose' is PoseTaskSpec already"),
    ):
        with pytest.raises(ArgumentError) as error:
            register_task(wrong)
        assert message in str(error.value)
    assert set(TASK_SPECS.models) == {
        "com",
        "joint_angle",
        "joint_impedance",
        "joint_velocity",
        "momentum",
        "pose",
        "posture",
    }


def overriding(kind: type[Task]) -> type[Task]:
    """Return a subclass with a `compute` of its own, which doubles J and b."""

    class Doubled(kind):
        def compute(self, kinematics, time, J, b):
            super().compute(kinematics, time, J, b)
            J *= 2.0
            b *= 2.0

    return Doubled


@pytest.mark.parametrize("kind", [PoseTask, PostureTask])
def test_compute_of_a_subclass_is_not_replaced_by_the_table(workshop, monkeypatch, kind) -> None:
    pose = {"type": "pose", "frame": "arm/link3", "axes": ["x", "z"], "target": {"frame": "entry"}}
    rows = {}
    for factor in (1.0, 2.0):
        if factor == 2.0:
            monkeypatch.setitem(registry._BY_SPEC, kind.Spec, overriding(kind))
        controller = Controller(scene_with(workshop, pose))
        assert controller.step(controller.scenario.scene.initial_state(), 0.0).diagnostics.status == "ok"
        tasks = controller.qp_data.tasks
        (k,) = (k for k, task in enumerate(tasks.tasks) if isinstance(task, kind))
        rows[factor] = tasks.J[tasks._slices[k]].copy()
    assert np.abs(rows[1.0]).max() > 0.1
    np.testing.assert_allclose(rows[2.0], 2.0 * rows[1.0], atol=1e-12)
