"""Field types that model files and scenario files share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from multi_qp_scene.config_file import StrictModel

Positive = Annotated[float, Field(gt=0)]
#: Longest control period [s]; one of 5 or of 33.3 was meant in milliseconds.
LONGEST_PERIOD = 0.5
Period = Annotated[float, Field(gt=0, le=LONGEST_PERIOD)]
NonNegative = Annotated[float, Field(ge=0)]
Vector3 = tuple[float, float, float]


def _switched(value: Any) -> Any:
    """Read 1 and 0 as true and false: parameters are numbers, and `${name}` may fill a switch."""
    return bool(value) if type(value) in (int, float) and value in (0, 1) else value


#: True or false, in a file also 1 or 0.
Switch = Annotated[bool, BeforeValidator(_switched)]


class PoseSpec(StrictModel):
    """A pose in space: position [m] and roll-pitch-yaw angles [rad].

    Attributes:
        xyz: position [m].
        rpy: roll, pitch, yaw about the fixed axes x, y, z, in this order [rad].
    """

    xyz: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
