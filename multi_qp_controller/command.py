"""Command of one control tick: torques, accelerations, contact wrenches and diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from multi_qp_controller.closed_loop.joint_impedance import DriveReference
from multi_qp_scene.arrays import Array


class Status(StrEnum):
    """Level of degradation of a command.

    OK: the QP was solved. REDUCED: it was solved, but without tasks that are given up, or tasks or motion
    generators whose computation failed; the formulation `reduced` is something else.
    RELAXED: it was solved with slack on rows of `fallback.relax`, in the parts of the scene where it has no solution
    without. FALLBACK: it was not solved, or the state of a part of the scene is invalid: there, safe torques hold the
    last command, then damp to rest.
    """

    OK = "ok"
    REDUCED = "reduced"
    RELAXED = "relaxed"
    FALLBACK = "fallback"

    @property
    def failed(self) -> bool:
        """Whether the QP had no solution without slack."""
        return self in (Status.RELAXED, Status.FALLBACK)


@dataclass(slots=True)  # not frozen: construction, at every tick, would take twice as long
class Diagnostics:
    """Diagnostics of one tick.

    Attributes:
        status: level of degradation of the command.
        message: description of the fault, empty if there is none.
        state: name of the FSM state.
        finished: whether that state is final (without transitions).
        solver_status: status reported by the solver.
        iterations: number of solver iterations.
        tick_ms: time from state input to torque output [ms].
        post_update_ms: time of the previous `post_update` [ms]; included in `tick_ms` where `step` had to call it.
        solve_ms: share of `tick_ms` spent in the solver [ms].
        dynamics_residual: relative residual of (12).
        variables: number of QP variables, as counted in [Vaillant2015].
        equalities: number of equality rows, counted likewise.
        inequalities: number of inequality rows, counted likewise.
        slack: relaxed rows: name -> (slack, unit).
        given_up: tasks that were left out because the QP had no solution with them.
    """

    status: Status
    message: str = ""
    state: str = ""
    finished: bool = False
    solver_status: str = ""
    iterations: int = 0
    tick_ms: float = 0.0
    post_update_ms: float = 0.0
    solve_ms: float = 0.0
    dynamics_residual: float = 0.0
    variables: int = 0
    equalities: int = 0
    inequalities: int = 0
    slack: dict[str, tuple[float, str]] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()


@dataclass(slots=True)
class Command:
    """Command of one tick.

    Attributes:
        time: time of the state that the command was computed for [s].
        tau: torques, in the order of `Scene.actuated_joint_names`, (na,) [N m].
        a: q̈, the solution of the QP, (nv,); NaN in a fallback, where the torques are safe ones.
        wrenches: wrench of each contact: force, then moment, at the first surface's origin, in its frame, on its body,
            (6,).
        diagnostics: diagnostics of the tick.
        couplings: force of each coupling on its dependent joint [N or N m], by the name of that joint; empty in a
            fallback.
        drive: reference of the joint impedance, whose torques drives add to τ until the next tick, or None.
    """

    time: float
    tau: Array
    a: Array
    wrenches: dict[str, Array]
    diagnostics: Diagnostics
    couplings: dict[str, float] = field(default_factory=dict)
    drive: DriveReference | None = None
