"""Interface of formulations: conversion of `QPData` to a QP, and of its solution to physical quantities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.physical_solution import PhysicalSolution, Solved
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.solution import Solution

Array = NDArray[np.float64]


class QpSize(NamedTuple):
    """Size of (35) as counted in the paper, for any formulation: 3 equality rows per contact point."""

    variables: int
    equalities: int
    inequalities: int

    @classmethod
    def of(cls, qp_data: QPData) -> QpSize:
        """Return the size with the present contacts, without the rows on q̈, whose number varies.

        Inequalities are joint and torque limits, and Λ >= 0 except for couplings.
        """
        scene, contacts = qp_data.scene, qp_data.contacts
        return cls(
            variables=scene.nv + scene.na + contacts.n_lambda,
            equalities=scene.nv + contacts.paper_equalities,
            inequalities=int(qp_data.limited.sum()) + scene.na + contacts.bounded,
        )


class DegenerateError(ValueError):
    """The elimination of a formulation is singular."""


class Formulation(ABC):
    """One formulation of `QPData` as a QP.

    `prepare` allocates arrays for a set of contacts, `build` writes one tick into these arrays.
    """

    name: str

    def __init__(self, qp_data: QPData) -> None:
        self.qp_data = qp_data

    @abstractmethod
    def prepare(self) -> None:
        """Allocate for the present contacts of the QP data."""

    def limit_time(self) -> None:  # noqa: B027 - most have no own search
        """Limit the number of iterations of `solve` from now on, so that it takes at most about three usual ticks."""

    def solve(self, start: Solution | None, *, penalty: float | None = None) -> Solved | None:
        """Solve the tick by the formulation itself, with a warm start; None if it has no solver of its own.

        With a `penalty`, collision, balance and joint limits get a slack s each at a cost of ½ penalty s².
        """
        return None

    @abstractmethod
    def build(self) -> QPProblem:
        """Write the QP of this tick; its arrays are overwritten by the next.

        Raises:
            DegenerateError: if the elimination is singular.
        """

    @abstractmethod
    def recover(self, x: Array) -> PhysicalSolution:
        """Return the physical quantities of a solution; variables after those of the problem are ignored."""
