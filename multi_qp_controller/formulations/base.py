"""What a formulation does: from the statement to a QP, and from its solution back to physics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.physical import PhysicalSolution, Solved
from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution
from multi_qp_controller.statement import Statement

Array = NDArray[np.float64]


class QpSize(NamedTuple):
    """Size of (35) as the paper counts it, whatever the formulation: 3 equality rows a contact point."""

    variables: int
    equalities: int
    inequalities: int

    @classmethod
    def of(cls, statement: Statement) -> QpSize:
        """Count the QP under the present contacts, without the rows on q̈, which come and go.

        Inequalities are joint and torque limits, and Λ >= 0 where it is not a coupling's.
        """
        scene, contacts = statement.scene, statement.contacts
        return cls(
            variables=scene.nv + scene.na + contacts.n_lambda,
            equalities=scene.nv + contacts.paper_equalities,
            inequalities=statement.joint_limits.count + scene.na + contacts.bounded,
        )


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

    def hurry(self) -> None:  # noqa: B027 - most have no search of their own
        """Bound the time that `solve` takes, from now on: it gives up where it would take as long as some ticks."""

    def solve(self, start: Solution | None, *, price: float | None = None) -> Solved | None:
        """Solve the tick without a solver, from the active rows of an earlier one; None where there is no such way.

        With a `price`, collision, balance and joint limits may give way: ½ price s² for each s by which one does.
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
