"""Health of runs: touches that no contact connects, and bounds on slip, overlaps and QP failures."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from multi_qp_cli.main import main
from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.health import HealthSpec
from multi_qp_simulator.health import health_of
from multi_qp_simulator.runner import run_scenario
from multi_qp_simulator.touches import measured_pairs

#: Quantities of `worst` with a bound.
WORST = [
    "contact_slip_m",
    "contact_twist_rad",
    "penetration_m",
    "torque_ratio",
    "velocity_ratio",
    "joint_limit_violation_rad",
]
#: A box of 3 kg 20 mm above a table that no contact connects to it.
FALLING = """\
description: a box above a table
duration: 0.5
subsystems:
  box: {model: box, pose: {xyz: [0, 0, 0.13]}}
environment:
  table: {box: [1, 1, 0.2], pose: {xyz: [0, 0, -0.1]}}
initial_state: wait
states:
  wait: {hold: 0.4}
"""

#: A standing humanoid that moves its right upper arm against its chest, without collision avoidance.
SQUEEZING = """\
description: a humanoid presses an arm into its chest
duration: 4
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment:
  ground: {model: ground}
contacts:
  left_foot: {surfaces: [humanoid/left_sole, ground/floor]}
  right_foot: {surfaces: [humanoid/right_sole, ground/floor]}
collisions: {self_collisions: []}
initial_state: press
states:
  press:
    contacts: [left_foot, right_foot]
    hold: 1.5
    tasks:
      balance:
        type: com
        subsystems: [humanoid]
        axes: [x, y]
        target: {over_contacts: [left_foot, right_foot]}
        weight: 100
      posture: {type: posture, subsystem: humanoid, posture: {R_SHOULDER_R: 0.2}}
goals:
  pressed: {type: state, state: press}
