"""Construction of a controller: check of its arguments, and solve cascade."""

from __future__ import annotations

from multi_qp_controller.qp import make_solver
from multi_qp_controller.qp.choice import CONDENSED
from multi_qp_controller.qp.condensed import BlockSolver
from multi_qp_controller.qp.formulations import make_formulation
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.solve_cascade import SolveCascade
from multi_qp_scene.arguments import check_type, number
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import limit as limit_of
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.control import ClosedLoopSpec

#: Fallback formulation and solvers of the block solver; the last solver also solves the relaxed QP.
FALLBACK_FORMULATION, FALLBACK_SOLVERS = "reduced", ("piqp_sparse", "daqp")
#: Shortest control period, and deadline [s].
SHORTEST_PERIOD = 1e-6


def make_cascade(qp_data: QPData, formulation: str, solver: str, deadline: float | None) -> SolveCascade:
    """Return the solve cascade by the names of formulation and solver; deadline of a tick [s].

    Raises:
        MultiQpError: when the package of the solver is not installed.
    """
    # a tick may contain several attempts
    limit: dict[str, float] = {} if deadline is None else {"time_limit": 0.25 * deadline}
    block_solver = BlockSolver(qp_data) if formulation == CONDENSED else None
    names = (solver,) if block_solver is None else FALLBACK_SOLVERS
    general = make_formulation(formulation if block_solver is None else FALLBACK_FORMULATION, qp_data)
    try:
        solvers = tuple(make_solver(name, **limit) for name in names)
    except ImportError as error:
        raise MultiQpError(f"the solver '{solver}' is not installed: {error}") from None
    return SolveCascade(general, solvers, block_solver, time_limited=deadline is not None)


def check_arguments(
    scenario: Scenario, dt: object, solver: object, formulation: object, deadline: object, closed_loop: object
) -> None:
    """Check the arguments of `Controller`.

    Raises:
        MultiQpError: when an argument is invalid, or the scenario has no states.
    """
    check_type("scenario", scenario, Scenario, "a Scenario, as `load_scenario` returns it")
    if not scenario.spec.states:
        generated = "`motion_generation.state_generation.generate_states(scenario).scenario`"
        raise MultiQpError(f"scenario '{scenario.name}' has no states yet: use {generated}")
    if dt is not None:
        period = limit_of("period")
        number("dt", dt, unit="s", least=period.low, most=period.high)
    for name, value in (("solver", solver), ("formulation", formulation)):
        if value is not None:
            check_type(name, value, str, "a name")
    if deadline is not None:
        number("deadline", deadline, unit="s", least=SHORTEST_PERIOD)
    if closed_loop is not None:
        check_type(
            "closed_loop", closed_loop, ClosedLoopSpec, "a ClosedLoopSpec, as `scenario.spec.closed_loop` is one"
        )
