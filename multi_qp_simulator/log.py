"""The log of a run: enough to recompute the equation of motion with pinocchio alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Log:
    """What happened, one entry a tick; T ticks, C contacts of the scenario.

    Attributes:
        time: of the state [s], (T,).
        q: configuration, (T, nq).
        v: velocity, (T, nv).
        a: acceleration that followed, (T, nv).
        tau: torques, (T, na) [N m].
        state: name of the FSM state, (T,).
        contact_names: names of all contacts, (C,).
        contact_active: which are made, (T, C).
        contact_wrench: force, then moment, at the first surface's origin, in its frame, on its body, (T, C, 6).
        contact_surfaces: first and second surface of each, also names of frames in the model, (C, 2).
        contact_friction: Coulomb coefficient of each, (C,).
        joint_names: of the model, without the universe.
        actuated_joint_names: the order of tau.
        subsystem_names: in the order of q.
        load_names: names of the loads that may change, (L,).
        load_mass: their masses, (T, L) [kg]; the model's inertias are those of the loads' masses.
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
    joint_names: NDArray[np.str_]
    actuated_joint_names: NDArray[np.str_]
    subsystem_names: NDArray[np.str_]
    load_names: NDArray[np.str_]
    load_mass: Array
    scenario: NDArray[np.str_]

    def save(self, path: str | Path) -> None:
        """Write an .npz file; the same run gives the same bytes."""
        np.savez_compressed(path, **{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, path: str | Path) -> Log:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            return cls(**{name: file[name] for name in cls.__dataclass_fields__})


class LogRecorder:
    """Collects a log while a run goes on."""

    def __init__(self, scenario: Scenario, dt: float) -> None:
        self._scenario = scenario
        self._dt = dt
        self._contacts = {name: k for k, name in enumerate(scenario.spec.contacts)}
        self._rows: list[tuple[float, Array, Array, Array, Array, str, NDArray[np.bool_], Array, list[float]]] = []

    def record(self, state: State, command: Command, outcome: Outcome) -> None:
        """Take one tick."""
        active = np.zeros(len(self._contacts), dtype=bool)
        wrench = np.zeros((len(self._contacts), 6))
        for name, value in outcome.wrenches.items():
            active[self._contacts[name]] = True
            wrench[self._contacts[name]] = value
        self._rows.append(
            (
                command.time,
                state.q,
                state.v,
                outcome.acceleration,
                command.tau,
                command.diagnostics.state,
                active,
                wrench,
                list(self._scenario.scene.loads.masses.values()),
            )
        )

    def finish(self) -> Log:
        """Return the log."""
        scenario, scene = self._scenario, self._scenario.scene
        contacts, n = scenario.spec.contacts, len(self._contacts)
        nq, nv, na, loads = scene.nq, scene.nv, scene.na, tuple(scene.loads.masses)
        shapes: list[tuple[int, ...]] = [(), (nq,), (nv,), (nv,), (na,), (), (n,), (n, 6), (len(loads),)]
        kinds: list[Any] = [float, float, float, float, float, str, bool, float, float]
        columns: list[Any] = [
            np.array([row[k] for row in self._rows], dtype=kind).reshape((len(self._rows), *shape))
            for k, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
        ]
        about = {
            "name": scenario.name,
            "parameters": scenario.parameters,
            "seed": scenario.seed,
            "dt": self._dt,
        }
        time, q, v, a, tau, state, active, wrench, load_mass = columns
        return Log(
            time=time,
            q=q,
            v=v,
            a=a,
            tau=tau,
            state=state,
            contact_names=np.array(list(contacts), dtype=str),
            contact_active=active,
            contact_wrench=wrench,
            contact_surfaces=np.array([c.surfaces for c in contacts.values()], dtype=str).reshape(n, 2),
            contact_friction=np.array([c.friction for c in contacts.values()], dtype=float),
            joint_names=np.array(scene.joint_names, dtype=str),
            actuated_joint_names=np.array(scene.actuated_joint_names, dtype=str),
            subsystem_names=np.array(list(scene.subsystems), dtype=str),
            load_names=np.array(loads, dtype=str),
            load_mass=load_mass,
            scenario=np.array(json.dumps(about, sort_keys=True)),
        )
