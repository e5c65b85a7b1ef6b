import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from motion_generation.planned_tasks import com_of
from motion_generation.planning import goals_of, make_planner, plan_scenario
from multi_qp_cli.plan_command import print_plan
from multi_qp_scene import MultiQpError, load_scenario
from multi_qp_simulator.plan_audit import PlanAudit
from multi_qp_simulator.runner import run_scenario

SCENES = ("stairs", "uneven_stairs", "slope", "climb", "climb_hands", "rubble", "causeway", "chair")
#: Scenes whose plans have dozens of stances.
LONG = ("slope", "climb", "climb_hands", "causeway")


@pytest.mark.parametrize("name", [pytest.param(s, marks=pytest.mark.slow if s in LONG else ()) for s in SCENES])
def test_every_stance_is_valid(name):
    scenario = load_scenario(name)
    plan = plan_scenario(scenario).plan
    assert plan.complete, plan.reason
    assert (
        PlanAudit(scenario, scenario.spec.plan.character, margin=0.9 * scenario.spec.plan.margin).mistakes(plan) == []
    )


@pytest.mark.parametrize(("room", "hand", "on"), [(2, "left_hand", "table/top"), (3, "right_hand", "right_arm/top")])
def test_sitting_down_uses_the_hand_that_the_furniture_supports(room, hand, on):
    plan = plan_scenario(load_scenario("chair", parameters={"room": room})).plan
    assert plan.complete, plan.reason
    touched = [(s.moved, s.contacts[s.moved].other) for s in plan.stances if s.moved in s.contacts]
    assert touched[:3] == [(hand, on), ("seat", "seat/top"), (hand, on)]
    assert {limb for limb, _ in touched[3:]} <= {"left_foot", "right_foot"}
    assert set(plan.stances[-1].contacts) == {"left_foot", "right_foot"}


@pytest.mark.parametrize("room", [1, 2, 3])
def test_com_path_reaches_the_seated_posture(room):
    """The centre of mass goes to that of the seated posture, and from there smoothly back into the curve."""
    planned = plan_scenario(load_scenario("chair", parameters={"room": room}))
    scene, states = planned.scenario.scene, planned.scenario.spec.states
    rest = next(name for name in states if name.startswith("rest_"))
    swing, land = rest.replace("rest", "swing"), rest.replace("rest", "land")
    upright = next(stance.q for stance in planned.plan.stances[1:] if stance.moved is None)
    q = scene.q0.copy()
    q[scene.subsystems["humanoid"].q_slice] = upright
    sitting = com_of(scene, "humanoid", q)
    (there,), (back,), landing = (states[name].tasks["planned_com"].target.curves for name in (rest, swing, land))
    np.testing.assert_allclose(there.points[-3:], [sitting] * 3, atol=1e-5)
    np.testing.assert_allclose(back.points[:3], [sitting] * 3, atol=1e-5)
    np.testing.assert_allclose(back.points[-1], landing[0].points[0], atol=1e-5)
    ahead = np.subtract(landing[0].points[1], landing[0].points[0]) * (len(landing[0].points) - 1) / landing[0].duration
    behind = np.subtract(back.points[-1], back.points[-2]) * (len(back.points) - 1) / back.duration
    np.testing.assert_allclose(behind, ahead, atol=1e-4)


def test_a_goal_with_a_contact_without_a_face_is_incomplete():
    scenario = load_scenario("chair")
    planner = make_planner(scenario)
    goal = replace(goals_of(scenario)[1], contacts=frozenset({"left_foot", "right_foot", "seat"}))  # standing
    plan = planner.plan([goal])
    assert not plan.complete
    assert plan.reason.endswith("no limb has a place to go to")
    assert all("seat" not in stance.contacts for stance in plan.stances)


STEP = "{box: [2.0, 2.0, 0.7], pose: {xyz: [1.5, 0, 0.35]}}"
RAMP = "{box: [3.0, 2.0, 0.1], pose: {xyz: [1.3, 0, 0.98], rpy: [0, -0.7854, 0]}}"  # 45 degrees
BLOCK = """
description: a step of 70 cm, or a slope of 45 degrees
subsystems:
  walker: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment:
  ground: {model: ground}
  block: OBSTACLE
plan:
  character: walker
  limbs: {left_foot: left_sole, right_foot: right_sole}
  posture: half_sitting
  budget: 0.5
  friction: 0.6
  bounds: {xyz_min: [-2, -2, 0], xyz_max: [2, 2, 3]}
  goal: {pose: {xyz: GOAL}}
"""
COVERED = r"\d+% of the path is covered, to \(\d\.\d\d, .*: the time .* is over; no limb can go on; most often: "


@pytest.mark.parametrize(
    ("obstacle", "goal", "reason"),
    [
        (STEP, "[1.5, 0, 1.4]", COVERED + "no posture reaches the contacts in balance"),
        (RAMP, "[1.3, 0, 1.7]", COVERED + "no static equilibrium on the other contacts"),
        (STEP, "[3, 0, 0.7]", r"the goal is outside the bounds of the base: x = 3.00 m, expected -2 to 2$"),
    ],
)
def test_a_hopeless_goal_says_where_and_why_the_plan_ends(tmp_path, obstacle, goal, reason):
    text = BLOCK.replace("OBSTACLE", obstacle).replace("GOAL", goal)
    (tmp_path / "step.yaml").write_text(text, encoding="utf-8")
    scenario = load_scenario(tmp_path / "step.yaml")
    plan = make_planner(scenario).plan(goals_of(scenario))
    assert not plan.complete
    assert re.match(reason, plan.reason), plan.reason


