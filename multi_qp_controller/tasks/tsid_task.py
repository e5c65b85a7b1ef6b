"""Adapter of tsid tasks to `Task`."""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.arrays import Array


class TsidTask(Task):
    """A motion task of tsid over `Kinematics.robot`: its equality rows, evaluated in C++, are part of the cost.

    Frame tasks (`TaskSE3Equality`, `TaskTwoFramesEquality`) work in any scene. Tasks that slice actuated joints
    (`TaskJointPosture`, the bounds) assume a single robot; use the tasks of this package instead. Gains are those of
    the tsid task.
    """

    def __init__(self, name: str, *, task: Any, weight: float = 1.0) -> None:
        """Wrap a tsid task; set its reference and gains on `task` itself."""
        super().__init__(name, weight=weight)
        self.dim = int(task.dim)
        self.task = task

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        rows = self.task.compute(time, kinematics.q, kinematics.v, kinematics.data)
        J[:] = rows.matrix
        b[:] = rows.vector
        self._error = np.asarray(self.task.position_error)
        self._speed = np.asarray(self.task.velocity_error)
