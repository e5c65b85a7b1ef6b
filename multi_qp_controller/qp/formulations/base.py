"""Interface of formulations: conversion of `QPData` to a QP, and of its solution to physical quantities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_scene.arrays import Array


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

    @abstractmethod
    def build(self) -> QPProblem:
        """Write the QP of this tick; its arrays are overwritten by the next."""

    @abstractmethod
    def recover(self, x: Array) -> PhysicalSolution:
        """Return the physical quantities of a solution; variables after those of the problem are ignored."""
