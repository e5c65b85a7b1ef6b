"""Valid names of formulations and solvers, and the pairs of them that fit."""

from __future__ import annotations

from collections.abc import Iterable

from multi_qp_controller.qp.formulations import FORMULATIONS
from multi_qp_controller.qp.solvers import DEFAULT_SOLVER, SOLVERS
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.suggestions import unknown_name

#: The formulation of the block solver, and the name of its solver: neither is used without the other.
CONDENSED, ACTIVE_SET = "condensed", "active_set"
FORMULATION_NAMES = (*FORMULATIONS, CONDENSED)
SOLVER_NAMES = tuple(sorted((ACTIVE_SET, *SOLVERS)))
#: Formulation of a solver that is chosen without one.
_DEFAULT_FORMULATION = "reduced"

Choice = tuple[str | None, str | None]


def choose(chosen: Choice, default: Choice = (None, None)) -> tuple[str, str]:
    """Return the names of formulation and solver; the fastest if nothing is chosen.

    Args:
        chosen: names of formulation and solver, None where not chosen.
        default: names that replace the missing ones where they fit the others.

    Raises:
        MultiQpError: for an unknown name, or a formulation that the solver does not solve.
    """
    formulation, solver = chosen
    if formulation is None and solver is None:
        formulation, solver = default
    elif formulation is None:
        formulation = default[0] if _fit(default[0], solver) else None
    elif solver is None:
        solver = default[1] if _fit(formulation, default[1]) else None
    if formulation is None:
        formulation = CONDENSED if solver in (None, ACTIVE_SET) else _DEFAULT_FORMULATION
    if solver is None:
        solver = ACTIVE_SET if formulation == CONDENSED else DEFAULT_SOLVER
    _require_known("formulation", formulation, FORMULATION_NAMES)
    _require_known("solver", solver, SOLVER_NAMES)
    if not _fit(formulation, solver):
        raise MultiQpError(
            f"formulation '{formulation}' with solver '{solver}': '{CONDENSED}' is solved by '{ACTIVE_SET}' only, "
            f"{' and '.join(FORMULATIONS)} by {', '.join(SOLVERS)}"
        )
    return formulation, solver


def _fit(formulation: str | None, solver: str | None) -> bool:
    return (formulation == CONDENSED) == (solver == ACTIVE_SET)


def _require_known(kind: str, name: str, valid: Iterable[str]) -> None:
    if name not in valid:
        raise MultiQpError(unknown_name(kind, name, valid))
