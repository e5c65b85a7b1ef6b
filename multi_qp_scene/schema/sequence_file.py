"""Schema of `config/sequences/*.yaml`: contacts and contact phases."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Distance, Duration, FrictionOrNone, Vector3


def _unit(value: Vector3) -> Vector3:
    length = float(np.linalg.norm(value))
    if abs(length - 1.0) > 1e-6:
        raise ValueError(f"expected a vector of length 1, got one of length {length:.6g}")
    return value


class SequenceContactSpec(StrictModel):
    """A surface of a body at a fixed placement, aligned with the touched surface.

    Attributes:
        surface: full name of the body's surface, `<subsystem>/<surface>`.
        xyz: position of the surface's origin in the world [m].
        normal: outward unit normal of the touched surface; the surface's +z points the other way.
        forward: direction of the surface's +x in the world; projected onto the tangent plane.
        friction: Coulomb coefficient; the sequence's if left out.
        size: extent of a planar surface along its x and y [m]; the model's if left out. [0, 0] is a point.
        other: full name of the touched surface, if it is in a scenario.
    """

    surface: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
    xyz: Vector3
    normal: Annotated[Vector3, AfterValidator(_unit)] = (0.0, 0.0, 1.0)
    forward: Vector3 = (1.0, 0.0, 0.0)
    friction: FrictionOrNone | None = None
    size: tuple[Distance, Distance] | None = None
    other: str | None = None


class PhaseSpec(StrictModel):
    """A time interval with a constant contact set.

    Attributes:
        contacts: names of the active contacts, at least one.
        name: name for messages.
        com: centre of mass [m] by subsystem at an instant of the phase, if known.
        duration: nominal duration [s], if known.
    """

    contacts: Annotated[list[str], Field(min_length=1)]
    name: str = ""
    com: dict[str, Vector3] = {}
    duration: Duration | None = None


class SequenceFile(StrictModel):
    """A contact sequence.

    Attributes:
        description: one line of text.
        models: model of each subsystem: a shipped model's name or a path from this file. Their surfaces give the sizes.
        friction: Coulomb coefficient of contacts without a value of their own.
        contacts: contacts by name.
        phases: the phases in their order, at least one.
    """

    description: str = ""
    models: dict[str, str] = {}
    friction: FrictionOrNone = 0.5
    contacts: dict[str, SequenceContactSpec]
    phases: Annotated[list[PhaseSpec], Field(min_length=1)]
