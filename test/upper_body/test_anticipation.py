"""Hands that meet obstacles: sight, choice of the hand, reaction time, inverse kinematics, tension."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_controller import Controller
from multi_qp_scene import ConfigError, load_scenario
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scene import State
from multi_qp_scene.schema.upper_body import SightSpec
from multi_qp_simulator.runner import run_scenario
from upper_body.arm_kinematics import ArmKinematics
from upper_body.sight import Sight

DT = 0.005
#: Place of the middle of the bag ahead of the humanoid's shoulders [m]: hook and rope of the scene.
HOOK, ROPE, RADIUS = np.array([1.3, 0.0, 2.2]), 1.2, 0.14


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("bag")


def bag_at(scenario, pitch, rate=0.0, roll=0.0):
    """Return the initial state with the bag at these angles."""
    state, part = scenario.scene.initial_state(), scenario.scene.subsystems["bag"]
    q, v = state.q.copy(), state.v.copy()
    q[part.q_slice], v[part.v_slice] = [pitch, roll], [rate, 0.0]
    return State(q, v)


def arms_after(scenario, state, ticks=1):
    """Return the generator of the arms after ticks at a constant state."""
    controller = Controller(scenario)
    for tick in range(ticks):
        controller.step(state, tick * DT)
    return controller.generator("arms")


def edited(tmp_path, change):
    """Load a copy of the scene whose generator of the arms is changed."""
    data = yaml.safe_load(scenario_path("bag").read_text())
    change(data)
    path = tmp_path / "bag.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return load_scenario(path)


def with_arms(**keys):
    def change(data):
        for state in data["states"].values():
            state["generators"]["arms"] |= keys

    return change


@pytest.mark.parametrize(
    ("place", "seen"), [([1, 0, 0], True), ([-1, 0, 0], False), ([0.3, 1.5, 0], False), ([0.3, 0, 1.5], False)]
)
def test_only_what_is_in_the_visible_volume_is_seen(scenario, place, seen):
    controller = Controller(scenario)
    controller.step(bag_at(scenario, 0.0), 0.0)
    sight = Sight(controller.surroundings, ["bag"], SightSpec(link="head", horizontal=0.8, vertical=0.8))
    middle = HOOK - [0, 0, ROPE]
    eye = pin.SE3(np.eye(3), middle - place)
    assert sight.visible(eye)[0].any() == seen


def test_nearest_point_and_its_velocity(scenario):
    state, controller = bag_at(scenario, -0.3, 0.8), Controller(scenario)
    controller.step(state, 0.0)
    sight = Sight(controller.surroundings, ["bag"], SightSpec(link="head"))
    middle = HOOK + pin.utils.rotate("y", -0.3) @ [0.0, 0.0, -ROPE]
    place = middle - [1.0, 0.0, 0.0]
    (found,) = sight.nearest(place, np.array([True]), middle[None], 2.0)
    ends = [HOOK + pin.utils.rotate("y", -0.3) @ [0.0, 0.0, -ROPE + side] for side in (-0.11, 0.11)]
    near = min(
        (end + s * (ends[1] - end) for end in ends[:1] for s in np.linspace(0, 1, 2001)),
        key=lambda p: np.linalg.norm(p - place),
    )
    assert found.distance == pytest.approx(np.linalg.norm(near - place) - RADIUS, abs=2e-3)
    np.testing.assert_allclose(found.velocity, np.cross([0.0, 0.8, 0.0], found.point - HOOK), atol=1e-9)


@pytest.mark.parametrize("side", ["left", "right"])
def test_palms_reach_places_and_face_directions(scenario, side):
    scene, random = scenario.controlled.scene, np.random.default_rng(4)
    v_index = np.array(
        [k for k, name in enumerate(scene.velocity_names) if name.split("/")[1][2:].startswith(("SH", "EL", "WR"))]
    )
    shoulder = scene.frame_id(f"humanoid/{side[0]}_shoulder_pitch_link")
    arm = ArmKinematics(scene, scene.surfaces[f"humanoid/{side}_palm"], shoulder, v_index)
    assert len(arm.hinges) == 7
    data, q_index = scene.model.createData(), scene.angle_index[v_index]
    ready = np.array([scene.subsystems["humanoid"].postures["ready"]])[0]
    nominal = np.concatenate([scene.q0[:0], ready])[q_index - scene.subsystems["humanoid"].q_slice.start]
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    centre = data.oMf[shoulder].translation.copy()
    for _ in range(20):
        aside = random.uniform(-0.5, 0.5)
        direction = pin.utils.rotate("z", aside) @ pin.utils.rotate("y", random.uniform(-0.4, 0.5)) @ [1.0, 0.0, 0.0]
        place = centre + random.uniform(0.33, 0.42) * direction
        angles = nominal.copy()
        arm.solve(scene.q0, angles, nominal, place, direction, 60)
        q = scene.q0.copy()
        q[q_index] = angles
        pin.framesForwardKinematics(scene.model, data, q)
        pose = data.oMf[arm.palm]
        assert np.linalg.norm(pose.translation - place) < 0.01
        assert np.degrees(np.arccos(min(1.0, pose.rotation[:, 2] @ direction))) < 20.0
        free = np.setdiff1d(np.arange(len(nominal)), arm.hinges)
        np.testing.assert_array_equal(angles[free], nominal[free])


def test_both_hands_meet_a_heavy_obstacle(scenario):
    arms = arms_after(scenario, bag_at(scenario, 0.7))
    assert arms.targets.tolist() == [0.0, 0.0]


def test_one_hand_meets_a_light_obstacle_at_its_side(tmp_path):
    light = edited(tmp_path, with_arms(expected={"bag": {"mass": 1.0}}))
    for roll, expected in ((0.3, [0.0, -1.0]), (-0.3, [-1.0, 0.0])):
        assert arms_after(light, bag_at(light, 0.7, roll=roll)).targets.tolist() == expected


@pytest.mark.parametrize(("pitch", "rate", "seen"), [(-0.2, 0.0, False), (-0.2, 1.0, True), (-0.2, -1.0, False)])
def test_what_comes_near_is_met_what_leaves_is_not(scenario, pitch, rate, seen):
    arms = arms_after(scenario, bag_at(scenario, pitch, rate))
    assert (arms.targets >= 0).all() == seen


def test_the_reaction_time_depends_on_distance_and_speed(scenario):
    """[Alvarado2022] (5): α (d − r)/|v| within its bounds."""
    slow, fast = (arms_after(scenario, bag_at(scenario, -0.25, rate)) for rate in (0.8, 1.2))
    assert slow.durations.min() > 1.2 * fast.durations.max()
    low, high = 0.3, 2.0
    for arms in (slow, fast):
        assert ((low <= arms.durations) & (arms.durations <= high)).all()


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 10.0 / 15.0), (0.1, 1.0 / 15.0), (3.0, 1.0)])
def test_tension_follows_the_expected_mass(factor, expected):
    """[Alvarado2022] (6)."""
    scenario = load_scenario("bag", parameters={"expected.factor": factor})
    arms = arms_after(scenario, bag_at(scenario, 0.7), 300)
    tensions = arms.tensions[arms.targets >= 0]
    assert len(tensions)
    np.testing.assert_allclose(tensions, expected, atol=1e-6)


def test_an_obstacle_may_have_its_own_bounds(tmp_path):
    own = {"bag": {"mass": 7.5, "reaction": [0.9, 0.9], "tension": [0.2, 0.4]}}
    arms = arms_after(edited(tmp_path, with_arms(expected=own)), bag_at(load_scenario("bag"), 0.7), 300)
    np.testing.assert_allclose(arms.durations, 0.9)
    np.testing.assert_allclose(arms.tensions, 0.3, atol=1e-6)


def test_a_checkpoint_resumes_the_same_torques(scenario):
    state, controller, other = bag_at(scenario, 0.7), Controller(scenario), Controller(scenario)
    for tick in range(30):
        controller.step(state, tick * DT)
    other.set_state(controller.get_state())
    first, second = controller.step(state, 30 * DT), other.step(state, 30 * DT)
    np.testing.assert_array_equal(first.tau, second.tau)


def test_an_obstacle_at_an_absurd_speed_leaves_the_torques_within_their_limits(scenario):
    controller, limits = Controller(scenario), scenario.scene.torque_limits
    for tick, rate in enumerate([0.0, 1e3, -1e3, 1e8]):
        command = controller.step(bag_at(scenario, 0.2, rate), tick * DT)
        assert command.diagnostics.status.name == "OK"
        assert (np.abs(command.tau) <= limits * (1.0 + 1e-6)).all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"obstacles": ["humanoid"]}, "humanoid"),
        ({"regions": {"face": {"link": "head", "obstacles": ["sack"]}}}, "sack"),
        ({"expected": {"sack": {"mass": 1}}}, "sack"),
        ({"expected": {"bag": {"mass": 0}}}, "mass"),
        ({"hands": {"left": {"palm": "left_plam", "shoulder": "torso"}}}, "left_plam"),
        ({"hands": {"left": {"palm": "left_palm", "shoulder": "tors"}}}, "tors"),
        ({"sight": {"link": "hed"}}, "hed"),
        ({"reaction": [1, 0.5]}, "reaction"),
        ({"hold": 0.6}, "reach"),
        ({"expected": {"bag": {"reaction": [1, 0.5]}}}, "reaction"),
        ({"expected": {"bag": {"tension": [1, 0.5]}}}, "tension"),
    ],
)
def test_errors_name_the_key(tmp_path, keys, message):
    with pytest.raises(ConfigError, match=f"bag.yaml.*{message}"):
        edited(tmp_path, with_arms(**keys))


def test_the_bag_is_stopped_by_the_hands():
    scenario = load_scenario("bag")
    result = run_scenario(scenario, backend="mujoco", duration=5.0)
    touches = {tuple(sorted(touch["bodies"])) for touch in result.report["touches"]}
    hands = {f"humanoid/{side}_wrist_roll_link" for side in "lr"}
    touched = {link for pair in touches if "bag/bag" in pair for link in pair} - {"bag/bag"}
    assert hands <= touched <= hands | {f"humanoid/{side}_wrist_yaw_link" for side in "lr"}
    assert not result.report["qp_failures"]
    assert not result.report["health"]["problems"]


def test_without_sight_it_hits_the_trunk():
    result = run_scenario(load_scenario("bag", parameters={"watch": 0}), backend="mujoco", duration=5.0)
    assert ["bag/bag", "humanoid/torso"] in [sorted(touch["bodies"]) for touch in result.report["touches"]]
    assert any("humanoid/torso" in one for one in result.report["health"]["problems"])


@pytest.mark.slow
@pytest.mark.parametrize(("mass", "factor"), [(5, 1), (10, 1), (15, 1), (15, 1 / 15)])
def test_bags_of_all_masses_are_stopped(mass, factor):
    result = run_scenario(
        load_scenario("bag", parameters={"bag.mass": mass, "expected.factor": factor}), backend="mujoco"
    )
    assert result.succeeded


def test_settings_change_reaction_region_and_expectations(scenario):
    def arms_with(**settings):
        controller = Controller(scenario)
        for name, value in settings.items():
            controller.adjust("arms", name, value)
        for tick in range(300):
            controller.step(bag_at(scenario, 0.7), tick * DT)
        return controller.generator("arms")

    arms = arms_with()
    halved = arms_with(expected_mass=0.5)
    np.testing.assert_allclose(halved.expectations.masses, 0.5 * arms.expectations.masses)
    np.testing.assert_allclose(halved.tensions, 0.5 * arms.tensions, atol=1e-9)
    slow, wide = arms_with(reaction=2.0).rules, arms_with(radius=0.75).rules
    assert slow.reaction == (2.0, max(2.0, arms.rules.reaction[1])) and slow.radius == arms.rules.radius
    assert wide.radius == 0.75 and wide.reaction == arms.rules.reaction
