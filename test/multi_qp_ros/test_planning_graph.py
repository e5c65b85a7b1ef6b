"""Goals, plans and their execution on a real graph: planner, com_trajectory, controller, simulator."""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from planning_wires import PATIENCE, PLANNER, UP, Wires

WARN = DiagnosticStatus.WARN


@pytest.fixture(scope="module")
def wires(graph, start):
    made = Wires(graph, start)
    made.until(lambda: made.status.get("waiting") and made.status["standing"], "a controller that waits")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("place", "frame", "text"),
    [
        ((math.nan, 0.0, 0.7), "world", "the goal was refused: it is not finite"),
        ((0.2, 0.0, 0.7), "map", "the goal was refused: it is in the frame 'map'"),
        ((0.5, 0.0, 0.02), "world", "no plan: the goal is not possible for the base: the trunk hits something"),
        ((0.5, 0.0, 3.0), "world", "no plan: the goal is not possible for the base: 0 of the limbs"),
    ],
)
def test_an_unreachable_goal_is_diagnosed_without_motion(wires, place, frame, text):
    wires.graph.clear()
    wires.give(place, frame=frame)
    wires.until(lambda: wires.graph.diagnosed(PLANNER, text, WARN), text)
    assert not wires.plans and wires.status["waiting"]


def test_a_killed_planner_does_not_stop_the_run_and_a_restarted_one_plans(wires):
    wires.graph.clear()
    wires.processes[PLANNER].send_signal(signal.SIGSTOP)  # or it may be done before it is dead
    wires.give(UP)
    wires.processes[PLANNER].kill()
    wires.processes[PLANNER].wait()
    wires.graph.clear()
    wires.graph.until(lambda: len(wires.graph.states()) > 20, PATIENCE, "answers")
    assert {state["status"] for state in wires.graph.states()} == {"ok"}
    assert wires.status["waiting"] and not wires.plans
    wires.processes[PLANNER] = wires.run(PLANNER)
    wires.until(lambda: wires.graph.diagnosed(PLANNER, "waits for a goal"), "a planner")
    wires.give(UP)
    wires.until(lambda: wires.status["plan"], "a plan that is followed")


def test_a_humanoid_with_a_goal_on_the_step_stands_on_it(wires):
    if not wires.status["plan"]:  # it is run alone
        wires.give(UP)
    wires.until(lambda: wires.status["plan"] and wires.status["standing"], "the end of the plan")
    wires.graph.listen(0.2)
    np.testing.assert_allclose(wires.place[:2], UP[:2], atol=0.05)
    assert wires.place[2] == pytest.approx(UP[2], abs=0.02)
    states = wires.graph.states()
    assert {state["status"] for state in states} == {"ok"}
    assert wires.visited()[-1] == "done"
    assert set(states[-1]["contacts"]) == {"left_sole_on_step_top", "right_sole_on_step_top"}
    assert wires.plans[-1].joint_names[-1].endswith("_on_step_top")
