"""Solver backends by name."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from multi_qp_controller.qp.solvers.base import Solver

SOLVERS: dict[str, str] = {
    "daqp": "daqp:Daqp",
    "eiquadprog": "eiquadprog:Eiquadprog",
    "piqp": "piqp:Piqp",
    "piqp_sparse": "piqp_sparse:PiqpSparse",
    "proxqp": "proxqp:Proxqp",
    "quadprog": "quadprog:Quadprog",
}
"""Module and class of each solver; a backend is imported when it is created, so missing ones are no error."""

DEFAULT_SOLVER = "daqp"

__all__ = ["DEFAULT_SOLVER", "SOLVERS", "Solver", "make_solver", "solver_names"]


def solver_names() -> list[str]:
    """Return the valid names, sorted."""
    return sorted(SOLVERS)


def make_solver(name: str = DEFAULT_SOLVER, **settings: Any) -> Solver:
    """Return a new solver.

    Args:
        name: one of `solver_names()`.
        settings: keyword options of the solver's class.

    Raises:
        ValueError: for an unknown name; the message lists the valid ones.
        ImportError: if the backend's package is not installed.
        TypeError: for a setting that the solver does not have.
    """
    if name not in SOLVERS:
        close = get_close_matches(name, SOLVERS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"unknown solver {name!r}; valid: {', '.join(solver_names())}.{hint}")
    module, _, attribute = SOLVERS[name].partition(":")
    solver: Solver = getattr(import_module(f"{__name__}.{module}"), attribute)(**settings)
    return solver
