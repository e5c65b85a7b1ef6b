"""Schema of `config/sequences/*.yaml`: contacts, and the phases in which they are on."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3


def _unit(value: Vector3) -> Vector3:
    length = float(np.linalg.norm(value))
    if abs(length - 1.0) > 1e-6:
        raise ValueError(f"expected a vector of length 1, got one of length {length:.6g}")
    return value


class ContactSpec(StrictModel):
    """A surface of a body at one place; its pose is that of the surface frame, laid flush on what it touches.

    Attributes:
        surface: full name of the body's surface, `<subsystem>/<surface>`.
        xyz: place of the surface's origin in the world [m].
        normal: unit normal of what is touched, out of it; the surface's +z points the other way.
        forward: where the surface's +x points in the world; only its part along what is touched counts.
        friction: Coulomb coefficient; the sequence's if left out.
        size: extent of a planar surface along its x and y [m]; the model's if left out. [0, 0] is a point.
        other: full name of the surface that is touched, if a scenario has it.
    """

    surface: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
    xyz: Vector3
    normal: Annotated[Vector3, AfterValidator(_unit)] = (0.0, 0.0, 1.0)
    forward: Vector3 = (1.0, 0.0, 0.0)
    friction: NonNegative | None = None
    size: tuple[NonNegative, NonNegative] | None = None
    other: str | None = None


class PhaseSpec(StrictModel):
    """A time during which the contacts stay the same.

    Attributes:
        contacts: names of the contacts that are on, at least one.
        name: for people.
        com: centre of mass [m] by subsystem at some instant of the phase, where it is known.
        duration: how long it should last [s], if that is known.
    """

    contacts: Annotated[list[str], Field(min_length=1)]
    name: str = ""
    com: dict[str, Vector3] = {}
    duration: Positive | None = None


class SequenceFile(StrictModel):
    """A contact sequence.

    Attributes:
        description: one line for people.
        models: model of each subsystem: a shipped model's name or a path from this file. Its surfaces give the extents.
        friction: Coulomb coefficient of the contacts that name none.
        contacts: contacts by name.
        phases: the phases in their order, at least one.
    """

    description: str = ""
    models: dict[str, str] = {}
    friction: NonNegative = 0.5
    contacts: dict[str, ContactSpec]
    phases: Annotated[list[PhaseSpec], Field(min_length=1)]
