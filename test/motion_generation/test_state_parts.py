"""Durations of swings, shifts and changes of posture."""

import numpy as np
import pinocchio as pin
import pytest

from motion_generation.planning import plan_scenario
from motion_generation.state_parts import JOINT_SPEED, least_durations
from multi_qp_scene.contact_sequence import Contact, ContactPhase
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.plan import PaceSpec


def foot(side, x):
    pose = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([x, 0.1 if side == "left" else -0.1, 0.0]))
    return Contact.planar(side, pose, (0.2, 0.1), friction=0.7)


def test_least_durations_are_of_shifts_and_of_swings_with_their_landing():
    left, right, ahead = foot("left", 0.0), foot("right", 0.0), foot("right", 0.34)
    phases = [ContactPhase((left, right)), ContactPhase((left,)), ContactPhase((left, ahead))]
    pace = PaceSpec(limb=0.5, least=0.4, landing=0.3, lift=0.08)
    assert least_durations(pace, phases) == pytest.approx([0.4, (0.34 + 0.16) / 0.5 + 0.3, 0.4])


def test_postures_far_apart_take_longer():
    left, right = foot("left", 0.0), foot("right", 0.0)
    phases = [ContactPhase((left, right)), ContactPhase((left,)), ContactPhase((left, right))]
    still, bent, away = np.zeros(9), np.zeros(9), np.zeros(9)
    bent[8], away[:3] = 2.0, [0.6, 0.0, 0.0]
    pace = PaceSpec(least=0.1)
    assert least_durations(pace, phases, [still, bent, bent])[0] == pytest.approx(2.0 / JOINT_SPEED)
    assert least_durations(pace, phases, [still, away, away])[0] == pytest.approx(2.0)


@pytest.mark.parametrize(("name", "seconds"), [("chair", 12.0), ("climb_hands", 20.0)])
def test_planned_motions_follow_the_fastest_curve(name, seconds):
    scenario = load_scenario(name)
    states = plan_scenario(scenario).scenario.spec.states
    curves = [state.tasks["planned_com"].target.curves for state in states.values() if "planned_com" in state.tasks]
    assert sum(part.duration for parts in curves for part in parts) < seconds


def test_a_robot_without_polytopes_follows_a_curve_as_well(monkeypatch):
    scenario = load_scenario("chair")
    monkeypatch.setattr("motion_generation.planning.load_polytopes", _missing)
    states = plan_scenario(scenario).scenario.spec.states
    assert states["swing_00"].tasks["planned_com"].target.curves


def _missing(model):
    from multi_qp_scene.errors import MultiQpError

    raise MultiQpError(f"no polytopes of {model}")
