"""Goal requests as controllers start, refuse, follow and restart."""

from __future__ import annotations

import pinocchio as pin
import pytest

from motion_generation.goal_request import ATTEMPTS, GoalRequest, NextStep
from motion_generation.plan_following import PlanStatus

WAITS = PlanStatus(standing=True, waiting=True)
FIRST, OTHER = pin.SE3.Identity(), pin.SE3.Random()


@pytest.fixture
def goal_request():
    return GoalRequest(FIRST)


def test_nothing_is_done_without_a_controller(goal_request):
    assert goal_request.next_step is NextStep.NOTHING
    goal_request.set_goal(OTHER)
    assert goal_request.next_step is NextStep.NOTHING


def test_the_first_goal_is_activated_by_a_waiting_controller(goal_request):
    goal_request.update(WAITS, active=True)
    assert goal_request.goal is FIRST and goal_request.next_step is NextStep.PLAN
    goal_request.plan_sent(7)
    goal_request.update(WAITS, active=True)  # the plan is on its way
    assert goal_request.next_step is NextStep.NOTHING
    goal_request.update(PlanStatus(plan=7), active=True)
    goal_request.update(PlanStatus(plan=7, standing=True), active=True)
    assert goal_request.reached and goal_request.next_step is NextStep.NOTHING


def test_a_planner_started_in_the_middle_of_a_plan_does_not_replace_it(goal_request):
    goal_request.update(PlanStatus(plan=5), active=True)
    assert goal_request.goal is None and goal_request.next_step is NextStep.NOTHING
    goal_request.update(PlanStatus(plan=5, standing=True), active=True)
    assert goal_request.next_step is NextStep.NOTHING


def test_another_goal_halts_the_plan_and_is_planned_at_the_next_stance(goal_request):
    goal_request.update(WAITS, active=True)
    goal_request.plan_sent(7)
    goal_request.update(PlanStatus(plan=7), active=True)
    goal_request.set_goal(OTHER)
    assert goal_request.next_step is NextStep.HALT
    goal_request.update(PlanStatus(plan=7, standing=True), active=True)
    assert goal_request.next_step is NextStep.PLAN and goal_request.goal is OTHER


def test_a_refused_plan_is_repeated_a_few_times(goal_request):
    goal_request.update(WAITS, active=True)
    for stamp in range(1, ATTEMPTS + 1):
        assert goal_request.next_step is NextStep.PLAN
        goal_request.plan_sent(stamp)
        goal_request.update(PlanStatus(standing=True, waiting=True, refused=stamp, reason="of this"), active=True)
    assert goal_request.next_step is NextStep.NOTHING and "of this" in goal_request.outcome and not goal_request.reached


def test_a_restarted_controller_receives_a_new_plan(goal_request):
    goal_request.update(WAITS, active=True)
    goal_request.plan_sent(7)
    goal_request.update(PlanStatus(plan=7), active=True)
    goal_request.update(PlanStatus(), active=False)
    assert goal_request.next_step is NextStep.NOTHING
    goal_request.update(WAITS, active=True)
    assert goal_request.next_step is NextStep.PLAN and goal_request.goal is FIRST


def test_a_goal_without_a_plan_is_abandoned(goal_request):
    goal_request.update(WAITS, active=True)
    goal_request.conclude("in a wall")
    assert goal_request.next_step is NextStep.NOTHING and not goal_request.reached
    goal_request.set_goal(OTHER)
    assert goal_request.next_step is NextStep.PLAN and not goal_request.outcome
