"""Types of tasks that scenario files can use."""

from __future__ import annotations

from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.com import CoMTask
from multi_qp_controller.tasks.impedance import JointImpedanceTask
from multi_qp_controller.tasks.joint import JointAngleTask, JointVelocityTask
from multi_qp_controller.tasks.momentum import MomentumTask
from multi_qp_controller.tasks.pose import PoseTask
from multi_qp_controller.tasks.posture import PostureTask
from multi_qp_scene.arguments import check_type
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.tasks import TASK_SPECS, TaskBase

_TASKS: tuple[type[Task], ...] = (
    CoMTask,
    JointAngleTask,
    JointImpedanceTask,
    JointVelocityTask,
    MomentumTask,
    PoseTask,
    PostureTask,
)
#: Class of the task of each type of specification.
_BY_SPEC: dict[type[TaskBase], type[Task]] = {task.Spec: task for task in _TASKS}


def register_task(task: type[Task]) -> None:
    """Add a type of task, before a scenario file is loaded that contains it.

    Args:
        task: class with `Spec`, a subclass of `TaskBase` with `type: Literal["..."]`, and the class method `of`.

    Raises:
        ArgumentError: when the class is none of this kind, or its type has the name of another one.
    """
    check_type("task", task, type, "a class of tasks")
    spec = getattr(task, "Spec", None)
    if not issubclass(task, Task) or not isinstance(spec, type) or not issubclass(spec, TaskBase):
        raise ArgumentError(f"task: expected a subclass of Task with a `Spec` of TaskBase, got {task.__name__}")
    if task.of.__func__ is Task.of.__func__:  # type: ignore[attr-defined]
        raise ArgumentError(f"task: {task.__name__} has no class method `of`, which creates it from its `Spec`")
    TASK_SPECS.add(spec)
    _BY_SPEC[spec] = task


def make_task(name: str, spec: TaskBase, scenario: Scenario) -> Task:
    """Create a task from its specification, whose names have been checked."""
    task = _BY_SPEC[type(spec)].of(name, spec, scenario)
    task.importance = spec.importance
    return task
