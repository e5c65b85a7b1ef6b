"""Field types shared by the schemas of all file types."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.limits import Within

# Numbers without a physical dimension, or with an uncommon one.
Number = Annotated[float, Within("number", signed=True)]
Positive = Annotated[float, Field(gt=0), Within("number")]
NonNegative = Annotated[float, Field(ge=0), Within("number", zero=True)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Friction = Annotated[float, Field(gt=0), Within("friction")]
FrictionOrNone = Annotated[float, Field(ge=0), Within("friction", zero=True)]
Mass = Annotated[float, Field(gt=0), Within("mass")]  # [kg]
MassOrNone = Annotated[float, Field(ge=0), Within("mass", zero=True)]  # [kg]
Force = Annotated[float, Field(gt=0), Within("force")]  # [N], [N m]
ForceOrNone = Annotated[float, Field(ge=0), Within("force", zero=True)]  # [N], [N m]
Length = Annotated[float, Field(gt=0), Within("length")]  # [m]
Distance = Annotated[float, Field(ge=0), Within("length", zero=True)]  # [m]
Coordinate = Annotated[float, Within("position", signed=True)]  # [m]
Angle = Annotated[float, Within("angle", signed=True)]  # or the position of a joint [rad], [m]
Spread = Annotated[float, Field(ge=0), Within("angle", zero=True)]  # [rad], [m]
Tolerance = Annotated[float, Field(gt=0), Within("angle")]  # [rad], [m]
Speed = Annotated[float, Field(gt=0), Within("speed")]  # [m/s], [rad/s]
Velocity = Annotated[float, Within("speed", signed=True)]  # [m/s], [rad/s]
Duration = Annotated[float, Field(gt=0), Within("time")]  # [s]
Time = Annotated[float, Field(ge=0), Within("time", zero=True)]  # [s]
Period = Annotated[float, Field(gt=0), Within("period")]  # [s]
Seed = Annotated[int, Within("seed", signed=True)]
Factor = Annotated[float, Field(gt=0), Within("scale")]
Factors = tuple[Factor, Factor, Factor]
Color = tuple[Fraction, Fraction, Fraction]
Vector2 = tuple[Coordinate, Coordinate]
Vector3 = tuple[Coordinate, Coordinate, Coordinate]
Rpy = tuple[Angle, Angle, Angle]


def _switched(value: Any) -> Any:
    """Convert 1 and 0 to true and false: parameters are numbers, and `${name}` may be the value of a switch."""
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
    rpy: Rpy = (0.0, 0.0, 0.0)