"""


@pytest.fixture
def write(tmp_path):
    def make(text: str):
        path = tmp_path / "scene.yaml"
        path.write_text(text)
        return path

    return make


def test_a_fall_through_a_table_without_a_contact_is_an_overlap(write):
    report = run_scenario(load_scenario(write(FALLING))).report
    (touch,) = report["touches"]
    assert touch["bodies"] == ["box/box_link", "table/block"] and touch["overlap_state"] == "wait"
    fallen = 0.5 * 9.81 * report["sim_time"] ** 2 - 0.02
    assert touch["overlap_m"] == pytest.approx(min(fallen, 0.22), abs=0.1) and touch["overlap_m"] > 0.1
    assert touch["force_n"] is touch["force_of_weight"] is None
    assert report["completed"] and not report["health"]["healthy"]
    assert "box/box_link was" in report["health"]["problems"][0]


def test_a_contact_that_is_not_active_hides_no_overlap(write):
    contact = "contacts:\n  on_table: {surfaces: [box/bottom, table/top]}\n"
    (touch,) = run_scenario(load_scenario(write(FALLING + contact))).report["touches"]
    assert touch["bodies"] == ["box/box_link", "table/block"] and touch["overlap_m"] > 0.1


def test_a_touch_in_mujoco_has_its_largest_force(write):
    report = run_scenario(load_scenario(write(FALLING)), backend="mujoco").report
    (touch,) = report["touches"]
    assert touch["bodies"] == ["box/box_link", "table/block"]
    assert 3.0 * 9.81 <= touch["force_n"] < 3000.0  # with the impact
    assert touch["force_of_weight"] is None and report["health"]["healthy"]  # no character is struck
    assert np.sqrt(2 * 0.02 / 9.81) - 0.02 <= touch["force_time"] <= report["sim_time"]
    assert touch["force_state"] == "wait"


def test_the_force_of_a_contact_that_is_not_active_is_listed(write):
    contact = "contacts:\n  on_table: {surfaces: [box/bottom, table/top]}\n"
    report = run_scenario(load_scenario(write(FALLING + contact)), backend="mujoco").report
    ((name, found),) = report["unplanned_forces"].items()
    assert name == "on_table" and 3.0 * 9.81 <= found["force_n"] < 3000.0 and found["force_state"] == "wait"
    falling = np.sqrt(2 * 0.02 / 9.81)
    assert found["force_time"] >= falling - 0.02
    assert found["ticks"] == pytest.approx((report["sim_time"] - falling) / report["dt"], abs=3)


@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_an_arm_inside_the_chest_is_named_and_fails_the_run(write, backend, tmp_path, capsys):
    path, file = write(SQUEEZING), tmp_path / "report.json"
    assert main(["run", str(path), "--headless", "--backend", backend, "--report", str(file)]) == 1
    said = capsys.readouterr().out
    assert "scene: goals reached, not healthy; completed" in said
    assert "humanoid/r_shoulder_yaw_link was" in said and "inside humanoid/torso" in said
    assert ("with --backend mujoco they collide" in " ".join(said.split())) is (backend == "integrator")
    touches = {frozenset(touch["bodies"]): touch for touch in json.loads(file.read_text())["touches"]}
    wrist = touches[frozenset(("humanoid/r_wrist_yaw_link", "humanoid/base_link"))]
    # MuJoCo's shapes are solid where they do not overlap by construction
    assert wrist["force_n"] > 5.0 if backend == "mujoco" else wrist["overlap_m"] > 0.02


def test_a_character_that_strikes_itself_is_named_with_the_force(write):
    scenario = load_scenario(write(SQUEEZING + "health: {touch_force: 0.005, overlap: 1}\n"))
    weight = 9.81 * scenario.scene.subsystems["humanoid"].mass
    report = run_scenario(scenario, backend="mujoco").report
    struck = [touch for touch in report["touches"] if (touch["force_n"] or 0.0) > 0.005 * weight]
    assert struck and all(touch["force_of_weight"] == pytest.approx(touch["force_n"] / weight) for touch in struck)
    problems = [text for text in report["health"]["problems"] if " struck " in text]
    assert len(problems) == len(struck) and f"(at most {0.005 * weight:.0f})" in problems[0]


def test_a_scenario_may_widen_the_bounds(write):
    widened = FALLING + "health: {overlap: 2}\n"
    assert run_scenario(load_scenario(write(widened))).succeeded


def test_pairs_are_without_neighbours_and_with_the_contacts_that_connect_them():
    scenario = load_scenario("box")
    names = [item.name for item in scenario.scene.collision_model.geometryObjects]
    pairs = {
        frozenset(names[k].rsplit("_", 1)[0] for k in pair): contacts
        for pair, contacts in measured_pairs(scenario).items()
    }
    assert not pairs[frozenset(("humanoid/torso", "humanoid/r_shoulder_yaw_link"))]
    assert frozenset(("humanoid/torso", "humanoid/head")) not in pairs
    assert pairs[frozenset(("box/box_link", "table/table_link"))]


REPORT = {
    "qp_failures": 0,
    "failure": None,
    "contacts_made": [],
    "contacts_missed": [],
    "lost_contacts": [],
    "touches": [],
    "worst": {
        "contact_slip_m": 0.001,
        "contact_twist_rad": 0.001,
        "penetration_m": 0.0,
        "torque_ratio": 1.0,
        "velocity_ratio": 0.5,
        "joint_limit_violation_rad": 0.0,
    },
}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("contact_slip_m", 0.029, "a contact slipped by 29 mm (at most 10)"),
        ("contact_twist_rad", 0.2, "a contact turned by 200 mrad (at most 100)"),
        ("penetration_m", 0.02, "watched bodies overlapped by 20 mm (at most 5)"),
        ("torque_ratio", 1.2, "torque / limit was 1.2 (at most 1)"),
        ("velocity_ratio", 6.0, "joint velocity / limit was 6 (at most 1.05)"),
        ("velocity_ratio", float("nan"), "joint velocity / limit was nan (at most 1.05)"),
        ("joint_limit_violation_rad", 0.1, "a joint was outside its limits by 100 mrad (at most 10)"),
    ],
)
def test_each_bound_names_its_quantity(key, value, words):
    assert health_of(REPORT, HealthSpec())["healthy"]
    report = REPORT | {"worst": REPORT["worst"] | {key: value}}
    assert health_of(report, HealthSpec()) == {"healthy": False, "problems": [words]}


def test_failed_qps_are_counted_and_the_first_is_named():
    report = REPORT | {"qp_failures": 5, "failure": {"time": 1.25, "state": "lift"}}
    (problem,) = health_of(report, HealthSpec())["problems"]
    assert problem == "5 ticks without a QP solution as stated, first at 1.250 s in 'lift' (at most 0)"
    assert health_of(report, HealthSpec(qp_failures=5))["healthy"]


def test_a_start_outside_joint_limits_counts_from_there():
    report = REPORT | {"worst": REPORT["worst"] | {"joint_limit_violation_rad": 0.1}}
    assert health_of(report, HealthSpec(), outside_at_start=0.1)["healthy"]


def test_contacts_that_are_made_open_are_named():
    made = {"contact": "sole", "state": "walk", "time": 1.25, "gap_m": 0.0072, "angle_rad": 0.1, "open": True}
    assert health_of(REPORT | {"contacts_made": [made | {"open": False}]}, HealthSpec())["healthy"]
    *named, rest = health_of(REPORT | {"contacts_made": [made] * 7}, HealthSpec())["problems"]
    said = "contact 'sole' was made at 1.25 s in 'walk' with its surfaces 7.2 mm and 5.73° apart"
    assert named == [said + " (more than its tolerance)"] * 5
    assert rest == "2 more contacts were made with their surfaces apart"


def test_planned_contacts_that_are_not_made_are_named():
    missed = {"contact": "palm", "state": "motion", "time": 0.7, "until": 1.25}
    *named, rest = health_of(REPORT | {"contacts_missed": [missed] * 6}, HealthSpec())["problems"]
    said = "contact 'palm', planned from 0.70 to 1.25 s in 'motion', was not made: nothing touched"
    assert named == [said] * 5 and rest == "1 more planned contacts were not made"


def test_contacts_are_made_with_a_speed(write):
    states = """\
