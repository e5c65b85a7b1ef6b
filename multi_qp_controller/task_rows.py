"""The weighted rows of the tasks, stacked: the cost of the QP but for its regularisation."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.motion_table import MotionTable
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.table import TaskTable
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


class TaskRows:
    """The weighted task rows of one set of tasks, stacked; allocated when the set changes.

    Attributes:
        tasks: whose they are.
        J: (k, nv).
        b: (k,).
        scale: √w of each row, (k,).
        selected: the entry of q̈ that a row is, where it is one, else -1, (k,).
    """

    def __init__(self, tasks: tuple[Task, ...], nv: int) -> None:
        self.tasks = tasks
        ends = np.concatenate([[0], np.cumsum([task.dim for task in self.tasks])]).astype(int)
        self._slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        self.J = np.zeros((ends[-1], nv))
        self.b = np.zeros(ends[-1])
        self.scale = np.ones(ends[-1])
        self._weights: list[float] = []
        self.selected = np.full(ends[-1], -1, dtype=np.intp)
        for task, rows in zip(tasks, self._slices, strict=True):
            if task.selects is not None:
                self.selected[rows] = task.selects
        self._selecting = np.flatnonzero(self.selected >= 0)
        self._dense = _merged([rows for t, rows in zip(tasks, self._slices, strict=True) if t.selects is None])
        self._parts = [(t, self.J[rows], self.b[rows]) for t, rows in zip(tasks, self._slices, strict=True)]
        self._motions: MotionTable | None = None
        self._table: TaskTable | None = None
        self._others = self._parts
        self._is_bound = False
        self._moved: tuple[tuple[int, bytes | None], ...] | None = None
        self._weighted: Array | None = None
        self._H: Array | None = None

    def update(self, kinematics: Kinematics, time: float) -> None:
        """Compute the rows of this tick."""
        if kinematics.motions is not self._motions:
            self.tabulate(kinematics)
        if not self._is_bound and self._table is not None:
            self._table.bind()
        self._is_bound = True
        self._compute(kinematics, time, frozenset())

    def rehearse(self, kinematics: Kinematics, time: float, running: frozenset[Task]) -> None:
        """Compute rows that are not taken yet: what is `running` is others', and is neither asked nor told anything."""
        if kinematics.motions is not self._motions:
            self.tabulate(kinematics)
        self._compute(kinematics, time, running)

    def _compute(self, kinematics: Kinematics, time: float, running: frozenset[Task]) -> None:
        if self._table is not None:
            self._table.update(kinematics, time, running)
        for task, J, b in self._others:
            if task not in running:
                task.compute(kinematics, time, J, b)
        self.weigh()
        self._weighted = self._H = None

    def weigh(self) -> None:
        """Take the weights; at every tick, for one may change while its task runs."""
        weights = [task.weight for task in self.tasks]
        if weights != self._weights:
            self._weights = weights
            for task, rows in zip(self.tasks, self._slices, strict=True):
                self.scale[rows] = np.sqrt(task.weight * (1.0 if task.row_weights is None else task.row_weights))

    def unbind(self) -> None:
        """Bind the tasks anew at the next tick: they may have been others' since these rows were used."""
        self._is_bound = False

    def tabulate(self, kinematics: Kinematics) -> None:
        """Have a table compute the tasks that it can, over the present table of motions."""
        self._motions, self._table, taken, self._is_bound = kinematics.motions, None, set(), False
        if self._motions is not None:
            table = TaskTable(self.tasks, self._slices, kinematics, self._motions, self.J, self.b)
            taken = table.taken
            self._table = table if taken else None
        self._others = [part for k, part in enumerate(self._parts) if k not in taken]

    def moved(self, scene: Scene) -> tuple[tuple[int, bytes | None], ...]:
        """Return number of rows, and the entries of v that they concern as bytes, of each task; see `Task.columns`."""
        if self._moved is None:
            columns = [(task.dim, task.columns(scene)) for task in self.tasks]
            self._moved = tuple((dim, None if where is None else where.tobytes()) for dim, where in columns)
        return self._moved

    def kept(self) -> TaskRows:
        """Return the rows of this tick, which the next does not overwrite: to be read, not updated."""
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

    def times(self, Z: Array, *, out: Array) -> None:
        """Write √w J Z, (k, n); rows that only select an entry of q̈ cost no product."""
        out[self._selecting] = self.scale[self._selecting, None] * Z[self.selected[self._selecting]]
        for rows in self._dense:
            np.matmul(self.weighted[rows], Z, out=out[rows])

    def residuals(self, acceleration: Array) -> dict[str, float]:
        """Return ‖J q̈ − b‖ of each task by name, without its weight: what q̈, (nv,), misses of what it asks."""
        missed = self.J @ acceleration - self.b
        return {
            task.name: float(np.linalg.norm(missed[rows])) for task, rows in zip(self.tasks, self._slices, strict=True)
        }

    @property
    def H(self) -> Array:
        """Jᵀ w J, of the cost ½ q̈ᵀH q̈ + gᵀq̈, (nv, nv)."""
        if self._H is None:
            self._H = self.weighted.T @ self.weighted
        return self._H

    @property
    def g(self) -> Array:
        """−Jᵀ w b, (nv,)."""
        return -(self.weighted_b @ self.weighted)


def _merged(slices: list[slice]) -> list[slice]:
    """Return the same rows in as few slices as can be."""
    merged: list[slice] = []
    for rows in slices:
        if merged and merged[-1].stop == rows.start:
            merged[-1] = slice(merged[-1].start, rows.stop)
        else:
            merged.append(rows)
    return merged
