"""Makes recorded ticks again: the same, with another solver, or with other weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_controller.qp import Explanation, Problem
from multi_qp_controller.statement import Statement
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import resource_dirs
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.schema.scenario_file import RegularisationSpec, ScenarioFile
from multi_qp_scene.sources import PackedFile, unpacked
from multi_qp_scene.suggestions import unknown_name
from multi_qp_simulator.bags.identity import identity, project_version
from multi_qp_simulator.bags.reader import Bag, RecordedTick

Array = NDArray[np.float64]

_TASK_SETTINGS = ("weight", "stiffness", "damping")
_COSTS = "regularisation"
#: A row is at its limit within this, relative to 1 + |limit|.
_AT_LIMIT = 1e-6


@dataclass(frozen=True)
class Answer:
    """What came of a tick.

    Attributes:
        command: the answer of the step.
        residuals: of each task: ‖J q̈ − b‖, what of its desired acceleration is not met.
        active: names of the limits that the answer is at.
        explanation: of a QP without solution: which rows contradict each other.
        problem: that QP.
        names: of the motors, in the order of τ.
    """

    command: Command
    residuals: dict[str, float]
    active: tuple[str, ...]
    explanation: Explanation | None = None
    problem: Problem | None = None
    names: tuple[str, ...] = ()


class Replay:
    """One run of a bag, whose ticks can be made again.

    Attributes:
        scenario: as it was.
        recording: what the run was recorded with.
    """

    def __init__(self, bag: Bag, run: int, *, other_version: bool = False) -> None:
        """Load the scenario from the bag.

        Args:
            bag: that holds the run.
            run: counted from 0.
            other_version: go on with the recording of another version of this project.

        Raises:
            MultiQpError: when the version is another one, or the scenario cannot be made again.
        """
        self.recording = bag.recordings[run]
        recorded, here = self.recording["version"], project_version()
        if recorded != here and not other_version:
            raise MultiQpError(
                f"{bag.path}: recorded with version {recorded} of this project, this is {here}; a tick may come out "
                "otherwise (--other-version replays it all the same)"
            )
        self.scenario = self._load({})

    def differences(self) -> dict[str, tuple[str, str]]:
        """Return what the digits depend on and is not as it was: name -> (then, now)."""
        then, now = self.recording["identity"], identity()
        names = list(dict.fromkeys([*then, *now]))
        return {n: (then.get(n, "none"), now.get(n, "none")) for n in names if then.get(n) != now.get(n)}

    def _load(self, parameters: Mapping[str, float]) -> Scenario:
        about = self.recording["scenario"]
        files = [PackedFile(**file) for file in about["files"]]
        spoken_of = [file.path for file in files if about["path"].endswith(file.path)]
        with unpacked(files, resource_dirs()) as places:
            try:
                scenario = load_scenario(
                    places[max(spoken_of, key=len)],
                    parameters={**about["parameters"], **parameters},
                    seed=about["seed"],
                )
            except ValueError as error:
                raise MultiQpError(f"the scenario of the recording cannot be loaded: {error}") from None
        spec = scenario.spec
        if not parameters:  # states that were planned are in no file
            spec = ScenarioFile.model_validate_json(json.dumps(about["spec"]))
        return replace(scenario, name=about["name"], path=Path(about["path"]), spec=spec)

    def answer(
        self,
        tick: RecordedTick,
        *,
        solver: str | None = None,
        formulation: str | None = None,
        settings: Mapping[str, float] | None = None,
    ) -> Answer:
        """Make a tick again.

        Args:
            tick: which.
            solver: instead of the one it was solved with.
            formulation: instead of the one that it was written in; its fastest solver comes with it.
            settings: "<task>.weight", ".stiffness" or ".damping", "regularisation.<cost>", or a parameter of the
                scenario -> what it shall be in this tick.

        Raises:
            MultiQpError: when there is no such solver, formulation or setting, or a value is out of its range.
        """
        chosen = dict(settings or {})
        scenario = self.scenario
        parameters = {name: chosen.pop(name) for name in list(chosen) if name in scenario.parameters}
        if parameters:
            scenario = self._load(parameters)
        costs = {n.partition(".")[2]: chosen.pop(n) for n in list(chosen) if n.startswith(f"{_COSTS}.")}
        if costs:
            scenario = replace(scenario, spec=scenario.spec.model_copy(update={_COSTS: _costs(scenario, costs)}))
        if formulation is None:
            formulation = self.recording["formulation"]
            solver = solver or self.recording["solver"]
        controller = Controller(
            scenario,
            dt=self.recording["dt"],
            solver=solver,
            formulation=formulation,
            closed_loop=scenario.spec.closed_loop if self.recording["closed_loop"] else None,
        )
        memory = dict(tick.given.memory)
        memory["qp"] = {**memory["qp"], "failing": False}  # so that this QP is kept, should it fail
        if parameters:
            memory["loads"] = scenario.scene.loads.memory()
        if formulation != self.recording["formulation"] or solver not in (None, self.recording["solver"]):
            memory["qp"]["warm_start"] = None
        controller.resume(memory)
        for name, value in chosen.items():
            _set(controller, name, value, scenario)
        command = controller.step(tick.given.state, tick.given.time)
        return _answer(controller, command)


def same_bits(tick: RecordedTick, command: Command) -> bool:
    """Return whether a command is the recorded one, to the last bit."""
    then = tick.command
    pairs: list[tuple[Array, Array | None]] = [(then["tau"], command.tau), (then["a"], command.a)]
    pairs += [(wrench, command.wrenches.get(name)) for name, wrench in then["wrenches"].items()]
    equal = all(b is not None and a.tobytes() == b.tobytes() for a, b in pairs)
    return bool(
        equal and then["wrenches"].keys() == command.wrenches.keys() and then["status"] == command.diagnostics.status
    )


def _answer(controller: Controller, command: Command) -> Answer:
    statement, solved = controller.statement, bool(np.isfinite(command.a).all())
    return Answer(
        command,
        statement.tasks.residuals(command.a) if solved else {},
        _active(statement, command) if solved else (),
        controller.explain_failure(),
        controller.failed_problem,
        statement.scene.actuated_joint_names,
    )


def _active(statement: Statement, command: Command) -> tuple[str, ...]:
    """Return the limits that a command is at, whatever the formulation calls its rows."""
    scene, limits = statement.scene, statement.joint_limits
    names = scene.velocity_names
    near = _AT_LIMIT * (1.0 + statement.torque_limits)
    found = [
        f"torque limit {scene.actuated_joint_names[k]}"
        for k in np.flatnonzero(np.abs(command.tau) >= statement.torque_limits - near)
    ]
    for side in (limits.lower, limits.upper):
        bounded = np.flatnonzero(np.isfinite(side))
        gap = np.abs(command.a[bounded] - side[bounded])
        found += [f"joint limit {names[k]}" for k in bounded[gap <= _AT_LIMIT * (1.0 + np.abs(side[bounded]))]]
    labels = [block.row(k) for block in statement.row_labels() for k in range(len(block))]
    room = statement.D @ command.a - statement.d
    found += [labels[k] for k in np.flatnonzero(room <= _AT_LIMIT * (1.0 + np.abs(statement.d)))]
    for contact in statement.contacts.contacts:
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
