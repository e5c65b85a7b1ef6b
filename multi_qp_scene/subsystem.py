"""Subsystems of a scene: characters, objects, articulated parts and environment models."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class SubsystemKind(StrEnum):
    """Kind of a subsystem: character, object, articulated part or environment."""

    CHARACTER = "character"
    OBJECT = "object"
    ARTICULATED = "articulated"
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class PassiveJoints:
    """Springs, dampers and dry friction of joints; one entry per joint.

    Attributes:
        v_index: index in v, (k,).
        q_index: index in q, (k,).
        stiffness: [N m/rad], (k,).
        rest: angle at which the spring is relaxed [rad], (k,).
        damping: [N m s/rad], (k,).
        friction: dry friction [N m], (k,).
        continuous: whether q holds (cos, sin) of the joint's angle, (k,).
    """

    v_index: NDArray[np.intp]
    q_index: NDArray[np.intp]
    stiffness: NDArray[np.float64]
    rest: NDArray[np.float64]
    damping: NDArray[np.float64]
    friction: NDArray[np.float64]
    continuous: NDArray[np.bool_]

    #: Speed over which dry friction is smoothed [rad/s].
    SMOOTHING = 0.01

    def resistance(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the generalised resistance force of these joints, (k,) [N m]; it adds to N in (12)."""
        speed = v[self.v_index]
        stretch = q[self.q_index] - self.rest
        if self.continuous.any():  # shortest difference
            cos, sin = q[self.q_index[self.continuous]], q[self.q_index[self.continuous] + 1]
            turned = np.arctan2(sin, cos) - self.rest[self.continuous]
            stretch[self.continuous] = np.arctan2(np.sin(turned), np.cos(turned))
        spring = self.stiffness * stretch
        return spring + self.damping * speed + self.friction * np.tanh(speed / self.SMOOTHING)

    def __len__(self) -> int:
        return len(self.v_index)


@dataclass(frozen=True)
class Subsystem:
    """One subsystem and its indices in the scene's model.

    Attributes:
        name: its name, the prefix of all its names in the model.
        kind: character, object, articulated part or environment.
        color: tint (red, green, blue) in 0..1, or None.
        q_slice: its entries in q.
        v_slice: its entries in v.
        root_joints: joints whose parent is the universe.
        floating: whether its root joint is a free-flyer.
        mass: [kg].
        actuated: indices of its motors in τ, (k,).
        links: full names of its links.
        postures: named configurations of its joints, (q_slice,) each; with the initial pose of a free-flyer.
        base_link: full name of its root link.
    """

    name: str
    kind: SubsystemKind
    color: tuple[float, float, float] | None
    q_slice: slice
    v_slice: slice
    root_joints: tuple[int, ...]
    floating: bool
    mass: float
    actuated: NDArray[np.intp]
    links: tuple[str, ...]
    postures: dict[str, NDArray[np.float64]]
    base_link: str

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.v_slice.stop - self.v_slice.start

    @property
    def joint_v_slice(self) -> slice:
        """Its entries in v without the free-flyer."""
        return slice(self.v_slice.start + (6 if self.floating else 0), self.v_slice.stop)
