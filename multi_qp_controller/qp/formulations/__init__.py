"""QP formulations of `QPData` for general solvers; all give the same accelerations, torques and wrenches."""

from __future__ import annotations

from multi_qp_controller.qp.formulations.base import Formulation, QpSize
from multi_qp_controller.qp.formulations.full import FullFormulation
from multi_qp_controller.qp.formulations.reduced import ReducedFormulation
from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.qp.qp_data import QPData

FORMULATIONS: dict[str, type[Formulation]] = {
    "full": FullFormulation,
    "reduced": ReducedFormulation,
}


def make_formulation(name: str, qp_data: QPData) -> Formulation:
    """Return a new formulation.

    Raises:
        ValueError: for an unknown name; the message lists the valid ones.
    """
    if name not in FORMULATIONS:
        raise ValueError(f"unknown formulation '{name}' (formulations: {', '.join(FORMULATIONS)})")
    return FORMULATIONS[name](qp_data)


__all__ = [
    "FORMULATIONS",
    "Formulation",
    "FullFormulation",
    "PhysicalSolution",
    "QpSize",
    "ReducedFormulation",
    "make_formulation",
]
