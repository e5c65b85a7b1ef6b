"""The tasks whose rows are arithmetic over what the tick has computed: all of them by one compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.motion_table import MotionTable
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.com import CoMTask
from multi_qp_controller.tasks.joint import JointAngleTask
from multi_qp_controller.tasks.pose import PoseTask
from multi_qp_controller.tasks.posture import PostureTask
from multi_qp_controller.tasks.task_kernel import task_rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_GAINS = attrgetter("stiffness", "damping")


class TaskTable:
    """Pose, posture, angle and centre-of-mass tasks of one set, over one table of motions.

    What does not move is written once: at each tick a task is only asked whether its reference is still the same.

    Attributes:
        taken: the indices of the tasks that the table computes.
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
        """Take the tasks whose frames are in `motions`; `J` and `b` are those of all tasks, to fill."""
        self._motions, self._J, self._b = motions, J, b
        self._error, self._speed = np.zeros(len(b)), np.zeros(len(b))
        self._tasks: list[Task] = []
        self._rows: list[slice] = []
        self._lists: list[int] = []
        self._poses: list[PoseTask] = []
        self._angles: list[tuple[PostureTask | JointAngleTask, slice]] = []
        self._centres: list[CoMTask] = []
        lines: dict[str, list[tuple[int, ...]]] = {"poses": [], "angles": [], "centres": []}
        self.taken: set[int] = set()
        for index, (task, rows) in enumerate(zip(tasks, slices, strict=True)):
            found = self._lines(task, rows, kinematics, len(lines["angles"]))
            if found is None:
                continue
            kind, added = found
            lines[kind].extend(added)
            self.taken.add(index)
            self._tasks.append(task)
            self._rows.append(rows)
        self._pose_lines = _table(lines["poses"], 5)
        self._positions = [motions.X[pair, :3, 3] for pair in self._pose_lines[:, 4]]
        self._angle_lines = _table(lines["angles"], 4)
        self._centre_lines = _table(lines["centres"], 8)
        for _, row, _, v in lines["angles"]:
            J[row, v] = 1.0
        self._index = np.array(self._lists, dtype=np.intp)
        self._starts, self._columns = motions.columns(len(motions.index))
        self._gains = np.zeros((len(self._tasks), 3))
        self._gains[:, 2] = [np.inf if task.max_speed is None else task.max_speed for task in self._tasks]
        self._known_gains: list[tuple[float, float]] = []
        self._pose_references = np.zeros((len(self._poses), 24))
        self._angle_references = np.zeros((len(lines["angles"]), 3))
        self._centre_references = np.zeros((len(self._centres), 9))
        self._centroids = np.zeros((len(self._centres), 10))
        self._places = np.zeros((len(self._centres), 3))
        self._pose_errors = np.zeros((len(self._poses), 6))
        self._known: list[object] = [None] * len(self._tasks)
        self._shifts: list[object] = [None] * len(self._poses)

    def bind(self) -> None:
        """Have the tasks find their errors, speeds and references here from now on."""
        for task, rows in zip(self._tasks, self._rows, strict=True):
            task.bind(self._error[rows], self._speed[rows])
        for pose, errors in zip(self._poses, self._pose_errors, strict=True):
            pose.bind_errors(errors)
        for centre, place in zip(self._centres, self._places, strict=True):
            centre.bind_reference(place)

    def _lines(
        self, task: Task, rows: slice, kinematics: Kinematics, angles: int
    ) -> tuple[str, list[tuple[int, ...]]] | None:
        """Return which kind of task this is, and its lines for the kernel; None where the table cannot have it."""
        number, pairs = len(self._tasks), self._motions.index
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
            self._angles.append((task, slice(angles, angles + task.dim)))
            return "angles", [(number, rows.start + k, q, v) for k, (q, v) in enumerate(places)]
        return None

    def _listed(self, entries: Sequence[int]) -> int:
        self._lists.extend(entries)
        return len(self._lists) - len(entries)

    def update(self, kinematics: Kinematics, time: float) -> None:
        """Write the rows of this tick."""
        gains = [_GAINS(task) for task in self._tasks]
        if gains != self._known_gains:
            self._known_gains = gains
            self._gains[:, :2] = gains
        self._refresh(kinematics, time)
        motions = self._motions
        task_rows(
            self._gains,
            self._pose_lines,
            self._pose_references,
            self._angle_lines,
            self._angle_references,
            self._centre_lines,
            self._centre_references,
            self._centroids,
            self._index,
            self._starts,
            self._columns,
            motions.X,
            motions.twist,
            motions.drift,
            motions.J,
            kinematics.Ag,
            kinematics.q,
            kinematics.v,
            self._pose_errors,
            self._places,
            self._error,
            self._speed,
            self._J,
            self._b,
        )

    def _refresh(self, kinematics: Kinematics, time: float) -> None:
        """Write the references that are no longer what they were."""
        known, k = self._known, 0
        for line, pose in enumerate(self._poses):
            sample = pose.sample(time, self._positions[line])
            if sample is not known[k] or pose.shift is not self._shifts[line]:
                known[k], self._shifts[line] = sample, pose.shift
                reference = self._pose_references[line]
                reference[:] = sample.numbers
                reference[:3] += pose.shift
            k += 1
        for task, rows in self._angles:
            asked = task.asked(time)
            if asked is not known[k]:
                known[k] = asked
                for column in range(3):
                    self._angle_references[rows, column] = asked[column]
            k += 1
        for line, centre in enumerate(self._centres):
            curve = centre.sample(time)
            if curve is not known[k]:
                known[k] = curve
                np.concatenate(curve, out=self._centre_references[line])
            self._centroids[line] = kinematics.centroid(centre.group)
            k += 1


def _table(lines: list[tuple[int, ...]], width: int) -> Indices:
    return np.array(lines, dtype=np.intp).reshape(-1, width)
