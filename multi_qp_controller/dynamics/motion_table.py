"""Table of the relative motions of one set of contacts and tasks, computed together once per tick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics.motion_kernel import MotionData, relative_motions
from multi_qp_scene.arrays import Array
from multi_qp_scene.kernel_data import KernelData
from multi_qp_scene.pinocchio_views import JointViews

#: Frame A and frame B by index, B = None for the world.
Pair = tuple[int, int | None]


class FixedFrame(NamedTuple):
    """Parent joint of a frame, its placement in that joint, (3, 4), and the entries of v that move it."""

    joint: int
    place: Array
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, model: pin.Model, frame: int) -> FixedFrame:
        """Return that of a frame of a model."""
        entry = model.frames[frame]
        return cls(entry.parentJoint, np.array(entry.placement.homogeneous[:3]), _columns(model, frame))


class MotionTable:
    """Motions of frames A relative to frames B, as arrays with one entry per pair.

    Attributes:
        pairs: the pairs.
        index: index of each pair in the arrays, the last one of a repeated pair.
        J: Jacobians, rows 6 k to 6 k + 5 for pair k, (6 k, nv).
        X: X_B_A, (k, 4, 4).
        twist: (k, 6).
        drift: (k, 6).
    """

    def __init__(
        self,
        model: pin.Model,
        views: JointViews,
        data: pin.Data,
        pairs: Iterable[Pair],
        known: dict[int, FixedFrame] | None = None,
    ) -> None:
        """Allocate the table of these pairs; `known` is a cache of frames that tables share."""
        known = {} if known is None else known
        J_world = data.J  # its address is constant
        J_world = J_world if J_world.ndim == 2 else J_world[:, None]  # pinocchio returns a single column as a vector
        self.pairs = tuple(pairs)
        self.index = {pair: k for k, pair in enumerate(self.pairs)}
        frames = tuple(dict.fromkeys(frame for pair in self.pairs for frame in pair if frame is not None))
        place = {frame: k for k, frame in enumerate(frames)}
        self._first = np.array([place[a] for a, _ in self.pairs], dtype=np.intp)
        self._second = np.array([-1 if b is None else place[b] for _, b in self.pairs], dtype=np.intp)
        for frame in frames:
            if frame not in known:
                known[frame] = FixedFrame.of(model, frame)
        fixed = [known[frame] for frame in frames]
        joints = np.array([frame.joint for frame in fixed], dtype=np.intp)
        places = np.array([frame.place for frame in fixed]).reshape(-1, 3, 4)
        columns = [frame.columns for frame in fixed]
        self._starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.intp)
        self._columns = np.concatenate([*columns, np.zeros(0)]).astype(np.intp)
        self._moving: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
        n = len(self.pairs)
        self.J = np.zeros((6 * n, model.nv))
        self.X = np.zeros((n, 4, 4))
        self.twist = np.zeros((n, 6))
        self.drift = np.zeros((n, 6))
        poses, twists, drifts = np.zeros((len(frames), 4, 4)), np.zeros((len(frames), 6)), np.zeros((len(frames), 6))
        self._data = KernelData(
            MotionData(
                joints=joints,
                places=places,
                joint_poses=views.poses,
                joint_twists=views.twists,
                joint_drifts=views.drifts,
                first=self._first,
                second=self._second,
                poses=poses,
                twists=twists,
                drifts=drifts,
                starts=self._starts,
                columns=self._columns,
                J_world=J_world,
                J=self.J,
                X=self.X,
                twist=self.twist,
                drift=self.drift,
            )
        )

    def columns(self, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the entries of v that move the first `count` pairs: first indices, (count + 1,), and entries."""
        if count in self._moving:
            return self._moving[count]
        frames = [[k for k in pair if k >= 0] for pair in zip(self._first[:count], self._second[:count], strict=True)]
        lists = [np.unique(np.concatenate([self._frame_columns(k) for k in pair])) for pair in frames]
        starts = np.concatenate([[0], np.cumsum([len(c) for c in lists])]).astype(np.intp)
        self._moving[count] = starts, np.concatenate([*lists, np.zeros(0)]).astype(np.intp)
        return self._moving[count]

    def _frame_columns(self, k: int) -> NDArray[np.intp]:
        return self._columns[self._starts[k] : self._starts[k + 1]]

    def update(self) -> None:
        """Compute all motions from the data of this tick."""
        relative_motions(self._data.table)


def _columns(model: pin.Model, frame: int) -> NDArray[np.intp]:
    """Return the entries of v that move a frame."""
    columns: list[int] = []
    for joint_id in model.supports[model.frames[frame].parentJoint]:
        if joint_id:
            joint = model.joints[joint_id]
            columns.extend(range(joint.idx_v, joint.idx_v + joint.nv))
    return np.array(columns, dtype=np.intp)
