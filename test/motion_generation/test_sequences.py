"""Scenarios with a contact sequence: states along its 2PAC curve, and repair of infeasible curves."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from motion_generation.phase_curves import PhaseCurves
from motion_generation.sequences import follow_sequence, touched
from motion_generation.whole_body_check import WholeBodyCheck
from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.tasks import CoMTaskSpec
from multi_qp_scene.sequence_file import load_contact_sequence
from multi_qp_simulator import Integrator
from multi_qp_simulator.runner import run_scenario

SEQUENCE = """
description: "a step"
models: {walker: humanoid}
friction: 0.6
contacts:
  left_1: {surface: walker/left_sole, xyz: [0, 0.09, 0]}
  right_1: {surface: walker/right_sole, xyz: [0, -0.09, 0]}
  right_2: {surface: walker/right_sole, xyz: [0.2, -0.09, 0]}
  left_2: {surface: walker/left_sole, xyz: [0.4, 0.09, 0]}
  right_3: {surface: walker/right_sole, xyz: [0.4, -0.09, 0]}
phases:
  - {contacts: [left_1, right_1]}
  - {contacts: [left_1]}
  - {contacts: [left_1, right_2]}
"""
SCENARIO = """
description: a step
subsystems:
  walker: {{model: humanoid, posture: half_sitting, place: {{surfaces: [left_sole, right_sole], onto: ground/floor}}}}
environment:
  ground: {{model: ground}}
{more}
goals:
  arrived: {{type: pose, frame: walker/base_link, target: [0.09, 0, 0.7], tolerance: 0.06}}
"""


@pytest.fixture
def scenario_of(tmp_path):
    def make(more="", sequence=SEQUENCE):
        (tmp_path / "steps.yaml").write_text(sequence)
        if "contact_sequence" not in more:
            more += "\ncontact_sequence: {file: steps.yaml}"
        (tmp_path / "walk.yaml").write_text(SCENARIO.format(more=more))
        return load_scenario(tmp_path / "walk.yaml")

    return make


def test_the_character_walks_and_its_centre_of_mass_is_on_the_curve(scenario_of):
    followed = follow_sequence(scenario_of())
    assert followed.whole_body.fault is None and followed.repairs == ()
    result = run_scenario(followed.scenario)
    worst = result.report["worst"]
    assert result.succeeded, result.report["goals"]
    assert result.report["qp_failures"] == 0
    assert worst["contact_slip_m"] < 2e-3 and worst["penetration_m"] < 1e-5
    # in the middle of each state the body's centre of mass is on the trajectory
    trajectory, log, model = followed.trajectory, result.log, followed.scenario.scene.model
    states = np.array([str(state) for state in log.state])
    slower = PhaseCurves(trajectory).duration(0)
    starts = np.concatenate([[0.0], trajectory.phase_ends[:-1]])
    factor = log.time[states == "shift_00"].size * 0.005 / slower
    errors = []
    for number in range(2):
        own = np.isin(states, [f"shift_{number:02d}", f"swing_{number:02d}", f"land_{number:02d}"])
        times = log.time[own]
        for time, q in zip(times[::20], log.q[own][::20], strict=True):
            com = pin.centerOfMass(model, model.createData(), q)
            # after a late landing the curve has reached the end of the phase
            planned = min(starts[number] + (time - times[0]) / factor, trajectory.phase_ends[number])
            errors.append(com - trajectory.position(planned))
    assert np.linalg.norm(errors, axis=1).max() < 0.01


def test_a_foot_on_a_straight_path_through_a_stair_avoids_it(scenario_of):
    stair = "  step: {box: [0.25, 1.2, 0.14], pose: {xyz: [0.25, 0, 0.07]}}"
    up = SEQUENCE.replace("xyz: [0.2, -0.09, 0]", "xyz: [0.25, -0.09, 0.14]")
    scenario = follow_sequence(scenario_of(stair, up)).scenario
    controller, world = Controller(scenario, dt=0.005), Integrator(scenario)
    geometry, model = scenario.scene.collision_model.copy(), scenario.scene.model
    geometry.removeAllCollisionPairs()
    number = {item.name: k for k, item in enumerate(geometry.geometryObjects)}
    pair = pin.CollisionPair(number["walker/r_ankle_roll_link_0"], number["step/block_0"])
    geometry.addCollisionPair(pair)
    there, here = geometry.createData(), model.createData()
    there.distanceRequests[0].enable_signed_distance = True
    sole, nearest, ways = scenario.scene.surfaces["walker/right_sole"], np.inf, []
    for tick in range(1600):
        world.step(controller.step(world.state, tick * controller.dt), controller.dt)
        pin.updateGeometryPlacements(model, here, geometry, there, world.state.q)
        nearest = min(nearest, pin.computeDistance(geometry, there, 0).min_distance)
        pin.updateFramePlacement(model, here, sole.frame_id)
        ways.append(here.oMf[sole.frame_id].translation.copy())
        if ways[-1][0] > 0.24:
            break
    assert nearest > 0.0
    way = np.array(ways)
    front = way[:, 0] + 0.105
    at_the_edge = way[np.argmax(front > 0.125), 2]
    assert at_the_edge > 0.139  # the straight path, raised by 8 cm in its middle, is 12 cm lower there
    assert way[-1, 0] > 0.2


def test_the_curves_of_the_states_are_the_trajectory(scenario_of):
    followed = follow_sequence(scenario_of())
    trajectory, curves = followed.trajectory, []
    for name, state in followed.scenario.spec.states.items():
        task = state.tasks["planned_com"]
        assert isinstance(task, CoMTaskSpec)
        if name != "done":
            curves += task.target.curves
    total = sum(curve.duration for curve in curves)
    factor = total / trajectory.duration
    assert factor >= 1.0
    passed = 0.0
    for curve in curves:
        np.testing.assert_allclose(curve.points[0], trajectory.position(passed / factor), atol=2e-6)
        passed += curve.duration
        np.testing.assert_allclose(curve.points[-1], trajectory.position(passed / factor), atol=2e-6)


def test_limbs_have_the_duration_of_their_pace(scenario_of):
    followed = follow_sequence(scenario_of())
    pace = followed.scenario.spec.contact_sequence.pace
    for name, state in followed.scenario.spec.states.items():
        if name.startswith("swing"):
            reference = next(task for key, task in state.tasks.items() if key.endswith("to_place"))
            assert reference.target.duration >= pace.least - 1e-9


LONGER = (
    SEQUENCE
    + """  - {contacts: [right_2]}
  - {contacts: [right_2, left_2]}
  - {contacts: [left_2]}
  - {contacts: [left_2, right_3]}
