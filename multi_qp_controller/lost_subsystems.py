"""Ticks in which the state of some subsystems is invalid: the others keep their commands from the QP."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command, Status
from multi_qp_controller.contacts.rows import ContactRows
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.relaxation import components
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene, State


@dataclass(frozen=True)
class LostSubsystems:
    """Subsystems whose state is invalid.

    Attributes:
        names: their names.
        measured: the state with NaN in invalid entries.
        fault: description of what is invalid.
        entries: flags of their entries of v, (nv,).
    """

    names: frozenset[str]
    measured: State
    fault: str
    entries: NDArray[np.bool_]

    @classmethod
    def of(cls, scene: Scene, measured: State, fault: str) -> LostSubsystems:
        """Return the subsystems with an entry of q or v that is NaN."""
        entries, names = np.zeros(scene.nv, dtype=bool), []
        for name, subsystem in scene.subsystems.items():
            if np.isnan(measured.q[subsystem.q_slice]).any() or np.isnan(measured.v[subsystem.v_slice]).any():
                names.append(name)
                entries[subsystem.v_slice] = True
        return cls(frozenset(names), measured, fault, entries)

    def bridged(self, scene: Scene, q: Array) -> State:
        """Return the state with these subsystems at rest in an earlier configuration, (nq,)."""
        state = State(self.measured.q.copy(), np.where(self.entries, 0.0, self.measured.v))
        for name in self.names:
            own = scene.subsystems[name].q_slice
            state.q[own] = q[own]
        return state

    def connected(self, qp_data: QPData) -> NDArray[np.bool_]:
        """Return the flags of the entries of v that depend on these subsystems by rows of the QP, (nv,)."""
        component = components(qp_data)
        return np.isin(component, component[self.entries])


def replace_lost(
    command: Command, lost: LostSubsystems, entries: NDArray[np.bool_], safe: Array, scene: Scene, contacts: ContactRows
) -> Command:
    """Return the command with safe torques for a part of the scene.

    Args:
        command: solution of the QP with the lost subsystems at rest.
        lost: the subsystems without a valid state.
        entries: flags of the entries of v of that part, (nv,).
        safe: safe torques, (na,).
        scene: the scene.
        contacts: rows of the contacts of the command.
    """
    motors = entries[scene.actuated_v]
    names = {name for name, one in scene.subsystems.items() if entries[one.v_slice].any()}
    kept = {
        contact.name
        for contact in contacts.contacts
        if not any(surface.name.split("/")[0] in names for surface in (contact.first, contact.second))
    }
    drive = command.drive
    if drive is not None:
        drive = replace(
            drive, stiffness=np.where(motors, 0.0, drive.stiffness), damping=np.where(motors, 0.0, drive.damping)
        )
    diagnostics = command.diagnostics
    diagnostics.status = Status.FALLBACK
    found = f"{lost.fault}; safe torques for {', '.join(sorted(names))} only"
    diagnostics.message = "; ".join(filter(None, [found, diagnostics.message]))
    return Command(
        time=command.time,
        tau=np.where(motors, safe, command.tau),
        a=np.where(entries, np.nan, command.a),
        wrenches={name: wrench for name, wrench in command.wrenches.items() if name in kept},
        diagnostics=diagnostics,
        couplings={joint: force for joint, force in command.couplings.items() if joint.split("/")[0] not in names},
        drive=drive,
    )
