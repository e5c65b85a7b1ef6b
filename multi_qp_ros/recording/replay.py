"""Replay of recorded ticks with the same or another solver, formulation, and task and cost settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_controller.controller_state import ControllerState
from multi_qp_controller.qp import Explanation, QPProblem
from multi_qp_controller.qp.choice import choose
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_ros.recording.identity import identity, project_version
from multi_qp_ros.recording.reader import Bag, RecordedTick
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import resource_dirs
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.control import RegularisationSpec
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.sources import PackedFile, unpacked
from multi_qp_scene.stateful import conformed
from multi_qp_scene.suggestions import unknown_name

_TASK_SETTINGS = ("weight", "stiffness", "damping")
_COSTS = "regularisation"
#: Tolerance of an active limit, relative to 1 + |limit|.
_AT_LIMIT = 1e-6


@dataclass(frozen=True)
class ReplayedTick:
    """Result of a replayed tick.

    Attributes:
        command: output of the step.
        residuals: ‖J q̈ − b‖ by task, the unmet part of the desired acceleration.
        active: names of the active limits.
        explanation: infeasible subset of the rows of a failed QP.
        problem: the failed QP.
        names: names of the actuated joints, in the order of τ.
    """

    command: Command
    residuals: dict[str, float]
    active: tuple[str, ...]
    explanation: Explanation | None = None
    problem: QPProblem | None = None
    names: tuple[str, ...] = ()


class Replay:
    """Replay of the ticks of one recorded run.

    Attributes:
        scenario: scenario of the recording.
        recording: header of the run.
    """

    def __init__(self, bag: Bag, run: int, *, other_version: bool = False) -> None:
        """Load the scenario from the recording.

        Args:
            bag: recording with the run.
            run: index of the run, from 0.
            other_version: accept a recording of another version of this project.

        Raises:
            MultiQpError: when the version differs, or the scenario cannot be loaded.
        """
        self.recording = bag.recordings[run]
        recorded, here = self.recording["version"], project_version()
        if recorded != here and not other_version:
            raise MultiQpError(
                f"{bag.path}: recorded with version {recorded} of this project, this is {here}; a tick may come out "
                "otherwise (--other-version replays it all the same)"
            )
        try:
            with self._explained():
                self.scenario = self._load({})
        except MultiQpError as error:
            raise MultiQpError(f"{bag.path}: the scenario of the recording cannot be loaded: {error}") from None

    def differences(self) -> dict[str, tuple[str, str]]:
        """Return the entries of `identity` that differ from the recording: name -> (recorded, current)."""
        then, now = self.recording["identity"], identity()
        names = list(dict.fromkeys([*then, *now]))
        return {n: (then.get(n, "none"), now.get(n, "none")) for n in names if then.get(n) != now.get(n)}

    def _load(self, parameters: Mapping[str, float]) -> Scenario:
        about = self.recording["scenario"]
        files = [PackedFile(**file) for file in about["files"]]
        with unpacked(files, resource_dirs()) as places:
            scenario = load_scenario(
                places[files[0].path],  # the scenario file is first in order of reading
                parameters={**about["parameters"], **parameters},
                seed=about["seed"],
            )
        spec, scene = scenario.spec, scenario.scene
        if not parameters:  # what a planner has computed is in no file, only in the recording
            spec = ScenarioFile.model_validate_json(json.dumps(about["spec"]))
            q0 = np.array(about["initial_configuration"], dtype=float)
            _check_size("initial configuration", q0, scene.nq)
            scene = scene.with_initial_configuration(q0)
        return replace(scenario, name=about["name"], path=Path(about["path"]), spec=spec, scene=scene)

    @staticmethod
    @contextmanager
    def _explained() -> Iterator[None]:
        """Convert exceptions that damaged or forged data can raise anywhere in the controller to a MultiQpError."""
        try:
            yield
        except MultiQpError:
            raise
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise MultiQpError(f"the recording is damaged: {place}: {first['msg']}") from None
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise MultiQpError(f"the recording is damaged: {type(error).__name__}: {reason}") from error

    def step(
        self,
        tick: RecordedTick,
        *,
        solver: str | None = None,
        formulation: str | None = None,
        settings: Mapping[str, float] | None = None,
    ) -> ReplayedTick:
        """Replay a tick.

        Args:
            tick: the recorded tick.
            solver: QP solver; None: the recorded one where it fits, else the fastest.
            formulation: QP formulation; None: the recorded one where it fits, else the fastest.
            settings: values by name: "<task>.weight", ".stiffness" or ".damping", "regularisation.<cost>", or a
                parameter of the scenario.

        Raises:
            MultiQpError: when a solver, formulation or setting is unknown, or a value is out of range.
        """
        with self._explained():
            return self._replay(tick, solver, formulation, dict(settings or {}))

    def _replay(
        self, tick: RecordedTick, solver: str | None, formulation: str | None, chosen: dict[str, float]
    ) -> ReplayedTick:
        _check_sizes(tick, self.scenario.scene)
        scenario = self.scenario
        parameters = {name: chosen.pop(name) for name in list(chosen) if name in scenario.parameters}
        if parameters:
            scenario = self._load(parameters)
        costs = {n.partition(".")[2]: chosen.pop(n) for n in list(chosen) if n.startswith(f"{_COSTS}.")}
        if costs:
            scenario = replace(scenario, spec=scenario.spec.model_copy(update={_COSTS: _costs(scenario, costs)}))
        recorded = self.recording["formulation"], self.recording["solver"]
        formulation, solver = choose((formulation, solver), recorded)
        controller = Controller(
            scenario,
            dt=self.recording["dt"],
            solver=solver,
            formulation=formulation,
            closed_loop=scenario.spec.closed_loop if self.recording["closed_loop"] else None,
        )
        saved = conformed(ControllerState, tick.given.controller_state, scenario.scene)
        cascade = saved.state_manager.cascade
        cascade.failing = False  # so that the QP is stored if it fails
        if parameters:
            saved.loads = scenario.scene.loads.get_state()
        if (formulation, solver) != recorded:
            cascade.warm_start = None
        controller.set_state(saved)
        for name, value in chosen.items():
            _set(controller, name, value, scenario)
        command = controller.step(tick.given.state, tick.given.time)
        return _replay(controller, command)


def _check_sizes(tick: RecordedTick, scene: Scene) -> None:
    """Raise a MultiQpError when the sizes of the vectors of a tick do not match the scene."""
    answer = tick.command
    vectors = {"q": (tick.given.state.q, scene.nq), "v": (tick.given.state.v, scene.nv)}
    vectors |= {"tau": (answer["tau"], scene.na), "a": (answer["a"], scene.nv)}
    vectors |= {name: (wrench, 6) for name, wrench in answer["wrenches"].items()}
    for name, (vector, size) in vectors.items():
        _check_size(name, vector, size)


def _check_size(name: str, vector: Array, size: int) -> None:
    if len(vector) != size:
        raise MultiQpError(f"the recorded {name} has {len(vector)} entries, expected {size}")


def same_bits(tick: RecordedTick, command: Command) -> bool:
    """Return whether a command is bitwise equal to the recorded one."""
    then = tick.command
    pairs: list[tuple[Array, Array | None]] = [(then["tau"], command.tau), (then["a"], command.a)]
    pairs += [(wrench, command.wrenches.get(name)) for name, wrench in then["wrenches"].items()]
    equal = all(b is not None and a.tobytes() == b.tobytes() for a, b in pairs)
    return bool(
        equal and then["wrenches"].keys() == command.wrenches.keys() and then["status"] == command.diagnostics.status
    )


def _replay(controller: Controller, command: Command) -> ReplayedTick:
    qp_data, solved = controller.qp_data, bool(np.isfinite(command.a).all())
    return ReplayedTick(
        command,
        qp_data.tasks.residuals(command.a) if solved else {},
        _active(qp_data, command) if solved else (),
        controller.explain_failure(),
        controller.failed_problem,
        qp_data.scene.actuated_joint_names,
    )


def _active(qp_data: QPData, command: Command) -> tuple[str, ...]:
    """Return the names of the active limits of a command, independent of the formulation."""
    scene = qp_data.scene
    names = scene.velocity_names
    low, high = qp_data.torque_lower, qp_data.torque_upper
    near_low, near_high = _AT_LIMIT * (1.0 + np.abs(low)), _AT_LIMIT * (1.0 + np.abs(high))
    found = [
        f"torque limit {scene.actuated_joint_names[k]}"
        for k in np.flatnonzero((command.tau >= high - near_high) | (command.tau <= low + near_low))
    ]
    for side in (qp_data.lower, qp_data.upper):
        bounded = np.flatnonzero(np.isfinite(side))
        gap = np.abs(command.a[bounded] - side[bounded])
        found += [f"joint limit {names[k]}" for k in bounded[gap <= _AT_LIMIT * (1.0 + np.abs(side[bounded]))]]
    labels = [block.row(k) for block in qp_data.row_labels() for k in range(len(block))]
    margin = qp_data.D @ command.a - qp_data.d
    found += [labels[k] for k in np.flatnonzero(margin <= _AT_LIMIT * (1.0 + np.abs(qp_data.d)))]
    for contact in qp_data.contacts.contacts:
        wrench = command.wrenches[contact.name][: contact.rows]
        facets = contact.F @ wrench
        scale = np.linalg.norm(contact.F, axis=1) * max(1.0, float(np.linalg.norm(wrench)))
        count = int((facets <= _AT_LIMIT * scale).sum())
        if count:
            found.append(f"friction cone {contact.name}, {count} of {len(facets)} facets")
    return tuple(found)


def _costs(scenario: Scenario, costs: Mapping[str, float]) -> RegularisationSpec:
    present = scenario.spec.regularisation
    for name in costs:
        if name not in RegularisationSpec.model_fields:
            raise MultiQpError(unknown_name("cost", name, list(RegularisationSpec.model_fields)))
    try:
        return RegularisationSpec(**{**present.model_dump(), **costs})
    except ValueError as error:
        raise MultiQpError(f"{_COSTS}: {error}") from None


def _set(controller: Controller, name: str, value: float, scenario: Scenario) -> None:
    task, _, attribute = name.rpartition(".")
    valid = [f"{running}.{setting}" for running in controller.tasks for setting in _TASK_SETTINGS]
    if task not in controller.tasks or attribute not in _TASK_SETTINGS:
        known = [*valid, *(f"{_COSTS}.{cost}" for cost in RegularisationSpec.model_fields), *scenario.parameters]
        raise MultiQpError(unknown_name("setting", name, known))
    if not (np.isfinite(value) and value >= 0.0):
        raise MultiQpError(f"{name}: expected 0 or more, got {value:g}")
    changed = controller.tasks[task]
    critical = changed.damping == 2.0 * np.sqrt(changed.stiffness)
    setattr(changed, attribute, value)
    if attribute == "stiffness" and critical:
        changed.damping = float(2.0 * np.sqrt(value))