"""
)
RAILS = """
  rail_left: {box: [0.1, 0.14, 0.3], pose: {xyz: [0.18, 0.16, HEIGHT]}}
  rail_right: {box: [0.1, 0.14, 0.3], pose: {xyz: [0.18, -0.16, HEIGHT]}}
"""


def test_a_curve_may_last_longer_than_the_timeout_of_the_pace(scenario_of):
    scenario = scenario_of("contact_sequence: {file: steps.yaml, pace: {limb: 0.05, timeout: 1.5}}")
    result = run_scenario(follow_sequence(scenario).scenario)
    assert result.report["completed"], result.report["ended"]
    assert result.report["sim_time"] > 8.0


@pytest.mark.slow
def test_transition_points_move_down_below_rails_over_the_shoulders(scenario_of):
    """The trunk would penetrate the rails by 6 cm: points move by α n, downwards, until clear. [Tonneau2018] 7.2."""
    free = follow_sequence(scenario_of(sequence=LONGER))
    low = follow_sequence(scenario_of(RAILS.replace("HEIGHT", "1.34"), LONGER))
    assert any("moved" in note for note in low.repairs)
    assert low.whole_body.fault is None, low.repairs
    heights = [[t.point[2] for t in followed.trajectory.transitions] for followed in (free, low)]
    assert np.min(heights[1]) < np.min(heights[0]) - 0.01


def test_without_a_feasible_motion_the_best_one_is_returned_and_reported(scenario_of):
    followed = follow_sequence(scenario_of(RAILS.replace("HEIGHT", "0.9"), LONGER))
    assert followed.whole_body.fault is not None and followed.whole_body.fault.kind == "collision"
    assert any("not repaired" in note for note in followed.repairs)
    assert followed.scenario.spec.states


def test_a_normal_of_a_collision_points_out_of_the_obstacle(scenario_of):
    scenario = scenario_of(RAILS.replace("HEIGHT", "1.34").replace("[0.18,", "[0.0,"))
    check = WholeBodyCheck(scenario.scene, "walker", penetration=0.0)
    q = scenario.scene.q0
    for _ in range(4):  # each of the pieces in turn is moved by α n, until none is inside
        fault = check.collision(q, 0.0, 0)
        if fault is None:
            break
        assert np.linalg.norm(fault.normal) == pytest.approx(1.0)
        q = check.carried(q, fault.normal * (fault.amount + 1e-4))
    assert fault is None and not np.allclose(q, scenario.scene.q0)


def test_a_contact_finds_the_surface_that_it_lies_on(scenario_of, tmp_path):
    scenario = scenario_of("  step: {box: [0.4, 1.0, 0.1], pose: {xyz: [0.4, 0, 0.05]}}")
    text = SEQUENCE.replace("xyz: [0.2, -0.09, 0]", "xyz: [0.4, -0.09, 0.1]")
    (tmp_path / "up.yaml").write_text(text)
    sequence = touched(load_contact_sequence(tmp_path / "up.yaml"), scenario.scene)
    others = {contact.name: contact.other for phase in sequence.phases for contact in phase.contacts}
    assert others == {"left_1": "ground/floor", "right_1": "ground/floor", "right_2": "step/top"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("xyz: [0.2, -0.09, 0]", "xyz: [0.2, -0.09, 0.3]", "no surface of the scene at"),
        ("xyz: [0, 0.09, 0]", "xyz: [0, 3.0, 0]", "cannot be placed on"),
        ("walker", "runner", "of one subsystem of walk"),
    ],
)
def test_a_sequence_that_does_not_fit_the_scene_is_refused(scenario_of, old, new, message):
    with pytest.raises(MultiQpError, match=message):
        follow_sequence(scenario_of(sequence=SEQUENCE.replace(old, new)))


def test_a_missing_file_is_named(scenario_of, tmp_path):
    scenario = scenario_of()
    (tmp_path / "steps.yaml").unlink()
    with pytest.raises(MultiQpError, match="steps.yaml"):
        follow_sequence(scenario)


def test_a_scenario_has_one_definition_of_its_motion(scenario_of):
    plan = "plan: {character: walker, limbs: {foot: left_sole}, goal: {onto: ground/floor}}"
    with pytest.raises(MultiQpError, match="give either `plan` or `contact_sequence`"):
        scenario_of(plan)
    with pytest.raises(MultiQpError, match="give either `contact_sequence` or `states`"):
        scenario_of("states: {here: {}}")
