"""What the controller answers at every tick."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.drives import DriveReference

Array = NDArray[np.float64]


class Status(StrEnum):
    """How a command came about.

    OK: the QP was solved as stated. RELAXED: only with slack on collision and joint-limit rows. FALLBACK: not at all;
    the torques hold the last command, then damp to rest.
    """

    OK = "ok"
    RELAXED = "relaxed"
    FALLBACK = "fallback"


@dataclass(slots=True)  # frozen they would take twice as long to make, at every tick
class Diagnostics:
    """What happened in one tick.

    Attributes:
        status: how the command came about.
        message: what went wrong, empty if nothing.
        state: name of the FSM state.
        finished: whether that state ends the run.
        solver_status: what the solver said.
        iterations: of the solver.
        tick_ms: from state in to torque out [ms].
        settling_ms: what was settled after the answer before [ms]; part of `tick_ms` where `step` had to do it.
        solve_ms: of it, in the solver [ms].
        dynamics_residual: relative residual of (12).
        variables: of the QP, as the paper counts them.
        equalities: as the paper counts them.
        inequalities: as the paper counts them.
        slack: rows that were relaxed, with how much: name -> (slack, unit).
    """

    status: Status
    message: str = ""
    state: str = ""
    finished: bool = False
    solver_status: str = ""
    iterations: int = 0
    tick_ms: float = 0.0
    settling_ms: float = 0.0
    solve_ms: float = 0.0
    dynamics_residual: float = 0.0
    variables: int = 0
    equalities: int = 0
    inequalities: int = 0
    slack: dict[str, tuple[float, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Command:
    """One tick's answer.

    Attributes:
        time: of the state it answers [s].
        tau: torques, in the order of `Scene.actuated_joint_names`, (na,) [N m].
        a: q̈ that the QP chose, (nv,); NaN in a fallback, where nobody chose one.
        wrenches: by contact: force, then moment, at the first surface's origin, in its frame, on its body, (6,).
        diagnostics: what happened.
        couplings: force of each coupling on the joint that follows [N or N m], by that joint; empty in a fallback.
        drive: what drives add to τ until the next tick, or None.
    """

    time: float
    tau: Array
    a: Array
    wrenches: dict[str, Array]
    diagnostics: Diagnostics
    couplings: dict[str, float] = field(default_factory=dict)
    drive: DriveReference | None = None
