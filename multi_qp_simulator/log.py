"""Log of a run, sufficient to recompute the equation of motion with pinocchio alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command
from multi_qp_scene.arrays import Array
from multi_qp_scene.npz_files import read_arrays
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome

#: Largest size of the arrays of a log, uncompressed, that is read [B].
LARGEST = 4 << 30
#: Description of the expected file in error messages.
WHAT = "a log: expected an .npz file of `multi-qp run --log`"
#: Columns of `Log.qp_size`.
QP_SIZE = ("variables", "equalities", "inequalities")


@dataclass(frozen=True)
class Log:
    """Time series of a run; T ticks, C contacts of the scenario, K couplings of joints, P parts of tasks.

    Attributes:
        time: of the state [s], (T,).
        q: configuration, (T, nq).
        v: velocity, (T, nv).
        a: subsequent acceleration, (T, nv).
        tau: torques, (T, na) [N m].
        state: name of the FSM state, (T,).
        contact_names: names of all contacts, (C,).
        contact_active: whether each is active, (T, C).
        contact_wrench: force, then moment, at the first surface's origin, in its frame, on its body, (T, C, 6).
        contact_surfaces: first and second surface of each, also names of frames in the model, (C, 2).
        contact_friction: Coulomb coefficient of each, (C,).
        coupling_names: joints coupled to another one, (K,).
        coupling_force: force of each coupling on the following joint, (T, K) [N or N m]; NaN where the backend does not
            provide it. The force on the leader is −multiplier times it.
        coupling_jacobian: row of each coupling, 1 at the joint and −multiplier at its leader, (K, nv); its transpose
            maps the forces into the equation of motion.
        joint_names: of the model, without the universe.
        actuated_joint_names: the order of tau.
        subsystem_names: in the order of q.
        load_names: names of the variable loads, (L,).
        load_mass: their masses, (T, L) [kg]; the model's inertias are those of the loads' masses.
        tick_ms: duration of the controller's tick, from state to torque, (T,) [ms]; not reproducible.
        task_names: parts of all tasks that were active, "<task>" or "<task>/position" and "<task>/rotation", (P,).
        task_units: their units, (P,).
        task_error: norm of each error, (T, P); NaN where the task is not active.
        qp_size: variables, equalities and inequalities of the QP as the paper counts them, (T, 3).
        scenario: JSON of the scenario's name, parameters, seed and time step.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    state: NDArray[np.str_]
    contact_names: NDArray[np.str_]
    contact_active: NDArray[np.bool_]
    contact_wrench: Array
    contact_surfaces: NDArray[np.str_]
    contact_friction: Array
    coupling_names: NDArray[np.str_]
    coupling_force: Array
    coupling_jacobian: Array
    joint_names: NDArray[np.str_]
    actuated_joint_names: NDArray[np.str_]
    subsystem_names: NDArray[np.str_]
    load_names: NDArray[np.str_]
    load_mass: Array
    tick_ms: Array
    task_names: NDArray[np.str_]
    task_units: NDArray[np.str_]
    task_error: Array
    qp_size: NDArray[np.int_]
    scenario: NDArray[np.str_]

    def save(self, path: str | Path | BinaryIO) -> None:
        """Write an .npz file, also into an open one; reproducible to the byte except for `tick_ms`."""
        np.savez_compressed(path, **{name: getattr(self, name) for name in self.__dataclass_fields__})

    def task_errors(self) -> dict[str, dict[str, float | str]]:
        """Return of each part of a task: unit, RMS, largest error, its time [s], and error in its last tick."""
        found: dict[str, dict[str, float | str]] = {}
        names, units = self.task_names.tolist(), self.task_units.tolist()
        for name, unit, errors in zip(names, units, self.task_error.T, strict=True):
            active = np.flatnonzero(np.isfinite(errors))
            if not len(active):
                continue
            own = errors[active]
            found[name] = {
                "unit": unit,
                "rms": float(np.sqrt(np.mean(own**2))),
                "largest": float(own.max()),
                "time": float(self.time[active[own.argmax()]]),
                "last": float(own[-1]),
            }
        return found

    @classmethod
    def load(cls, path: str | Path, *, largest: int = LARGEST) -> Log:
        """Read what `save` wrote.

        Args:
            path: of the file.
            largest: size of all arrays together, uncompressed [B].

        Raises:
            MultiQpError: if the file cannot be read, is not a log, or is too large.
        """
        return cls(**read_arrays(Path(path), cls.__dataclass_fields__, what=WHAT, largest=largest))


