"""State of a controller between two ticks, and the input of a tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from multi_qp_controller.closed_loop.closed_loop import ClosedLoop
from multi_qp_controller.qp.safe_torques import SafeTorques
from multi_qp_controller.state_machine.state_manager import StateManager
from multi_qp_controller.tasks.given_up import GivenUpTasks
from multi_qp_scene.arrays import Array
from multi_qp_scene.loads import Loads
from multi_qp_scene.scene import State


@dataclass
class ControllerState:
    """Everything that the next step of a controller depends on besides its arguments.

    Each part is a copy of the `Checkpoint` of a component, see `Stateful`. `plain` converts it to data for a file.

    Attributes:
        time: time of the last step [s].
        fault: failure of the last `post_update`, which the next step reports; empty if there was none.
        interactive: whether a user is present.
        state_manager: state machine, contacts, tasks, constraints and solvers.
        safe_torques: torques and start of a failure.
        given_up: tasks that are given up.
        closed_loop: filters.
        loads: masses of the scene's loads.
        forces: measured normal force of each contact [N]; None before the first measurement.
        valid_q: last valid configuration, (nq,); None before the first one.
        lost: subsystems whose state was invalid in the last step.
    """

    time: float
    fault: str
    interactive: bool
    state_manager: StateManager.Checkpoint
    safe_torques: SafeTorques.Checkpoint
    given_up: GivenUpTasks.Checkpoint
    closed_loop: ClosedLoop.Checkpoint
    loads: Loads.Checkpoint
    forces: dict[str, float] | None
    valid_q: Annotated[Array, "nq"] | None
    lost: list[str]


@dataclass(frozen=True)
class TickInput:
    """Everything that one step of a controller depends on.

    Attributes:
        state: argument of the step.
        time: argument of the step [s].
        controller_state: state of the controller before the step; as plain data if it was read from a file.
    """

    state: State
    time: float
    controller_state: ControllerState | dict[str, Any]
