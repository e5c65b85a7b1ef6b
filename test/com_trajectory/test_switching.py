"""Contact changes along a curve: the compiled search against exhaustive search."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pinocchio as pin
import pytest
from contacts import foot
from hypothesis import given, settings
from hypothesis import strategies as st

from com_trajectory.bezier import Bezier
from com_trajectory.phases import planned_phases
from com_trajectory.polytope import Polytope
from com_trajectory.switching import CHANGING_SHARE, best_switching
from multi_qp_scene.contact_sequence import ContactPhase, ContactSequence


def walking(rng, count, slippery):
    """Two or three phases with random reaches; on a slippery slope there is no equilibrium on the left foot alone."""
    reaches = {
        name: Polytope.hull(np.array([0.0, 0.0, -0.7]) + rng.normal(size=(14, 3)) * np.array([0.25, 0.2, 0.1]))
        for name in ("left_sole", "right_sole")
    }
    left, old, new = foot("left", 0, 0), foot("right", 0, 0), foot("right", float(rng.uniform(0.05, 0.3)), 1)
    if slippery:
        tilt = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.4, 0.0), np.zeros(3))
        left = replace(left, pose=left.pose * tilt, friction=0.0)
    contacts = [(left, old), (left,), (left, new)][:count]
    return planned_phases(ContactSequence(tuple(map(ContactPhase, contacts))), "walker", reaches)


def costs_of(phase, points):
    """Cost, violations and margin of each part in a phase, by the documented formula, without the kernel."""
    reach = np.maximum(phase.reach.violation(points).max(axis=1), -0.1)
    region = np.maximum((points @ phase.region.A.T - phase.region.a).max(axis=(1, 2)), -0.03)
    region = np.ones_like(reach) if phase.region.empty else region
    broken, static, margin = np.where(reach > 1e-9, reach, 0.0), np.maximum(region, 0.0), np.maximum(-region, 0.0)
    worth = 1e-3 * (0.13 - margin + np.minimum(reach, 0.0)) + 1e-5 * len(phase.phase.contacts)
    return 1e4 * broken + static + worth, broken, static, margin


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(2, 8), st.booleans())
def test_no_other_instants_violate_less(seed, count, degree, slippery):
    rng = np.random.default_rng(seed)
    phases = walking(rng, count, slippery)
    assert phases[1].region.empty == slippery
    curve = Bezier(np.array([0.1, 0.0, 0.7]) + 0.08 * rng.normal(size=(degree + 1, 3)))
    parts = 12
    points = curve.parts(parts)
    judged = [costs_of(phase, points) for phase in phases]
    inner = round(CHANGING_SHARE * parts)
    best = np.inf, ()
    for cuts in combinations(range(1, parts), count - 1):
        if count == 3 and cuts[1] - cuts[0] < inner:
            continue
        bounds = [0, *cuts, parts]
        sums = [judged[k][0][bounds[k] : bounds[k + 1]].sum() for k in range(count)]
        best = min(best, (sum(sums), cuts))
    found = best_switching(curve, phases, parts=parts)
    assert found.cost == pytest.approx(best[0], rel=1e-9, abs=1e-12)
    bounds = [0, *found.cuts, parts]
    own = [[judged[k][i][bounds[k] : bounds[k + 1]] for k in range(count)] for i in range(4)]
    assert sum(part.sum() for part in own[0]) == pytest.approx(best[0], rel=1e-9, abs=1e-12)
    assert found.kinematic == pytest.approx(max(part.max() for part in own[1]), abs=1e-12)
    assert found.static == pytest.approx(max(part.max() for part in own[2]), abs=1e-12)
    assert found.margin == pytest.approx(min(part.min() for part in own[3]), abs=1e-12)
