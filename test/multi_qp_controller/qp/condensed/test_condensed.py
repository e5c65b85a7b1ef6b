"""`condensed` by `active_set`, as the controller runs it, against `full` by quadprog, along every scene."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.contacts import rows as contact_rows_module
from multi_qp_controller.controller import Controller
from multi_qp_controller.qp import make_solver
from multi_qp_controller.qp.formulations import make_formulation
from multi_qp_scene import load_scenario
from multi_qp_scene.resources import scenario_names, scenario_path
from multi_qp_simulator.runner import Run, make_backend

#: Where `full` has no cost on the part of Λ that makes no wrench, it is `condensed`; quadprog gets as near as this.
NEARLY_NOTHING = 1e-12

#: The scenes that have states; the others are first planned.
SCENES = [name for name in scenario_names() if "\nstates:" in scenario_path(name).read_text("utf-8")]


def relative_error(value, expected):
    """Return the largest error relative to the largest entry; 0 without entries, as of reactions in flight."""
    return float(np.abs(value - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0))


class Comparison:
    """Watches a run and compares some of its ticks."""

    def __init__(self, every: int, ticks: int | None) -> None:
        self.every, self.ticks = every, ticks
        self.run: Run | None = None
        self.worst = {"acceleration": 0.0, "torque": 0.0, "reactions": 0.0}
        self.compared: set[str] = set()
        self.tick, self._entered, self.statuses = 0, -1.0, set()

    def __call__(self, controller, command):
        since = self.tick - self._entered
        if controller.machine.entered != self._entered_time():
            self._time, self._entered, since = controller.machine.entered, self.tick, 0
        self.statuses.add((command.diagnostics.status, command.diagnostics.solver_status))
        if since in (0, 1) or self.tick % self.every == 0:
            self._compare(controller, command)
        self.tick += 1
        if self.ticks is not None and self.tick >= self.ticks:
            self.run.stop()

    def _entered_time(self):
        return getattr(self, "_time", None)

    def _compare(self, controller, command):
        made = make_formulation("full", controller.qp_data)
        made.prepare()
        solution = make_solver("quadprog").solve(made.build())
        assert solution.found, solution.message
        exact = made.recover(solution.x)
        answer = {"acceleration": command.a, "torque": command.tau, "reactions": controller.reactions}
        for name, value in answer.items():
            self.worst[name] = max(self.worst[name], relative_error(value, getattr(exact, name)))
        self.compared.add(command.diagnostics.state)


def compared(scene, monkeypatch, *, every, ticks, dt=None):
    monkeypatch.setattr(contact_rows_module, "NULL_FORCE_COST", NEARLY_NOTHING)
    scenario = load_scenario(scene)
    comparison = Comparison(every, ticks)
    controller = Controller(scenario, dt=dt)
    assert (controller.formulation_name, controller.solver_name) == ("condensed", "active_set")
    # the integrator has no contacts of bodies that are not controlled, and `hold` needs MuJoCo (docs/upper_body.md)
    backend = "mujoco" if scene == "hold" or scenario.controlled.scene.nv < scenario.scene.nv else "integrator"
    comparison.run = Run(scenario, controller, make_backend(backend, scenario), observers=[comparison])
    result = comparison.run.execute()
    print(scene, {k: f"{v:.1e}" for k, v in comparison.worst.items()}, comparison.tick, len(comparison.compared))
    return comparison, result


@pytest.mark.parametrize("scene", SCENES)
def test_solutions_equal_those_of_full_along_the_start_of_a_scene(scene, monkeypatch):
    comparison, _ = compared(scene, monkeypatch, every=25, ticks=60)
    assert comparison.tick == 60
    assert comparison.statuses == {(Status.OK, "solved")}
    assert max(comparison.worst.values()) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_solutions_equal_those_of_full_in_every_state_of_a_scene(scene, monkeypatch):
    comparison, result = compared(scene, monkeypatch, every=200, ticks=None)
    assert result.succeeded, result.report["ended"]
    assert comparison.compared == set(result.report["states_visited"])
    assert max(comparison.worst.values()) < 1e-6
