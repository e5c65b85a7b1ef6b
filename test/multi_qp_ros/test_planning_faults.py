"""New goals during a plan, and restart of the controller, on a real graph."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from planning_wires import FURTHER, PLANNER, UP, Wires

pytestmark = pytest.mark.slow


@pytest.fixture
def wires(graph, start):
    made = Wires(graph, start)
    made.until(lambda: made.status.get("waiting") and made.status["standing"], "a controller that waits")
    yield made
    made.close()


def swings(wires):
    states = wires.graph.states()
    return bool(states) and states[-1].get("state", "").startswith("swing")


def test_another_goal_in_the_middle_of_a_plan_is_gone_to_from_the_next_stance(wires):
    wires.give(UP)
    wires.until(lambda: swings(wires), "a swing")
    first = wires.status["plan"]
    wires.graph.clear()
    wires.give(FURTHER)
    wires.until(lambda: wires.status["plan"] not in (0, first), "the other plan")
    assert any(name.startswith("halt_") for name in wires.visited()), wires.visited()
    assert "done" not in wires.visited()  # the first plan was not carried out to its end
    wires.until(lambda: wires.status["standing"], "the end of the plan")
    wires.graph.listen(0.2)
    np.testing.assert_allclose(wires.place, FURTHER, atol=0.05)
    assert {state["status"] for state in wires.graph.states()} == {"ok"}


def test_a_controller_that_is_deactivated_in_the_middle_of_a_plan_begins_anew_where_it_is(wires):
    wires.give(UP)
    wires.until(lambda: wires.status["plan"], "a plan that is followed")
    first = wires.status["plan"]
    # while both feet are on the ground: with zero efforts the humanoid falls, and the simulation stops with this node
    assert wires.graph.transition("deactivate")
    wires.until(lambda: not wires.status["active"], "the controller's word")
    assert wires.graph.transition("activate")
    wires.until(lambda: wires.status.get("plan", 0) not in (0, first), "another plan")


def test_a_controller_that_is_killed_in_the_middle_of_a_plan_stands_and_is_sent_on(wires):
    wires.give(UP)
    wires.until(lambda: wires.status["plan"], "a plan that is followed")
    first = wires.status["plan"]
    wires.until(lambda: wires.graph.states()[-1]["state"].startswith("shift_02"), "a stance on both levels")
    wires.processes["multi_qp_controller"].kill()
    wires.processes["multi_qp_controller"].wait()
    wires.statuses.clear()
    wires.processes["multi_qp_controller"] = wires.run("multi_qp_controller")
    wires.until(lambda: wires.status.get("plan", 0) not in (0, first), "another plan")
    wires.until(lambda: wires.status["standing"], "its end")
    wires.graph.listen(0.2)
    np.testing.assert_allclose(wires.place[:2], UP[:2], atol=0.05)


def test_a_plan_continues_without_its_planners(wires):
    wires.give(UP)
    wires.until(lambda: wires.status["plan"], "a plan that is followed")
    for name in (PLANNER, "com_trajectory"):
        wires.processes[name].kill()
        wires.processes[name].wait()
    wires.processes[PLANNER] = wires.run(PLANNER)
    wires.until(lambda: wires.status["standing"], "the end of the plan")
    wires.graph.listen(0.2)
    np.testing.assert_allclose(wires.place[:2], UP[:2], atol=0.05)


def test_the_humanoid_goes_up_the_stairs(ros_environment, tmp_path):
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "multi_qp_cli", "ros", "stairs", "--headless", "--report", str(file)]
    done = subprocess.run(command, env=ros_environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text("utf-8"))
    assert report["completed"] and report["qp_failures"] == 0 and report["goals"]["arrived"]["reached"]
    assert report["worst"]["contact_slip_m"] < 1e-3


def test_without_a_plan_a_non_interactive_run_ends(ros_environment):
    command = [sys.executable, "-m", "multi_qp_cli", "ros", "stairs", "--headless", "--goal", "0.5", "0", "9"]
    done = subprocess.run(command, env=ros_environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no plan: the goal is not possible for the base" in done.stderr
