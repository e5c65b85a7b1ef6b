"""What a controller remembers from one tick to the next, as plain data: taken out, kept, put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.scene import State

Array = NDArray[np.float64]

#: Nested mappings with text keys, lists, numbers, text, None and float64 arrays. Its arrays are shared with whoever
#: gave it and are never written to again: it is cheap to take, and must not be changed.
Memory = dict[str, Any]


@dataclass(frozen=True)
class TickInput:
    """Everything that one step of a controller depends on.

    Attributes:
        state: that was given.
        time: that was given [s].
        memory: of the controller, before the step.
    """

    state: State
    time: float
    memory: Memory


def pose_memory(pose: pin.SE3) -> Memory:
    """Return a pose, digit for digit."""
    return {"position": np.array(pose.translation), "rotation": np.array(pose.rotation)}


def pose_of(memory: Memory) -> pin.SE3:
    """Return the pose that `pose_memory` kept."""
    return pin.SE3(memory["rotation"], memory["position"])
