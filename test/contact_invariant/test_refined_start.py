"""Refinements that continue with firm barriers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from contact_invariant.audit import Finding
from contact_invariant.refined_audit import Dynamics, RefinedAudit
from contact_invariant.refined_start import ROOM, Refining, _cramped, strict_phases
from contact_invariant.refinement import Refinement


@pytest.fixture
def bent(behaviour):
    """Return a function that makes an audit of a posture with the left knee at a distance from its upper limit."""
    scene = behaviour().scene
    knee = [scene.velocity_names[k] for k in scene.limits.v_index].index("humanoid/L_KNEE_P")

    def make(room, *, passed=True):
        q = scene.q0.copy()
        q[scene.limits.q_index[knee]] = scene.limits.upper[knee] - room
        return SimpleNamespace(postures=SimpleNamespace(q=q[None]), passed=passed, missed=int(not passed), findings=())

    return scene, make


def test_a_motion_is_cramped_if_a_joint_is_close_to_its_limit_unless_it_starts_there(bent):
    scene, make = bent
    assert [_cramped(scene, make(room)) for room in (ROOM + 0.001, ROOM - 0.001, -0.1)] == [False, True, True]
    scene.q0[:] = make(0.01).postures.q[0]
    assert [_cramped(scene, make(room)) for room in (0.01, 0.009 - ROOM)] == [False, True]


def test_the_centre_of_mass_is_free_where_patches_rest(behaviour):
    terms = "{type: rest, patches: [left_foot], phase: 1}, {type: upright, phase: 2, weight: 0.9}"
    given = behaviour(phases=3, terms=terms).spec.behaviour
    assert strict_phases(given) == {1, 2}  # it stands at the end


def test_the_centre_of_mass_is_free_where_a_limb_prefers_a_place(behaviour):
    strike = "{{type: strike, effector: left_foot, target: [0, 0, 0], phase: {0}, weight: {1}}}"
    terms = ", ".join([strike.format(1, 0.9), strike.format(2, 1.0)])
    assert strict_phases(behaviour(phases=3, terms=terms).spec.behaviour) == {1, 2}


@pytest.mark.parametrize(
    ("audits", "solved", "kept"),
    [
        ([(0.1, True)], [False], 0),
        ([(0.01, True), (0.1, True)], [False, True], 1),  # it passes, but the QP cannot follow
        ([(0.01, True), (0.1, False)], [False, True], 0),
        ([(0.1, False), (0.1, True)], [False, True], 1),
    ],
)
def test_a_motion_that_breaks_bounds_or_is_cramped_is_refined_again_with_firm_barriers(
    bent, monkeypatch, audits, solved, kept
):
    scene, make = bent
    monkeypatch.setattr("contact_invariant.refined_start.refined_plan", lambda *given: None)
    refining, seen = Refining.__new__(Refining), []
    refining._scene, refining._character, refining._surroundings = scene, None, None
    results = [make(room, passed=passed) for room, passed in audits]
    part = Refinement(*[None] * 2, [], [], 1, 0.0, 1.0, "converged")

    def solve(motion, touched, progress, last=None, *, firm=False, peaks=None):
        assert not peaks
        seen.append(firm)
        return replace(part, before=-1, motion=len(seen) - 1)

    monkeypatch.setattr(refining, "_solved", solve)
    monkeypatch.setattr(refining, "_gains", lambda found: None)
    monkeypatch.setattr(refining, "_audited", lambda motion, number: None if number < 0 else results[number])
    found = refining.refine(None, SimpleNamespace(touched=np.zeros(1)), None)
    assert seen == solved and found.refinement.motion == kept and found.audit is results[kept]
    assert found.refinement.iterations == len(solved)


@pytest.mark.parametrize(
    ("missed", "firmness"),
    [
        ([[]], [False]),
        ([["slip"], []], [False, True]),
        ([["own links"], ["slip"], []], [False, False, True]),
        ([["swing clearance"], []], [False, False]),
        ([["penetration"], ["penetration"], []], [False, True, True]),  # not with soft barriers again
        ([["slip"], ["own links"], []], [False, True, True]),
        ([["torque"], ["torque"], []], [False, True, True]),
        ([["torque"], ["torque"], ["torque"], []], [False, True, True, True]),
        ([["torque"], ["torque"], ["slip"]], [False, True, True]),
        ([["slip"], ["slip"]], [False, True]),
    ],
)
def test_a_refinement_continues_while_it_breaks_bounds(monkeypatch, missed, firmness):
    """Firm barriers once, and again if links overlap or enter the surroundings, or torques exceed their limits.

    Then, and only then, motors that exceed theirs get a smaller share.
    """
    solved, found = continued(monkeypatch, missed, [1.2] * len(missed))
    assert solved == firmness and found.audit.missed == len(missed[-1])
    assert found.refinement.iterations == len(firmness)


@pytest.mark.parametrize(
    ("peaks", "count"),
    [
        ([1.9, 1.5, 1.4, 1.2, 1.1, 0.9], 6),
        ([1.9, 1.5, 1.4, 1.2, 1.1, 1.05], 6),
        ([1.9, 1.5, 1.4, 0.9], 4),
        ([1.9, 1.5, 1.6, 1.5, 1.5], 5),
        ([1.9, 1.5, 1.4, 1.4], 4),
    ],
)
def test_a_refinement_continues_while_torques_decrease(monkeypatch, peaks, count):
    solved, found = continued(monkeypatch, [["torque"] if peak > 1.0 else [] for peak in peaks], peaks)
    assert len(solved) == count == len(peaks)
    assert found.audit.passed == (peaks[-1] < 1.0)


def continued(monkeypatch, missed, peaks):
    """Refine with audits that miss bounds, and torques of a knee; return the firmness of each, and the start."""
    torques, solved, audits = peaks, [], [[], *missed]  # the first is that of the simplified motion

    def solve(motion, touched, progress, last=None, *, firm=False, peaks=None):
        assert (last is None) == (not solved)
        known = solved[-1:] == [True] and "torque" in missed[len(solved) - 1]
        assert (peaks or {}) == pytest.approx({"knee": torques[len(solved) - 1]} if known else {})
        solved.append(firm)
        return Refinement(None, None, [0.0], [0.0], 1, 0.0, 1.0, "converged")

    def audit(motion, refined):
        findings = [Finding(name, 1.0, 0.0, "", "", False) for name in audits.pop(0)]
        high = 50.0 * torques[len(solved) - 1] if findings and findings[0].name == "torque" else 0.0
        moments = np.array([[10.0, -50.0], [0.0, high]])
        return RefinedAudit(tuple(findings), 0.0, None, None, Dynamics(None, moments, None))

    refining = object.__new__(Refining)
    refining._character = refining._surroundings = None
    refining._scene = SimpleNamespace(torque_limits=np.array([20.0, 50.0]), actuated_joint_names=("hip", "knee"))
    monkeypatch.setattr(refining, "_solved", solve)
    monkeypatch.setattr(refining, "_gains", lambda found: None)
    monkeypatch.setattr(refining, "_audited", audit)
    monkeypatch.setattr("contact_invariant.refined_start.refined_plan", lambda *_: None)
    monkeypatch.setattr("contact_invariant.refined_start._cramped", lambda *_: False)
    found = refining.refine(None, SimpleNamespace(touched=np.zeros((2, 1))), None)
    assert not audits
    return solved, found