def test_the_audit_finds_errors():
    scenario = load_scenario("stairs")
    planner = make_planner(scenario)
    plan = planner.plan(goals_of(scenario))
    checker = PlanAudit(scenario, "humanoid")
    stance = plan.stances[3]
    moved = stance.q.copy()
    moved[0] += 0.05
    found = " ".join(checker.mistakes(replace(plan, stances=(*plan.stances[:3], replace(stance, q=moved)))))
    assert "off" in found
    one_foot = {"left_foot": plan.stances[0].contacts["left_foot"]}
    upright = plan.stances[0].q
    assert "not balanced" in " ".join(checker.wrong(upright, one_foot.values(), one_foot.values()))
    inside = upright.copy()
    inside[0] += 0.45
    assert "inside" in " ".join(checker.wrong(inside, [], one_foot.values()))


def test_one_contact_changes_per_phase_of_the_sequence():
    plan = plan_scenario(load_scenario("stairs")).plan
    phases = plan.sequence.phases
    for before, after in zip(phases, phases[1:], strict=False):
        assert len(before.made(after)) + len(before.broken(after)) <= 1
    assert {c.other for c in phases[-1].contacts} == {"landing/top"}
    assert len(plan.postures) == len(phases)


def test_the_same_seed_gives_the_same_plan():
    first, second = (plan_scenario(load_scenario("uneven_stairs", seed=3)).plan for _ in range(2))
    assert len(first.stances) == len(second.stances)
    for one, other in zip(first.stances, second.stances, strict=True):
        np.testing.assert_array_equal(one.q, other.q)


@pytest.mark.slow  # a minute; test_planning_graph executes one step by default
def test_a_plan_is_executed():
    planned = plan_scenario(load_scenario("stairs"))
    report = run_scenario(planned.scenario).report
    assert report["completed"] and report["qp_failures"] == 0
    assert report["worst"]["contact_slip_m"] < 2e-3
    assert report["worst"]["penetration_m"] < 1e-4
    assert report["worst"]["torque_ratio"] <= 1.0
    assert report["goals"]["arrived"]["reached"]


def test_a_goal_inside_an_obstacle_is_reported():
    scenario = load_scenario("stairs")
    planner = make_planner(scenario)
    goal = goals_of(scenario)[0].X_world_base
    inside = pin.SE3(goal.rotation, goal.translation - np.array([0.0, 0.0, 0.75]))
    plan = planner.plan(inside)
    assert not plan.complete and plan.moves == 0
    assert "the goal is not possible for the base: the trunk hits something" in plan.reason


def test_a_goal_without_a_face_in_reach_is_reported():
    scenario = load_scenario("stairs")
    planner = make_planner(scenario)
    goal = goals_of(scenario)[0].X_world_base
    plan = planner.plan(pin.SE3(goal.rotation, goal.translation + np.array([0.0, 0.0, 2.0])))
    assert not plan.complete
    assert "0 of the limbs have a face within reach" in plan.reason


def test_a_goal_that_is_not_finite_is_refused():
    planner = make_planner(load_scenario("stairs"))
    with pytest.raises(MultiQpError, match="goal must be finite"):
        planner.plan(pin.SE3(np.eye(3), np.array([np.nan, 0.0, 0.0])))


def test_the_best_partial_plan_is_returned_when_the_budget_is_used_up():
    scenario = load_scenario("stairs")
    planner = make_planner(scenario)
    planner.problem = replace(planner.problem, budget=0.02)
    plan = planner.plan(goals_of(scenario))
    assert not plan.complete
    assert plan.reason
    assert len(plan.stances) >= 1


def test_step_to_moves_one_limb():
    scenario = load_scenario("stairs")
    planner = make_planner(scenario)
    start = planner.start_stance()
    after = planner.step_to(start, "left_foot", on=["ground/floor"])
    assert after is not None and after.moved == "left_foot"
    assert planner.step_to(start, "left_foot", on=["landing/top"]) is None  # out of reach
    assert PlanAudit(scenario, "humanoid").mistakes(planner.as_plan([start, after])) == []


def test_surroundings_without_a_surface_are_refused(tmp_path):
    path = tmp_path / "nothing.yaml"
    path.write_text(
        """\
description: a humanoid before a wall
subsystems: {humanoid: {model: humanoid, posture: half_sitting, pose: {xyz: [0, 0, 0.72]}}}
environment: {wall: {box: [0.1, 2, 2], pose: {xyz: [1, 0, 1]}}}
plan:
  character: humanoid
  limbs: {left_foot: left_sole, right_foot: right_sole}
  faces: [wall/back]
  goal: {pose: {xyz: [1, 0, 1]}}
""",
        encoding="utf-8",
    )
    with pytest.raises(MultiQpError, match="no surface to plan contacts on"):
        plan_scenario(load_scenario(path))


def test_broken_contacts_are_printed(capsys):
    print_plan("chair", plan_scenario(load_scenario("chair")).plan)
    assert "lets go" in capsys.readouterr().out