class LogRecorder:
    """Recorder of a log during a run."""

    def __init__(self, scenario: Scenario, dt: float) -> None:
        self._scenario = scenario
        self._dt = dt
        self._contacts = {name: k for k, name in enumerate(scenario.spec.contacts)}
        self._rows: list[dict[str, Any]] = []
        self._units: dict[str, str] = {}
        self._errors: list[dict[str, float]] = []

    def record(self, state: State, command: Command, outcome: Outcome, errors: Mapping[str, tuple[float, str]]) -> None:
        """Append one tick; `errors` are those of the active tasks, see `Task.errors`."""
        scene = self._scenario.scene
        active = np.zeros(len(self._contacts), dtype=bool)
        wrench = np.zeros((len(self._contacts), 6))
        for name, value in outcome.wrenches.items():
            active[self._contacts[name]] = True
            wrench[self._contacts[name]] = value
        for name, (_, unit) in errors.items():
            self._units.setdefault(name, unit)
        self._errors.append({name: error for name, (error, _) in errors.items()})
        self._rows.append(
            {
                "time": command.time,
                "q": state.q,
                "v": state.v,
                "a": outcome.acceleration,
                "tau": command.tau,
                "state": command.diagnostics.state,
                "contact_active": active,
                "contact_wrench": wrench,
                "coupling_force": [outcome.couplings.get(name, np.nan) for name in scene.couplings.names],
                "load_mass": list(scene.loads.masses.values()),
                "tick_ms": command.diagnostics.tick_ms,
                "qp_size": [getattr(command.diagnostics, name) for name in QP_SIZE],
            }
        )

    def __len__(self) -> int:
        """Return the number of ticks so far."""
        return len(self._rows)

    def log(self, ticks: slice = slice(None)) -> Log:
        """Return the log of all ticks so far, or of some of them; also from another thread during the run."""
        scenario, scene = self._scenario, self._scenario.scene
        contacts = scenario.spec.contacts
        rows = self._rows[ticks]  # before the errors, then the units: `record` appends to them in the opposite order
        errors = self._errors[ticks][: len(rows)]
        units = dict(self._units)
        about = {
            "name": scenario.name,
            "parameters": scenario.parameters,
            "seed": scenario.seed,
            "dt": self._dt,
        }
        return Log(
            **self._columns(rows),
            task_names=np.array(list(units), dtype=str),
            task_units=np.array(list(units.values()), dtype=str),
            task_error=_task_errors(errors, list(units)),
            contact_names=np.array(list(contacts), dtype=str),
            contact_surfaces=np.array([c.surfaces for c in contacts.values()], dtype=str).reshape(len(contacts), 2),
            contact_friction=np.array([c.friction for c in contacts.values()], dtype=float),
            coupling_names=np.array(scene.couplings.names, dtype=str),
            coupling_jacobian=scene.couplings.J.copy(),
            joint_names=np.array(scene.joint_names, dtype=str),
            actuated_joint_names=np.array(scene.actuated_joint_names, dtype=str),
            subsystem_names=np.array(list(scene.subsystems), dtype=str),
            load_names=np.array(list(scene.loads.masses), dtype=str),
            scenario=np.array(json.dumps(about, sort_keys=True)),
        )

    def _columns(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the time series, with their shapes even without ticks."""
        scene, contacts, loads = self._scenario.scene, len(self._contacts), self._scenario.scene.loads.masses
        shapes: dict[str, tuple[type, tuple[int, ...]]] = {
            "time": (float, ()),
            "q": (float, (scene.nq,)),
            "v": (float, (scene.nv,)),
            "a": (float, (scene.nv,)),
            "tau": (float, (scene.na,)),
            "state": (str, ()),
            "contact_active": (bool, (contacts,)),
            "contact_wrench": (float, (contacts, 6)),
            "coupling_force": (float, (len(scene.couplings),)),
            "load_mass": (float, (len(loads),)),
            "tick_ms": (float, ()),
            "qp_size": (int, (len(QP_SIZE),)),
        }
        return {
            name: np.array([row[name] for row in rows], dtype=kind).reshape((len(rows), *shape))
            for name, (kind, shape) in shapes.items()
        }


def _task_errors(ticks: Sequence[Mapping[str, float]], names: Sequence[str]) -> Array:
    """Return the errors of tasks, (T, P), NaN where a task is not active."""
    columns = {name: k for k, name in enumerate(names)}
    table = np.full((len(ticks), len(columns)), np.nan)
    for row, errors in zip(table, ticks, strict=True):
        row[[columns[name] for name in errors]] = list(errors.values())
    return table