contacts:
  on_table: {surfaces: [box/bottom, table/top], tolerance: {distance: 0.1}}
initial_state: fall
states:
  fall: {transitions: [{to: lie, when: {type: time, after: 0.06}}]}
  lie: {contacts: [on_table], hold: 0.1}
"""
    scenario = load_scenario(write(FALLING[: FALLING.index("initial_state")] + states))
    (made,) = run_scenario(scenario).report["contacts_made"]
    assert made["speed"] == pytest.approx(9.81 * made["time"], abs=1e-3) and made["time"] >= 0.06


def test_active_contacts_that_bear_nothing_are_named():
    lost = {"contact": "sole", "state": "walk", "time": 1.25, "duration": 0.1, "force_n": 200.0, "impulse_ns": 15.0}
    of_weight = lost | {"impulse_of_weight": 15.0 / 400.0}
    assert health_of(REPORT | {"lost_contacts": [of_weight]}, HealthSpec(lost_impulse=0.04))["healthy"]
    assert health_of(REPORT | {"lost_contacts": [lost | {"impulse_of_weight": None}]}, HealthSpec())["healthy"]
    *named, rest = health_of(REPORT | {"lost_contacts": [of_weight] * 6}, HealthSpec())["problems"]
    said = "active contact 'sole' bore nothing for 100 ms from 1.25 s on in 'walk', where the QP expected 15 N s"
    assert named == [said + " (at most 4)"] * 5 and rest == "1 more active contacts bore nothing"


def test_contacts_that_begin_in_the_air_bear_nothing_until_they_touch(write):
    """The wide `contact_tolerance` lets them begin 5 cm above the ground; the QP stretches the legs."""
    standing = load_scenario(write(SQUEEZING)).scene.q0
    high = SQUEEZING.replace(
        "place: {surfaces: [left_sole, right_sole], onto: ground/floor}", f"pose: {{xyz: [0, 0, {standing[2] + 0.05}]}}"
    )
    scenario = load_scenario(write(high.replace("hold: 1.5", "hold: 0.3") + "contact_tolerance: {distance: 0.1}\n"))
    report = run_scenario(scenario, backend="mujoco").report
    falling, weight = np.sqrt(2 * 0.05 / 9.81), 9.81 * scenario.scene.subsystems["humanoid"].mass
    assert {lost["contact"] for lost in report["lost_contacts"]} == {"left_foot", "right_foot"}
    for lost in report["lost_contacts"]:
        assert lost["time"] == 0.0 and lost["state"] == "press" and lost["force_n"] > 0.3 * weight
        assert 0.02 < lost["duration"] < falling + 0.01
        assert 0.3 * weight * lost["duration"] < lost["impulse_ns"] < lost["force_n"] * lost["duration"]
        assert lost["impulse_ns"] == pytest.approx(lost["impulse_of_weight"] * weight)
    assert any(text.startswith("active contact 'left_foot' bore nothing for ") for text in report["health"]["problems"])
    assert run_scenario(load_scenario(write(SQUEEZING)), backend="mujoco").report["lost_contacts"] == []


@pytest.mark.parametrize("pair", [("box/box", "table/*"), ("table/*", "box/*")])
def test_links_that_must_not_touch(pair):
    touch = {"bodies": ["box/box", "table/table"], "overlap_m": 0.0, "force_n": 29.4, "force_of_weight": None}
    report = REPORT | {"touches": [touch]}
    assert health_of(report, HealthSpec())["healthy"]
    assert health_of(report, HealthSpec(untouched=[pair]))["problems"] == ["box/box touched table/table with 29 N"]


def test_links_that_must_not_touch_are_known(tmp_path):
    (tmp_path / "scene.yaml").write_text(FALLING + "health: {untouched: [[box/bix, table/*]]}\n")
    with pytest.raises(ConfigError, match="scene.yaml.*'box/bix'"):
        load_scenario(tmp_path / "scene.yaml")


def test_bodies_inside_of_each_other_at_the_start_are_refused(tmp_path):
    """A bag that hangs inside of the humanoid is refused, by `multi-qp check` too, unless the scenario permits it."""
    text = scenario_path("bag").read_text("utf-8").replace("[1.3, 0, 2.2]", "[0.05, 0, 2.2]")
    (tmp_path / "inside.yaml").write_text(text, "utf-8")
    scenario = load_scenario(str(tmp_path / "inside.yaml"), parameters={"swing": 0.0})
    with pytest.raises(
        MultiQpError, match=r"overlap at the start: bag/bag is 1\d\d mm inside humanoid/torso.*\(30 mm\)"
    ):
        run_scenario(scenario, duration=0.1)
    assert main(["check", str(tmp_path / "inside.yaml"), "--set", "swing=0"]) == 2
    wide = dataclasses.replace(scenario, spec=scenario.spec.model_copy(update={"health": HealthSpec(overlap=0.3)}))
    run_scenario(wide, duration=0.01)
