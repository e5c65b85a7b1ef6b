"""Tasks that are given up while the QP of their part of the scene has no solution, and resumed later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

if TYPE_CHECKING:
    from multi_qp_controller.tasks.task_rows import TaskRows

#: Shortest time between two tasks that are given up, in which the first one takes effect [s].
PATIENCE = 0.1


class GivenUpTasks(Stateful):
    """Selection of the tasks that are given up.

    At the second of two ticks without a solution as stated, and then every `PATIENCE` seconds while that lasts, one
    more task of the infeasible part of the scene is given up: of those of least importance, the one with the largest
    weighted residual. After `restore_after` seconds with a solution the last
    one is resumed; each time that a task is given up anew doubles its delay.

    Attributes:
        names: tasks that are given up, the last one last.
        times: number of times that each task was given up.
        failing: whether the last tick had no solution as stated.
        given_up_at: time when the last task was given up [s].
        since: time of the last change, or of the last tick without a solution [s].
    """

    @dataclass
    class Checkpoint:
        """The tasks that are given up, and the time since the last change."""

        names: list[str]
        times: dict[str, int]
        since: float
        failing: bool
        given_up_at: float

    def __init__(self, restore_after: float) -> None:
        self._restore_after = restore_after
        self.names: list[str] = []
        self.times: dict[str, int] = {}
        self.since = self.given_up_at = 0.0
        self.failing = False

    def give_up(self, tasks: TaskRows, infeasible: NDArray[np.bool_], acceleration: Array, time: float) -> None:
        """Give up one more task after a tick without a solution as stated.

        Args:
            tasks: the active tasks.
            infeasible: flags of the entries of v of the infeasible part of the scene, (nv,).
            acceleration: q̈ of that tick, (nv,).
            time: time of that tick [s].
        """
        self.since, persists, self.failing = time, self.failing, True
        if not persists or (self.names and time - self.given_up_at < PATIENCE):
            return
        self.given_up_at = time
        costs = tasks.costs(acceleration)
        candidates = [
            (task.importance, -costs[task.name], task.name)
            for task, J in zip(tasks.tasks, tasks.jacobians, strict=True)
            if task.importance is not None and costs[task.name] > 0.0 and (J != 0.0).any(axis=0)[infeasible].any()
        ]
        if candidates:
            name = min(candidates)[2]
            self.names.append(name)
            self.times[name] = self.times.get(name, 0) + 1

    def restore(self, tasks: TaskRows, time: float) -> None:
        """Resume the last task if it is time, after a tick with a solution as stated."""
        self.failing = False
        active = {task.name for task in tasks.tasks}
        self.names = [name for name in self.names if name in active]
        if self.names and time - self.since >= self._restore_after * 2 ** (self.times[self.names[-1]] - 1) - 1e-9:
            self.names.pop()
            self.since = time
