"""Interface of the constraints of the QP (35): rows on q̈, and bounds on q̈ or τ."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contacts.contact import ActiveContact, JointGroups
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp.labels import LabelBlock
from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

#: Pairs of links, by name.
LinkPairs = frozenset[frozenset[str]]


class RowConstraint(Stateful, ABC):
    """Rows D q̈ >= d, some of which are active in a tick.

    Attributes:
        count: number of rows that the last `update` wrote.
        group: group of `fallback.relax` in which its rows get slack.
    """

    @dataclass
    class Checkpoint:
        """What the next tick depends on besides the state of the scene: nothing, unless a constraint extends it."""

    count = 0
    group: ClassVar[Literal["collisions", "limits", "balance"]] = "collisions"

    @property
    @abstractmethod
    def size(self) -> int:
        """Largest number of rows that can be active with the present contacts."""

    @abstractmethod
    def label(self) -> LabelBlock:
        """Return names and unit of the rows that the last `update` wrote, for the explanation of an infeasible QP."""

    @abstractmethod
    def update(self, kinematics: Kinematics, D: Array, d: Array) -> None:
        """Write the active rows of this tick and set `count`.

        Args:
            kinematics: kinematics at this tick.
            D: to fill from its first row on, (size or more, nv); its content on entry is undefined.
            d: to fill, (size or more,).
        """

    def set_contacts(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:  # noqa: B027
        """Update for another set of active contacts."""

    def exempt(self, links: LinkPairs, fixed: JointGroups = frozenset()) -> None:  # noqa: B027
        """Set the pairs without a row.

        Args:
            links: pairs of links that may touch: those in contact or in landing motion.
            fixed: joints whose bodies contacts fix relative to each other: no q̈ changes their distance.
        """

    def reset(self) -> None:  # noqa: B027
        """Discard data of the last tick, after a discontinuity of the state."""

    def snapshot(self) -> Self:
        """Return a copy with the labels of this tick."""
        return copy.copy(self)


class Bound(ABC):
    """Lower and upper bounds on entries of q̈ or τ.

    Attributes:
        acts_on: bounded quantity.
        constant: whether the bounds are the same at every tick; `update` is then called once.
        limited: whether each entry can be bounded, (nv,) or (na,).
    """

    acts_on: ClassVar[Literal["acceleration", "torque"]] = "acceleration"
    constant: ClassVar[bool] = False
    limited: NDArray[np.bool_]

    @abstractmethod
    def update(self, kinematics: Kinematics | None, lower: Array, upper: Array) -> None:
        """Narrow the bounds at this tick.

        Args:
            kinematics: kinematics at this tick; None where the bound is constant.
            lower: to raise, (nv,) or (na,).
            upper: to lower, (nv,) or (na,).
        """
