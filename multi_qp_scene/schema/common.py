"""Field types that model files and scenario files share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from multi_qp_scene.config_file import StrictModel

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Vector3 = tuple[float, float, float]


class PoseSpec(StrictModel):
    """A pose in space: position [m] and roll-pitch-yaw angles [rad].

    Attributes:
        xyz: position [m].
        rpy: roll, pitch, yaw about the fixed axes x, y, z, in this order [rad].
    """

    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
