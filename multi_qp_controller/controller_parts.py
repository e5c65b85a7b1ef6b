"""The parts that a controller is made of, from what its scenario says."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.constraints import BalanceConstraint, CollisionConstraint, JointLimitConstraint
from multi_qp_controller.formulations import Formulation, make_formulation
from multi_qp_controller.ladder import Ladder, Reserve
from multi_qp_controller.qp import make_solver
from multi_qp_controller.statement import Statement
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: What takes over where the condensed problem cannot be solved; the last of the solvers also solves it with slack.
RESERVE_FORMULATION, RESERVE_SOLVERS = "reduced", ("piqp_sparse", "daqp")


def statement_of(scenario: Scenario, collisions: CollisionConstraint, horizon: float) -> Statement:
    """Return the QP of a scenario, whose limits look `horizon` [s] ahead."""
    spec, scene = scenario.spec, scenario.scene
    limits = spec.joint_limits
    return Statement(
        scene,
        cost=spec.regularisation,
        joint_limits=JointLimitConstraint(
            scene.limits,
            scene.nv,
            dt=horizon,
            influence=limits.influence,
            security=limits.security,
            damping=limits.damping,
        ),
        collisions=collisions,
        balance=None if spec.balance is None else BalanceConstraint(scene, spec.balance),
    )


def ladder_of(
    statement: Statement, formulation: str, solver: str, deadline: float | None
) -> tuple[Formulation, Ladder]:
    """Return how the QP is written and solved, by the names of formulation and solver; deadline of a tick [s].

    Raises:
        MultiQpError: when there is no such solver or formulation.
    """
    # there may be several attempts in a tick
    limit: dict[str, float] = {} if deadline is None else {"time_limit": 0.25 * deadline}
    try:
        written = make_formulation(formulation, statement)
        first = make_solver(solver, **limit)
        reserve = None
        if formulation == "condensed":  # the others have no need of it
            others = tuple(make_solver(name, **limit) for name in RESERVE_SOLVERS)
            reserve = Reserve(make_formulation(RESERVE_FORMULATION, statement), others)
    except ValueError as error:
        raise MultiQpError(str(error)) from None
    except ImportError as error:
        raise MultiQpError(f"the solver '{solver}' is not installed: {error}") from None
    return written, Ladder(written, first, reserve, hurried=deadline is not None)


def describe_nan(scenario: Scenario, state: State) -> str:
    """Say where a state is not finite."""
    scene = scenario.scene
    bad = [scene.velocity_names[k] for k in np.flatnonzero(~np.isfinite(state.v))]
    for name, joint in zip(scene.joint_names, list(scene.model.joints)[1:], strict=True):
        if not np.isfinite(state.q[joint.idx_q : joint.idx_q + joint.nq]).all():
            bad.append(name)
    unique = list(dict.fromkeys(bad))
    more = f" and {len(unique) - 5} more" if len(unique) > 5 else ""
    return f"the state is not finite: {', '.join(unique[:5])}{more}"
