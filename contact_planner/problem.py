"""Planning problems and goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from contact_planner.candidates import CandidateWeights
from contact_planner.contact_changes import SearchSettings
from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class PlanningProblem:
    """Character, environment and settings of a planner.

    Attributes:
        character: name of the subsystem.
        limbs: full name of the surface at the end of each limb, by the limb's name.
        posture: nominal configuration: name of a posture, or the configuration, (nq,), whose base pose is ignored.
        faces: full names of the surfaces that may be touched; all planar ones of the environment by default.
        friction: Coulomb coefficient of faces that are not in `frictions`.
        frictions: Coulomb coefficients by full name of the face.
        slope: largest angle between the normal of a face and the vertical [rad].
        clearance: least distance to bodies that are not touched [m].
        apart: least distance to other characters whose surfaces are not in `faces` [m]; `clearance` by default.
        own: least distance between the self-collision pairs of the model file [m].
        helpers: limbs that make contact only if the others do not suffice, such as hands.
        least: number of other limbs that must have a face within reach along the path; all of them by default.
        low: lower bounds of x, y, z [m], roll, pitch, yaw [rad] of the base, (6,).
        high: upper bounds, (6,).
        budget: CPU time for planning, independent of other processes [s].
        seed: of the random numbers.
        candidate_weights: cost of candidate placements.
        model: name of a shipped model or path, written into the contact sequence.
        search: settings of the contact search.
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
    candidate_weights: CandidateWeights = CandidateWeights()
    search: SearchSettings = SearchSettings()
    model: str | None = None


@dataclass(frozen=True, eq=False)
class PlanningGoal:
    """Pose of the base to reach.

    Attributes:
        X_world_base: pose of the base.
        joints: nominal joint angles there, (nq - 7,) [rad]; those of the problem by default.
        contacts: limbs in contact there; all but helpers by default.
    """

    X_world_base: pin.SE3
    joints: Array | None = None
    contacts: frozenset[str] | None = None
