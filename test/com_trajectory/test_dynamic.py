import numpy as np
import pytest
from contacts import BOXES, walk

from com_trajectory.bezier import wrench_points
from com_trajectory.dynamic import plan_dynamic
from com_trajectory.phases import planned_phases
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
    assert isinstance(plan_dynamic(phases, transition_points(phases, PlanOptions()), []), str)
