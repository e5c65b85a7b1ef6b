"""Stacked weighted rows of the tasks: the cost of the QP without its regularisation."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_controller.incidents import described
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.table import TaskTable
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Task rows with larger entries make the QP fail [SI units].
LARGEST = 1e20
#: Reason of tasks that are left out because the QP had no solution with them.
GIVEN_UP = "given up, as the QP had no solution"
_log = logging.getLogger(__name__)


class TaskRows:
    """Stacked weighted rows of one set of tasks; allocated when the set changes.

    Attributes:
        tasks: the tasks.
        J: task Jacobians, (k, nv).
        b: right-hand sides, (k,).
        scale: √w of each row, (k,).
        selected: the entry of q̈ that a row selects, -1 for other rows, (k,).
        left_out: tasks whose computation failed at this tick, with the reason; their rows have zero cost.
    """

    def __init__(self, tasks: tuple[Task, ...], nv: int) -> None:
        self.tasks = tasks
        ends = np.concatenate([[0], np.cumsum([task.dim for task in self.tasks])]).astype(int)
        self._slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        self.J = np.zeros((ends[-1], nv))
        self.b = np.zeros(ends[-1])
        self.scale = np.ones(ends[-1])
        self._weights: list[float] = []
        self.left_out: dict[str, str] = {}
        self.selected = np.full(ends[-1], -1, dtype=np.intp)
        for task, rows in zip(tasks, self._slices, strict=True):
            if task.selects is not None:
                self.selected[rows] = task.selects
        self._parts = [(t, self.J[rows], self.b[rows]) for t, rows in zip(tasks, self._slices, strict=True)]
        self._motions: MotionTable | None = None
        self._table: TaskTable | None = None
        self._tables: dict[MotionTable, TaskTable] = {}  # one for each contact set that the tasks were used with
        self._others = self._parts
        self._is_bound = False
        self._columns: list[NDArray[np.intp] | None] | None = None
        self._moved: tuple[tuple[int, bytes | None], ...] | None = None
        self._weighted: Array | None = None
        self._H: Array | None = None

    def update(self, kinematics: Kinematics, time: float, given_up: Collection[str] = ()) -> None:
        """Compute the rows of this tick; the tasks `given_up` are left out."""
        if kinematics.motions is not self._motions:
            self.build_table(kinematics)
        if not self._is_bound and self._table is not None:
            self._table.bind()
        self._is_bound = True
        if self.left_out:
            self.left_out, self._weights = {}, []
        if self._table is not None:
            self._table.update(kinematics, time, self._leave_out)
        for task, J, b in self._others:
            try:
                task.compute(kinematics, time, J, b)
            except Exception as error:  # including user tasks: the tick continues without it
                self._leave_out(task, error)
        self.update_weights()
        for name in given_up:
            self.left_out.setdefault(name, GIVEN_UP)
        if self.left_out:
            self._clear_left_out()
        self._weighted = self._H = None

    def leave_out_invalid(self) -> bool:
        """Leave out tasks with entries that are not finite or above `LARGEST`; return whether there are new ones."""
        before = len(self.left_out)
        for task, rows in zip(self.tasks, self._slices, strict=True):
            if not all((np.abs(part[rows]) <= LARGEST).all() for part in (self.J, self.b, self.scale)):
                self.left_out.setdefault(task.name, f"its rows or its weight are not finite, or above {LARGEST:g}")
        if len(self.left_out) == before:
            return False
        self._clear_left_out()
        self._weighted = self._H = None
        return True

    def _leave_out(self, task: Task, error: Exception) -> None:
        self.left_out[task.name] = described(error)

    def _clear_left_out(self) -> None:
        """Zero the rows of left-out tasks; valid entries of J remain, as tasks may write some of them only once."""
        for task, rows in zip(self.tasks, self._slices, strict=True):
            if task.name in self.left_out:
                J = self.J[rows]
                J[~(np.abs(J) <= LARGEST)] = 0.0
                self.b[rows] = self.scale[rows] = 0.0

    def update_weights(self) -> None:
        """Update the weights; at every tick, as a weight may change while its task is active."""
        weights = [task.weight for task in self.tasks]
        if weights != self._weights:
            self._weights = weights
            for task, rows in zip(self.tasks, self._slices, strict=True):
                try:
                    self.scale[rows] = np.sqrt(task.weight * (1.0 if task.row_weights is None else task.row_weights))
                except Exception as error:
                    self._leave_out(task, error)

    def unbind(self) -> None:
        """Bind the tasks again at the next tick: other rows may have bound them since."""
        self._is_bound = False

    def build_table(self, kinematics: Kinematics) -> None:
        """Build the table of the tasks that it supports, over the present table of motions."""
        self._motions, self._table, tabulated, self._is_bound = kinematics.motions, None, set(), False
        if self._motions is not None:
            table = self._tables.get(self._motions)
            if table is None:
                table = TaskTable(self.tasks, self._slices, kinematics, self._motions, self.J, self.b)
                self._tables[self._motions] = table
            tabulated = table.task_indices
            self._table = table if tabulated else None
        self._others = [part for k, part in enumerate(self._parts) if k not in tabulated]

    def moved(self, scene: Scene) -> tuple[tuple[int, bytes | None], ...]:
        """Return number of rows and nonzero columns, as bytes, of each task; see `Task.columns`."""
        if self._moved is None:
            columns = [(task.dim, where) for task, where in zip(self.tasks, self.columns(scene), strict=True)]
            self._moved = tuple((dim, None if where is None else where.tobytes()) for dim, where in columns)
        return self._moved

    def columns(self, scene: Scene) -> list[NDArray[np.intp] | None]:
        """Return the nonzero columns of each task, None where unknown; see `Task.columns`."""
        if self._columns is None:
            self._columns = [_columns(task, scene) for task in self.tasks]
        return self._columns

    def snapshot(self) -> TaskRows:
        """Return a copy of the rows of this tick; it is read-only and not updated."""
        one = copy.copy(self)
        one.J, one.b, one.scale = self.J.copy(), self.b.copy(), self.scale.copy()
        one._weighted = one._H = None
        return one

    @property
    def weighted(self) -> Array:
        """√w J, (k, nv)."""
        if self._weighted is None:
            self._weighted = self.J * self.scale[:, None]
        return self._weighted

    @property
    def weighted_b(self) -> Array:
        """√w b, (k,)."""
        return self.scale * self.b

    @property
    def jacobians(self) -> list[Array]:
        """J of each task, (dim, nv)."""
        return [self.J[rows] for rows in self._slices]

    def costs(self, acceleration: Array) -> dict[str, float]:
        """Return the weighted squared residual of each task by name, for q̈, (nv,)."""
        residual = self.scale * (self.J @ acceleration - self.b)
        return {
            task.name: float(residual[rows] @ residual[rows])
            for task, rows in zip(self.tasks, self._slices, strict=True)
        }

    def residuals(self, acceleration: Array) -> dict[str, float]:
        """Return the unweighted residual ‖J q̈ − b‖ of each task by name, for q̈, (nv,)."""
        residual = self.J @ acceleration - self.b
        return {
            task.name: float(np.linalg.norm(residual[rows]))
            for task, rows in zip(self.tasks, self._slices, strict=True)
        }

    @property
    def H(self) -> Array:
        """Hessian Jᵀ w J of the cost ½ q̈ᵀH q̈ + gᵀq̈, (nv, nv)."""
        if self._H is None:
            self._H = self.weighted.T @ self.weighted
        return self._H

    @property
    def g(self) -> Array:
        """Gradient −Jᵀ w b, (nv,)."""
        return -(self.weighted_b @ self.weighted)


def _columns(task: Task, scene: Scene) -> NDArray[np.intp] | None:
    """Return the nonzero columns of a task; None, for all, where they are unknown or invalid."""
    try:
        columns = task.columns(scene)
        if columns is None:
            return None
        found = np.asarray(columns, dtype=np.intp)
        if len(found) and not 0 <= found.min() <= found.max() < scene.nv:
            raise IndexError(f"entries of v from {found.min()} to {found.max()}, expected 0 to {scene.nv - 1}")
        return found
    except Exception as error:
        _log.warning("the columns of task '%s' are unknown: %s", task.name, described(error))
        return None
