"""What is asked of the planner: who is to go where, on what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.candidates import Taste
from contact_planner.moves import SearchSettings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlanningProblem:
    """Who is to go where, on what.

    Attributes:
        character: name of the subsystem.
        limbs: full name of the surface at the end of each limb, by the limb's name.
        posture: the posture that it likes best: its name, or the configuration itself, (nq,), the base apart.
        faces: full names of the surfaces that may be touched; all planar ones of the environment if left out.
        friction: Coulomb coefficient of faces that `frictions` does not name.
        frictions: Coulomb coefficients by full name of the face.
        slope: steepest face that is used, by the angle of its normal from the vertical [rad].
        clearance: distance kept to what is not touched [m].
        apart: distance kept to other characters whose surfaces are not among `faces` [m]; `clearance` if left out.
        own: distance kept between those of its own bodies that its model file says to keep apart [m].
        helpers: limbs that touch only where the others alone are not enough, as hands do.
        least: how many limbs that are no helpers must have a face within reach along the path; all of them if left out.
        low: least x, y, z [m], roll, pitch, yaw [rad] of the base, (6,).
        high: the largest, (6,).
        budget: time for planning, of the processor: what else the machine does does not count [s].
        seed: of the search.
        taste: what makes a place for a contact good.
        model: of the character, a shipped model's name or a path, for who reads the plan's sequence.
        search: how contacts are searched.
    """

    character: str
    limbs: Mapping[str, str]
    posture: str | Array = "zero"
    faces: tuple[str, ...] | None = None
    friction: float = 0.7
    frictions: Mapping[str, float] = field(default_factory=dict)
    slope: float = 0.9
    clearance: float = 0.01
    apart: float | None = None
    own: float = 0.0
    helpers: tuple[str, ...] = ()
    least: int | None = None
    low: tuple[float, ...] = (-10.0, -10.0, -1.0, 0.0, 0.0, -np.pi)
    high: tuple[float, ...] = (10.0, 10.0, 10.0, 0.0, 0.0, np.pi)
    budget: float = 10.0
    seed: int = 0
    taste: Taste = Taste()
    search: SearchSettings = SearchSettings()
    model: str | None = None


@dataclass(frozen=True, eq=False)
class Goal:
    """Where the character is to be.

    Attributes:
        X_world_base: pose of the base.
        joints: angles of the posture that is liked there, (nq - 7,) [rad]; that of the problem if left out.
        contacts: limbs that touch there; those that are no helpers if left out.
    """

    X_world_base: pin.SE3
    joints: Array | None = None
    contacts: frozenset[str] | None = None
