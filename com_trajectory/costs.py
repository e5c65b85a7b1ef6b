"""Quadratic costs that select the transition point; a cost may also be a function of the user's.

Source: [Tonneau2018] section 7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import ContactPhase


@dataclass(frozen=True, eq=False)
class CostInput:
    """Inputs of a cost.

    Attributes:
        start: centre of mass before the transition, c⁽¹⁾, (3,) [m].
        before: the contacts until the transition.
        after: the contacts from then on.
        forward: horizontal unit vector along which the body faces, (3,).
        index: number of the transition in the sequence, from 0.
    """

    start: Array
    before: ContactPhase
    after: ContactPhase
    forward: Array
    index: int

    @property
    def right(self) -> Array:
        """Horizontal unit vector to the right of the body, (3,)."""
        return np.array([self.forward[1], -self.forward[0], 0.0])


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """½ cᵀ Q c + qᵀ c of the transition point c.

    Attributes:
        Q: positive semidefinite, (3, 3).
        q: (3,) [m].
    """

    Q: Array
    q: Array

    @classmethod
    def towards(cls, target: Array, weights: float | Array = 1.0) -> QuadraticCost:
        """Return half the squared distance to a target, (3,) [m], with one weight or one an axis."""
        Q = np.zeros((3, 3))
        Q.ravel()[::4] = weights
        return cls(Q, -Q @ target)

    def along(self, direction: ArrayLike, reward: float) -> QuadraticCost:
        """Return this cost less `reward` [m] times the place along a direction, (3,)."""
        return QuadraticCost(self.Q, self.q - reward * np.asarray(direction))


Cost = Callable[[CostInput], QuadraticCost]
"""Type of a cost, shipped or user-defined."""

_STRONG = 10.0  # [m] reward that no distance inside a robot's reach outweighs


def nearest(context: CostInput) -> QuadraticCost:
    """Distance to the previous point: the shortest path."""
    return QuadraticCost.towards(context.start)


def short_and_low(context: CostInput) -> QuadraticCost:
    """Short horizontal way and low height, with a small weight on the vertical distance."""
    return QuadraticCost.towards(context.start, np.array([1.0, 1.0, 0.1])).along([0.0, 0.0, -1.0], 0.02)


def alternating_sides(context: CostInput) -> QuadraticCost:
    """Alternating sides with growing amplitude: right at even transitions, left at odd ones."""
    side = 1.0 if context.index % 2 == 0 else -1.0
    return nearest(context).along(context.right, side * _STRONG)


def far_right(context: CostInput) -> QuadraticCost:
    """As far to the right of the body as possible."""
    return nearest(context).along(context.right, _STRONG)


def low(context: CostInput) -> QuadraticCost:
    """As low as possible."""
    return nearest(context).along([0.0, 0.0, -1.0], _STRONG)


COSTS: Mapping[str, Cost] = {
    "nearest": nearest,
    "short_and_low": short_and_low,
    "alternating_sides": alternating_sides,
    "far_right": far_right,
    "low": low,
}
"""The shipped costs by their name in options."""
