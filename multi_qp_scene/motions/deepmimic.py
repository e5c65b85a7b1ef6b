"""Reader of motions of the DeepMimic release (JSON)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.skeleton import SkeletonMotion, chained, read_text, upright

#: The humanoid of the release in the order of a frame's numbers: parent, offset in its frame [m], numbers of rotation.
#: Toes are the lower front edges of its feet.
_JOINTS: dict[str, tuple[str, tuple[float, float, float], int]] = {
    "root": ("", (0.0, 0.0, 0.0), 4),
    "chest": ("root", (0.0, 0.236151, 0.0), 4),
    "neck": ("chest", (0.0, 0.223894, 0.0), 4),
    "right_hip": ("root", (0.0, 0.0, 0.084887), 4),
    "right_knee": ("right_hip", (0.0, -0.421546, 0.0), 1),
    "right_ankle": ("right_knee", (0.0, -0.40987, 0.0), 4),
    "right_toe": ("right_ankle", (0.1335, -0.05, 0.0), 0),
    "right_shoulder": ("chest", (-0.02405, 0.2435, 0.18311), 4),
    "right_elbow": ("right_shoulder", (0.0, -0.274788, 0.0), 1),
    "right_wrist": ("right_elbow", (0.0, -0.258947, 0.0), 0),
    "left_hip": ("root", (0.0, 0.0, -0.084887), 4),
    "left_knee": ("left_hip", (0.0, -0.421546, 0.0), 1),
    "left_ankle": ("left_knee", (0.0, -0.40987, 0.0), 4),
    "left_toe": ("left_ankle", (0.1335, -0.05, 0.0), 0),
    "left_shoulder": ("chest", (-0.02405, 0.2435, -0.18311), 4),
    "left_elbow": ("left_shoulder", (0.0, -0.274788, 0.0), 1),
    "left_wrist": ("left_elbow", (0.0, -0.258947, 0.0), 0),
}
_WIDTH = 4 + sum(numbers for _, _, numbers in _JOINTS.values())


def read_deepmimic(path: Path) -> SkeletonMotion:
    """Read a motion of DeepMimic's humanoid: y up, ahead x, in metres.

    Raises:
        MultiQpError: when the file is no such motion, or its frames have different durations.
    """
    try:
        rows = json.loads(read_text(path))["Frames"]
        frames = np.array(rows, dtype=float)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MultiQpError(
            f"'{path}' is not a motion of DeepMimic: expected JSON with rows of numbers, `Frames`"
        ) from None
    if frames.ndim != 2 or frames.shape[1] != _WIDTH or len(frames) < 2 or not np.isfinite(frames).all():
        raise MultiQpError(f"'{path}': expected two rows or more of {_WIDTH} finite numbers, found {frames.shape}")
    dt = float(frames[0, 0])
    if not dt > 0.0 or np.abs(frames[:-1, 0] - dt).max() > 1e-3 * dt:
        raise MultiQpError(f"'{path}': expected frames of one duration above 0 s, found {dt:g} s and others")
    names, column = list(_JOINTS), 4
    parents = [names.index(parent) if parent else -1 for parent, _, _ in _JOINTS.values()]
    local = np.tile(np.eye(3), (len(frames), len(names), 1, 1))
    for k, (_, _, numbers) in enumerate(_JOINTS.values()):
        given = frames[:, column : column + numbers]
        if numbers == 4:
            if (norms := np.linalg.norm(given, axis=1)).min() < 0.5 or norms.max() > 2.0:
                raise MultiQpError(
                    f"'{path}': the quaternion of '{names[k]}' has a norm of {norms.min():.3g}, expected 1"
                )
            local[:, k] = Rotation.from_quat(given, scalar_first=True).as_matrix()
        elif numbers == 1:
            local[:, k] = Rotation.from_euler("z", given).as_matrix()
        column += numbers
    offsets = np.array([offset for _, offset, _ in _JOINTS.values()])
    positions, rotations = upright(*chained(parents, offsets, frames[:, 1:4], local))
    turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # ahead is its x, y after `upright`
    return SkeletonMotion(tuple(names), dt, positions @ turn.T, turn @ rotations, str(path))
