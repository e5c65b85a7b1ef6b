"""What a planner does for a goal, as controllers come, refuse, follow and begin anew."""

from __future__ import annotations

import pinocchio as pin
import pytest

from multi_qp_controller.plan_errand import ATTEMPTS, Errand, Todo
from multi_qp_controller.plan_following import PlanStatus

WAITS = PlanStatus(standing=True, waiting=True)
FIRST, OTHER = pin.SE3.Identity(), pin.SE3.Random()


@pytest.fixture
def errand():
    return Errand(FIRST)


def test_nothing_is_done_without_a_controller(errand):
    assert errand.todo is Todo.NOTHING
    errand.give(OTHER)
    assert errand.todo is Todo.NOTHING


def test_the_first_goal_is_for_a_controller_that_waits(errand):
    errand.heard(WAITS, active=True)
    assert errand.goal is FIRST and errand.todo is Todo.PLAN
    errand.planned(7)
    errand.heard(WAITS, active=True)  # the plan is on its way
    assert errand.todo is Todo.NOTHING
    errand.heard(PlanStatus(plan=7), active=True)
    errand.heard(PlanStatus(plan=7, standing=True), active=True)
    assert errand.reached and errand.todo is Todo.NOTHING


def test_a_planner_that_is_started_in_the_middle_of_a_plan_leaves_it_alone(errand):
    errand.heard(PlanStatus(plan=5), active=True)
    assert errand.goal is None and errand.todo is Todo.NOTHING
    errand.heard(PlanStatus(plan=5, standing=True), active=True)
    assert errand.todo is Todo.NOTHING


def test_another_goal_halts_the_plan_and_is_planned_for_at_the_next_stance(errand):
    errand.heard(WAITS, active=True)
    errand.planned(7)
    errand.heard(PlanStatus(plan=7), active=True)
    errand.give(OTHER)
    assert errand.todo is Todo.HALT
    errand.heard(PlanStatus(plan=7, standing=True), active=True)
    assert errand.todo is Todo.PLAN and errand.goal is OTHER


def test_a_refused_plan_is_made_anew_a_few_times(errand):
    errand.heard(WAITS, active=True)
    for stamp in range(1, ATTEMPTS + 1):
        assert errand.todo is Todo.PLAN
        errand.planned(stamp)
        errand.heard(PlanStatus(standing=True, waiting=True, refused=stamp, reason="of this"), active=True)
    assert errand.todo is Todo.NOTHING and "of this" in errand.outcome and not errand.reached


def test_a_controller_that_begins_anew_gets_a_plan_from_where_it_is(errand):
    errand.heard(WAITS, active=True)
    errand.planned(7)
    errand.heard(PlanStatus(plan=7), active=True)
    errand.heard(PlanStatus(), active=False)
    assert errand.todo is Todo.NOTHING
    errand.heard(WAITS, active=True)
    assert errand.todo is Todo.PLAN and errand.goal is FIRST


def test_a_goal_without_a_plan_is_let_go(errand):
    errand.heard(WAITS, active=True)
    errand.conclude("in a wall")
    assert errand.todo is Todo.NOTHING and not errand.reached
    errand.give(OTHER)
    assert errand.todo is Todo.PLAN and not errand.outcome
