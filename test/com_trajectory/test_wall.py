"""Reports on the shipped sequence `wall`, compared with linear programs that share no code with the planner."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.trajectory import validate
from multi_qp_scene.contact_sequence import ContactPhase, ContactSequence
from multi_qp_scene.sequence_file import load_contact_sequence

WITHOUT_HAND = (5, 11, 17)  # phases with both feet and no hand
TILT, FRICTION = np.radians(33.0), 0.6


def polytopes():
    return {name: effector.polytope for name, effector in load_polytopes("humanoid").effectors.items()}


def missing(contacts, com=None, acceleration=None):
    """Least Σ|w − G β|, about the mean contact point; without a centre of mass that of the force alone, at rest."""
    points = np.concatenate([contact.points_in_world for contact in contacts])
    rays = np.concatenate([contact.rays() for contact in contacts])
    lever = points - points.mean(axis=0)
    columns = [np.concatenate([ray, np.cross(arm, ray)]) for arm, own in zip(lever, rays, strict=True) for ray in own]
    force = np.array([0.0, 0.0, 1.0]) + (0.0 if acceleration is None else acceleration / 9.81)
    rows = 3 if com is None else 6
    wrench = force if com is None else np.concatenate([force, np.cross(com - points.mean(axis=0), force)])
    G = np.array(columns).T[:rows]
    equations = np.hstack([G, np.eye(rows), -np.eye(rows)])
    return linprog(np.concatenate([np.zeros(len(columns)), np.ones(2 * rows)]), A_eq=equations, b_eq=wrench).fun


def violations(trajectory, times):
    at = zip(trajectory.position(times), trajectory.acceleration(times), trajectory.phase_at(times), strict=True)
    return np.array([missing(trajectory.phases[k].phase.contacts, c, a) for c, a, k in at])


def test_transitions_without_static_equilibrium_are_reported_with_their_amount():
    found = plan_com(load_contact_sequence("wall"), polytopes())
    angle = TILT - np.arctan(FRICTION)  # of the nearest ray from the vertical
    for number, point in enumerate(found.transitions):
        before, after = found.phases[number].phase, found.phases[number + 1].phase
        remaining = min(before.contacts, after.contacts, key=len)
        impossible = number in WITHOUT_HAND or number + 1 in WITHOUT_HAND
        assert (missing(remaining) > 1e-6) == impossible
        noted = [note for note in found.notes if note.startswith(f"transition {number}: no static equilibrium")]
        assert bool(noted) == impossible
        if impossible:
            assert point.slack == np.inf and point.unbalanced == pytest.approx(np.sin(angle), abs=1e-4)
            assert f"{np.sin(angle):.1%} of the weight" in noted[0]
        else:
            assert point.feasible and missing(remaining, point.point) < 1e-6


def test_the_report_of_violations_along_the_curve_is_that_of_linear_programs():
    found = plan_com(load_contact_sequence("wall"), polytopes())
    valid = validate(found, step=0.1)
    audited = violations(found, valid.times)
    assert np.allclose(valid.wrench, audited, atol=1e-6)
    assert valid.dynamic_share == pytest.approx((audited < 1e-6).mean())
    assert 0.85 < valid.dynamic_share < 0.95 and valid.kinematic_share == 1.0
    assert {int(k) for k in valid.phase[audited > 1e-6]} == set(WITHOUT_HAND)
    fine = violations(found, np.linspace(0.0, found.duration, round(found.duration / 0.05) + 1))
    assert f"the contacts cannot balance the motion at {(fine > 1e-6).mean():.1%} of the instants" in found.notes[-1]
    assert f"{fine.max():.2%} of the weight is missing" in found.notes[-1]


def test_a_dynamic_curve_climbs_the_wall_and_a_slippery_one_says_that_it_cannot():
    sequence = load_contact_sequence("wall")
    found = plan_com(sequence, polytopes(), options=PlanOptions(dynamic=True))
    assert found.method == "dynamic" and found.duration < 7.0
    assert not any("cannot balance" in note for note in found.notes)
    assert violations(found, np.linspace(0.0, found.duration, 60)).max() < 1e-6
    known = {id(c): replace(c, friction=0.5) for phase in sequence.phases for c in phase.contacts}
    slippery = tuple(ContactPhase(tuple(known[id(c)] for c in p.contacts), com=p.com) for p in sequence.phases)
    found = plan_com(ContactSequence(slippery, sequence.models), polytopes(), options=PlanOptions(dynamic=True))
    assert found.method == "2pac"
    assert any("not dynamic: no duration lets (1) and (4) hold in phases 4 to 6" in note for note in found.notes)
