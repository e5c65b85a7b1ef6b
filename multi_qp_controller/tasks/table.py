"""Table of the pose, posture, joint and centre-of-mass tasks, whose rows one compiled kernel writes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_controller.references.minimum_jerk import DURATION, SHARES, TIMING, Path
from multi_qp_controller.references.references import PoseSample
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.com import CoMTask
from multi_qp_controller.tasks.joint import JointAngleTask
from multi_qp_controller.tasks.pose import PoseTask
from multi_qp_controller.tasks.posture import PostureTask
from multi_qp_controller.tasks.task_kernel import SPEED, TURN_SPEED, TaskData, task_rows
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.kernel_data import KernelData

#: Parameters of a task that may change between ticks: its gains, and the path of its reference.
_PARAMETERS = attrgetter("stiffness", "damping", "path")
#: Classes of tasks that the table computes; not their subclasses.
_TABULATED = PoseTask, CoMTask, PostureTask, JointAngleTask


class TaskTable:
    """Pose, posture, angle and centre-of-mass tasks of one set of tasks, over one table of motions.

    In Python, a tick only compares gains and reference paths with those of the last tick, and samples references that
    are not minimum-jerk paths.

    Attributes:
        task_indices: indices of the tasks that the table computes.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        slices: Sequence[slice],
        kinematics: Kinematics,
        motions: MotionTable,
        J: Array,
        b: Array,
    ) -> None:
        """Tabulate the tasks whose frames are in `motions`; `J` and `b` are those of all tasks, to fill."""
        self._motions = motions
        self._error, self._speed = np.zeros(len(b)), np.zeros(len(b))
        self._tasks: list[Task] = []
        rows_of_each: list[slice] = []
        self._kinds: list[str] = []
        self._lists: list[int] = []
        self._poses: list[PoseTask] = []
        self._centres: list[CoMTask] = []
        lines: dict[str, list[tuple[int, ...]]] = {"poses": [], "angles": [], "centres": []}
        self.task_indices: set[int] = set()
        for index, (task, rows) in enumerate(zip(tasks, slices, strict=True)):
            found = self._lines(task, rows, kinematics)
            if found is None:
                continue
            kind, added = found
            lines[kind].extend(added)
            self.task_indices.add(index)
            self._tasks.append(task)
            rows_of_each.append(rows)
            self._kinds.append(kind)
        self._pose_lines = _table(lines["poses"], 5)
        self._positions = {number: motions.X[pair, :3, 3] for number, _, _, _, pair in self._pose_lines.tolist()}
        self._angle_lines = _table(lines["angles"], 4)
        self._centre_lines = _table(lines["centres"], 8)
        for _, row, _, v in lines["angles"]:
            J[row, v] = 1.0
        self._starts, self._columns = motions.columns(len(motions.pairs))
        self._gains = np.zeros((len(self._tasks), 4))
        for line, task in zip(self._gains, self._tasks, strict=True):
            line[SPEED], line[TURN_SPEED] = task.speeds
        self._parameters: list[tuple[float, float, Path | None]] = []
        self._followed: list[Path | None] = [None] * len(self._tasks)
        self._centroids = np.zeros((len(self._centres), 10))
        self._places = np.zeros((len(self._centres), 3))
        self._pose_errors = np.zeros((len(self._poses), 6))
        self._allocate_references(len(lines["angles"]))
        self._sampled: list[tuple[Task, slice, Array | None]] = []
        self._bound = [
            (task, self._error[rows], self._speed[rows]) for task, rows in zip(self._tasks, rows_of_each, strict=True)
        ]
        samples = map(PoseSample, self._pose_references)
        self._bound_poses = list(zip(self._poses, self._pose_errors, samples, strict=True))
        self._groups = [(centre.group, row) for centre, row in zip(self._centres, self._centroids, strict=True)]
        self._bound_centres = list(zip(self._centres, self._places, strict=True))
        self._data = self._kernel_data(kinematics, J, b)

    def _kernel_data(self, kinematics: Kinematics, J: Array, b: Array) -> KernelData:
        motions = self._motions
        return KernelData(
            TaskData(
                timing=self._timing,
                numbers_at=self._numbers_at,
                firsts=self._firsts,
                changes=self._changes,
                numbers=self._numbers,
                gains=self._gains,
                poses=self._pose_lines,
                pose_references=self._pose_references,
                angles=self._angle_lines,
                angle_references=self._angle_references,
                centres=self._centre_lines,
                centre_references=self._centre_references,
                centroids=self._centroids,
                lists=np.array(self._lists, dtype=np.intp),
                starts=self._starts,
                columns=self._columns,
                X=motions.X,
                twist=motions.twist,
                drift=motions.drift,
                J_pairs=motions.J,
                Ag=kinematics.Ag,
                pose_errors=self._pose_errors,
                places=self._places,
                error=self._error,
                speed=self._speed,
                J=J,
                b=b,
            )
        )

    def _allocate_references(self, angles: int) -> None:
        """Allocate the numbers of all references: of poses, then of angles, then of centres of mass."""
        poses, centres = len(self._poses), len(self._centres)
        ends = np.cumsum([0, 24 * poses, 3 * angles, 9 * centres])
        self._numbers, self._firsts, self._changes = (
            np.zeros(ends[-1]),
            np.zeros(ends[-1]),
            np.zeros((ends[-1], SHARES)),
        )
        parts = [self._numbers[a:b] for a, b in itertools.pairwise(ends)]
        self._pose_references = parts[0].reshape(poses, 24)
        self._angle_references, self._centre_references = parts[1].reshape(angles, 3), parts[2].reshape(centres, 9)
        self._timing = np.zeros((len(self._tasks), TIMING))
        self._timing[:, DURATION] = -1.0
        self._numbers_at = np.zeros((len(self._tasks), 2), dtype=np.intp)
        self._where: list[slice] = []
        at = dict(zip(("poses", "angles", "centres"), ends.tolist(), strict=False))
        for k, (task, kind) in enumerate(zip(self._tasks, self._kinds, strict=True)):
            size = {"poses": 24, "angles": 3 * task.dim, "centres": 9}[kind]
            self._where.append(slice(at[kind], at[kind] + size))
            self._numbers_at[k] = at[kind], at[kind] + size
            at[kind] += size

    def bind(self) -> None:
        """Bind errors, speeds and references of the tasks to the arrays of this table."""
        for task, error, speed in self._bound:
            task.bind(error, speed)
        for pose, errors, sample in self._bound_poses:
            pose.bind_errors(errors, sample)
        for centre, place in self._bound_centres:
            centre.bind_reference(place)

    def _lines(self, task: Task, rows: slice, kinematics: Kinematics) -> tuple[str, list[tuple[int, ...]]] | None:
        """Return the kind of a task and its lines for the kernel; None where the table does not support it."""
        number, pairs = len(self._tasks), self._motions.index
        if type(task) not in _TABULATED:  # a subclass may compute its rows otherwise
            return None
        if isinstance(task, PoseTask):
            pair = pairs.get((task.frame_a, task.frame_b))
            if pair is None:
                return None
            self._poses.append(task)
            return "poses", [(number, rows.start, task.dim, self._listed(task.axes), pair)]
        if isinstance(task, CoMTask):
            carriers = [pairs.get((frame, None)) for frame in task.along_with]
            known = [pair for pair in carriers if pair is not None]
            if len(known) < len(carriers):
                return None
            self._centres.append(task)
            axes = self._listed(task.axes)
            columns, carried = self._listed(task.group.columns.tolist()), self._listed(known)
            return "centres", [(number, rows.start, task.dim, axes, columns, carried, carried, len(self._lists))]
        if isinstance(task, PostureTask | JointAngleTask):
            places = task.places(kinematics.scene)
            if places is None:
                return None
            return "angles", [(number, rows.start + k, q, v) for k, (q, v) in enumerate(places)]
        return None

    def _listed(self, entries: Sequence[int]) -> int:
        self._lists.extend(entries)
        return len(self._lists) - len(entries)

    def update(
        self, kinematics: Kinematics, time: float, leave_out: Callable[[Task, Exception], None] | None = None
    ) -> None:
        """Write the rows of this tick; `leave_out` is called with a task whose reference fails, and its exception."""
        parameters = [_PARAMETERS(task) for task in self._tasks]
        if parameters != self._parameters:
            self._update_parameters(parameters)
        for task, where, position in self._sampled:
            try:
                self._numbers[where] = task.sample(time, position)
            except Exception as error:
                if leave_out is None:
                    raise
                leave_out(task, error)
        for group, centroid in self._groups:
            centroid[:] = kinematics.centroid(group)
        task_rows(time, kinematics.q, kinematics.v, self._data.table)

    def _update_parameters(self, parameters: list[tuple[float, float, Path | None]]) -> None:
        """Update the gains and paths that have changed."""
        before = self._parameters or [(np.nan, np.nan, None)] * len(parameters)
        self._parameters, self._sampled = parameters, []
        for k, (old, new) in enumerate(zip(before, parameters, strict=True)):
            stiffness, damping, path = new
            if path is None:
                self._sampled.append((self._tasks[k], self._where[k], self._positions.get(k)))
            if new == old:
                continue
            self._gains[k, 0], self._gains[k, 1] = stiffness, damping
            if path is None:
                self._timing[k, DURATION] = -1.0
            elif path is not self._followed[k]:
                where = self._where[k]
                self._timing[k], self._firsts[where], self._changes[where] = path.timing, path.first, path.change
            self._followed[k] = path


def _table(lines: list[tuple[int, ...]], width: int) -> Indices:
    return np.array(lines, dtype=np.intp).reshape(-1, width)
