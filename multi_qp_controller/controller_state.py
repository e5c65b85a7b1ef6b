"""Saved controller state: everything that carries over from one tick to the next, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.scene import State

Array = NDArray[np.float64]

#: Nested mappings with text keys, lists, numbers, text, None and float64 arrays. Arrays are shared with the component
#: that returned them, not copied, and never written to again: `get_state` is cheap; do not modify its result.
SavedState = dict[str, Any]


@dataclass(frozen=True)
class TickInput:
    """Everything that one step of a controller depends on.

    Attributes:
        state: argument of the step.
        time: argument of the step [s].
        controller_state: state of the controller before the step.
    """

    state: State
    time: float
    controller_state: SavedState


def array_of(value: Any, *shape: int | None) -> Array:
    """Return an array of a saved state, which may come from a file, after a check: compiled code relies on its shape.

    Args:
        value: value to check.
        shape: required shape; None for any length.

    Raises:
        ValueError: when it is not a float64 array of this shape.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != len(shape):
        raise ValueError(f"expected an array of shape {shape}, got {type(value).__name__}")
    if any(wanted not in (None, size) for wanted, size in zip(shape, value.shape, strict=True)):
        raise ValueError(f"expected an array of shape {shape}, got {value.shape}")
    return np.ascontiguousarray(value)


def saved_pose(pose: pin.SE3) -> SavedState:
    """Return position and rotation of a pose, bit for bit."""
    return {"position": np.array(pose.translation), "rotation": np.array(pose.rotation)}


def pose_of(saved: SavedState) -> pin.SE3:
    """Return the pose of which `saved_pose` returned the state."""
    return pin.SE3(array_of(saved["rotation"], 3, 3), array_of(saved["position"], 3))
