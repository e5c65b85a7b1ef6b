"""What a formulation does: from the statement to a QP, and from its solution back to physics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution
from multi_qp_controller.statement import Statement

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QpSize:
    """Size of (35) as the paper counts it, whatever the formulation: 3 equality rows a contact point."""

    variables: int
    equalities: int
    inequalities: int

    @classmethod
    def of(cls, statement: Statement) -> QpSize:
        """Count the QP of this tick.

        Inequalities are active damper rows, joint and torque limits, and Λ >= 0 where it is not a coupling's.
        """
        scene, contacts = statement.scene, statement.contacts
        return cls(
            variables=scene.nv + scene.na + contacts.n_lambda,
            equalities=scene.nv + contacts.paper_equalities,
            inequalities=statement.joint_limits.count + scene.na + contacts.bounded + statement.row_count,
        )


@dataclass(frozen=True)
class PhysicalSolution:
    """What the QP decided.

    Attributes:
        acceleration: q̈, (nv,).
        torque: τ, (na,) [N m].
        reactions: force along each no-slip row: wrenches of the contacts, then forces of couplings, (m,) [N, N m].
    """

    acceleration: Array
    torque: Array
    reactions: Array


class DegenerateError(ValueError):
    """The problem cannot be written this way: what it eliminates does not determine what it should."""


class Formulation(ABC):
    """One way to write the statement as a QP.

    `prepare` allocates for a set of contacts, `build` writes one tick into those arrays.
    """

    name: str

    def __init__(self, statement: Statement) -> None:
        self.statement = statement

    @abstractmethod
    def prepare(self) -> None:
        """Allocate for the statement's present contacts."""

    def free(self) -> Solution | None:
        """Return the optimum without inequalities where it keeps them all and is cheaper found here, else None.

        Raises:
            DegenerateError: when the problem cannot be written this way.
        """
        return None

    @abstractmethod
    def build(self) -> Problem:
        """Write the QP of this tick; its arrays are reused by the next.

        Raises:
            DegenerateError: when it cannot be written this way.
        """

    @abstractmethod
    def recover(self, x: Array) -> PhysicalSolution:
        """Return what the solution means; extra variables after the problem's own are ignored."""
