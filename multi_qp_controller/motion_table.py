"""The relative motions that one set of contacts and tasks needs, computed together once per tick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.motion_kernel import relative_motions

Array = NDArray[np.float64]
#: Frame A and frame B by index, B = None for the world.
Pair = tuple[int, int | None]


class MotionTable:
    """Motions of frames A relative to frames B, as arrays with one entry a pair.

    Attributes:
        index: of each pair in the arrays.
        J: Jacobians, rows 6 k to 6 k + 5 are a pair's, (6 k, nv).
        X: X_B_A, (k, 4, 4).
        twist: (k, 6).
        drift: (k, 6).
    """

    def __init__(
        self, model: pin.Model, data: pin.Data, pairs: Iterable[Pair], known: dict[int, NDArray[np.intp]] | None = None
    ) -> None:
        """Prepare the tables of these pairs; `known` keeps the columns of frames from table to table."""
        known = {} if known is None else known
        self._model, self._data = model, data
        unique = tuple(dict.fromkeys(pairs))
        self.index = {pair: k for k, pair in enumerate(unique)}
        frames = tuple(dict.fromkeys(frame for pair in unique for frame in pair if frame is not None))
        place = {frame: k for k, frame in enumerate(frames)}
        self._first = np.array([place[a] for a, _ in unique], dtype=np.intp)
        self._second = np.array([-1 if b is None else place[b] for _, b in unique], dtype=np.intp)
        self._frames = frames
        self._placements: list[Any] = [data.oMf[frame] for frame in frames]  # they refer into `data`
        for frame in frames:
            if frame not in known:
                known[frame] = _columns(model, frame)
        columns = [known[frame] for frame in frames]
        self._starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.intp)
        self._columns = np.concatenate([*columns, np.zeros(0)]).astype(np.intp)
        self._moving = [k for k, c in enumerate(columns) if len(c)]
        self._poses = np.zeros((len(frames), 4, 4))
        self._twists = np.zeros((len(frames), 6))
        self._drifts = np.zeros((len(frames), 6))
        n = len(unique)
        self.J = np.zeros((6 * n, model.nv))
        self.X = np.zeros((n, 4, 4))
        self.twist = np.zeros((n, 6))
        self.drift = np.zeros((n, 6))
        for k, placement in enumerate(self._placements):
            self._poses[k] = placement.homogeneous

    def update(self) -> None:
        """Compute all motions from the data of this tick."""
        model, data, local = self._model, self._data, pin.LOCAL
        for k in self._moving:
            frame = self._frames[k]
            self._poses[k] = self._placements[k].homogeneous
            self._twists[k] = pin.getFrameVelocity(model, data, frame, local).np
            self._drifts[k] = pin.getFrameAcceleration(model, data, frame, local).np
        relative_motions(
            self._first,
            self._second,
            self._poses,
            self._twists,
            self._drifts,
            self._starts,
            self._columns,
            data.J,
            self.J,
            self.X,
            self.twist,
            self.drift,
        )


def _columns(model: pin.Model, frame: int) -> NDArray[np.intp]:
    """Return the entries of v that move a frame."""
    columns: list[int] = []
    for joint_id in model.supports[model.frames[frame].parentJoint]:
        if joint_id:
            joint = model.joints[joint_id]
            columns.extend(range(joint.idx_v, joint.idx_v + joint.nv))
    return np.array(columns, dtype=np.intp)
