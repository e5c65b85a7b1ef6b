"""Formulations: ways to write the one statement as a QP. All give the same accelerations, torques and wrenches."""

from __future__ import annotations

from multi_qp_controller.formulations.base import DegenerateError, Formulation, QpSize
from multi_qp_controller.formulations.condensed import CondensedFormulation
from multi_qp_controller.formulations.full import FullFormulation
from multi_qp_controller.formulations.reduced import ReducedFormulation
from multi_qp_controller.physical import PhysicalSolution
from multi_qp_controller.statement import Statement

FORMULATIONS: dict[str, type[Formulation]] = {
    "full": FullFormulation,
    "reduced": ReducedFormulation,
    "condensed": CondensedFormulation,
}


def make_formulation(name: str, statement: Statement) -> Formulation:
    """Make a formulation by name.

    Raises:
        ValueError: naming the valid ones.
    """
    if name not in FORMULATIONS:
        raise ValueError(f"unknown formulation '{name}' (formulations: {', '.join(FORMULATIONS)})")
    return FORMULATIONS[name](statement)


__all__ = [
    "FORMULATIONS",
    "CondensedFormulation",
    "DegenerateError",
    "Formulation",
    "FullFormulation",
    "PhysicalSolution",
    "QpSize",
    "ReducedFormulation",
    "make_formulation",
]
