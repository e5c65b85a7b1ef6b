import numpy as np
import pytest
from contacts import BOXES, walk, wrench_points

from com_trajectory.dynamic import plan_dynamic
from com_trajectory.phases import ContactMargin, planned_phases
from com_trajectory.planner import PlanOptions, plan_com, transition_points
from com_trajectory.trajectory import validate


def certified(trajectory):
    """The certificate: control points of the wrench in the cone, on each phase's part of each piece."""
    starts = np.concatenate([[0.0], trajectory.phase_ends[:-1]])
    worst = 0.0
    for piece in trajectory.pieces:
        for phase, begin, end in zip(trajectory.phases, starts, trajectory.phase_ends, strict=True):
            first, last = max(begin, piece.start), min(end, piece.end)
            if last - first < 1e-6:
                continue
            part = piece.part((first - piece.start) / piece.duration, (last - piece.start) / piece.duration)
            cut = part.parts(48)  # parts across two certified ones may violate by their squared size
            wrenches = wrench_points(cut, part.duration / 48, phase.cone.origin)
            worst = max(worst, float(phase.cone.violations(wrenches).max()))
    return worst


def test_a_dynamic_curve_is_certified_and_faster_than_one_at_rest():
    sequence = walk(4)
    slow = plan_com(sequence, BOXES, options=PlanOptions(sliding=False))
    fast = plan_com(sequence, BOXES, options=PlanOptions(dynamic=True))
    assert fast.method == "dynamic"
    assert fast.duration < slow.duration
    assert certified(fast) < 2e-5
    assert certified(slow) < 2e-5
    valid = validate(fast, step=0.002)
    assert valid.dynamic_share == valid.kinematic_share == 1.0
    for first, second in zip(fast.pieces[:-1], fast.pieces[1:], strict=True):
        for order in (0, 1, 2):
            assert first.derivative(order)(first.end) == pytest.approx(second.derivative(order)(second.start), abs=1e-7)


def test_without_a_feasible_duration_the_planner_falls_back_and_notes_the_reason():
    ice = walk(2, friction=0.0)
    found = plan_com(ice, BOXES, options=PlanOptions(dynamic=True))
    assert found.method == "2pac"
    assert any("not dynamic: no duration lets (1) and (4) hold in phases" in note for note in found.notes)
    phases = planned_phases(ice, "walker", BOXES)
    assert isinstance(plan_dynamic(phases, transition_points(phases, PlanOptions()), [], np.zeros(len(phases))), str)


def test_phases_have_their_least_durations_and_only_these_are_longer():
    sequence, least = walk(4), [0.2, 1.5] * 4 + [0.0]
    swings = PlanOptions(dynamic=True, least=lambda phases: least)
    found = plan_com(sequence, BOXES, options=swings)
    durations = np.diff(found.phase_ends, prepend=0.0)
    assert found.method == "dynamic" and certified(found) < 2e-5
    assert (durations >= np.array(least) - 1e-9).all()
    slowed = plan_com(sequence, BOXES, options=PlanOptions(least=swings.least))
    assert (np.diff(slowed.phase_ends, prepend=0.0) >= np.array(least) - 1e-9).all()
    stopping = plan_com(sequence, BOXES, options=PlanOptions("polyline", least=swings.least))
    assert (np.diff(stopping.phase_ends, prepend=0.0) >= np.array(least) - 1e-9).all()
    assert found.duration < 0.9 * stopping.duration < 0.9 * slowed.duration


def test_a_curve_is_near_the_rests_of_its_phases():
    found = plan_com(walk(4), BOXES, options=PlanOptions(dynamic=True))
    places = found.position(np.linspace(0.0, found.duration, 300))
    rests = np.array([phase.rest.point for phase in found.phases])
    assert (places.max(axis=0) <= rests.max(axis=0) + 0.031).all()
    assert (places.min(axis=0) >= rests.min(axis=0) - 0.031).all()


def test_a_reserve_is_not_used():
    sequence, contact_margin = walk(3), ContactMargin(edge=0.03, friction=0.5)
    found = plan_com(sequence, BOXES, options=PlanOptions(dynamic=True, contact_margin=contact_margin))
    assert found.method == "dynamic" and certified(found) < 2e-5
    (foot,) = found.phases[1].phase.contacts
    middle = foot.points_in_world.mean(axis=0)
    whole, kept = planned_phases(sequence, "walker", BOXES)[1], found.phases[1]
    inner = np.abs(np.array([0.105, 0.05])) * (1.0 - 0.03 / np.hypot(0.105, 0.05))
    for axis in range(2):
        place = middle.copy()
        place[axis] += inner[axis] + 0.002
        assert whole.region.margin(place[None])[0] > 0.0 > kept.region.margin(place[None])[0]
    slides = np.array([0.4, 0.0, 1.0, 0.0, 0.0, 0.0])  # 0.6 friction carries it, 0.3 does not
    at_foot = slides.copy()
    at_foot[3:] = np.cross(middle - whole.cone.origin, slides[:3])
    kept_wrench = slides.copy()
    kept_wrench[3:] = np.cross(middle - kept.cone.origin, slides[:3])
    assert whole.cone.violations(at_foot[None])[0] < 1e-9 < 1e-3 < kept.cone.violations(kept_wrench[None])[0]
