import numpy as np
import pinocchio as pin
import pytest
from contacts import point, random_contacts
from hypothesis import given, settings
from hypothesis import strategies as st

from com_trajectory.costs import QuadraticCost
from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.polytope import Polytope
from com_trajectory.transition import transition_by_loads, transition_by_region, transition_exists
from com_trajectory.wrench_cone import WrenchCone

SEEDS = st.integers(0, 10_000)


def problem(seed, count, *, gap=0.0):
    rng = np.random.default_rng(seed)
    contacts = random_contacts(rng, count)
    ball = rng.normal(size=(100, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    own = Polytope(ball, ball @ np.array([0.0, 0, 0.6]) + 0.6)
    places = [
        pin.SE3(np.eye(3), contact.pose.translation + gap * np.array([k, 0, 0])) for k, contact in enumerate(contacts)
    ]
    reach = Polytope.intersection(own.transformed(place) for place in places)
    return contacts, reach, QuadraticCost.towards(np.array([0, 0, 0.6]) + rng.normal(size=3) * 0.4)


@settings(max_examples=120, deadline=None)
@given(SEEDS, st.integers(1, 6), st.sampled_from([0.0, 0.5]))
def test_6_and_13_have_the_same_solution_feasible_or_not(seed, count, gap):
    contacts, reach, cost = problem(seed, count, gap=gap)
    region = equilibrium_region(contacts)
    by_loads = transition_by_loads(WrenchCone(contacts), reach, cost)
    by_region = transition_by_region(region, reach, cost)
    assert np.isfinite(by_loads.point).all()
    if region.empty:
        assert by_region is None
        assert by_loads.unbalanced > 0.0
        return
    assert by_region.point == pytest.approx(by_loads.point, abs=1e-6)
    assert by_region.slack == pytest.approx(by_loads.slack, abs=1e-6)
    assert by_region.kinematic_slack == pytest.approx(by_loads.kinematic_slack, abs=1e-6)
    if by_loads.kinematic_slack == 0.0:
        assert transition_exists(region, reach) == by_loads.feasible  # the LP (5)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 4))
def test_a_feasible_point_satisfies_both_and_no_sampled_point_is_better(seed, count):
    contacts, reach, cost = problem(seed, count)
    region, cone = equilibrium_region(contacts), WrenchCone(contacts)
    found = transition_by_loads(cone, reach, cost)
    if not found.feasible:
        return
    assert reach.contains(found.point, tolerance=1e-7)
    assert region.margin(found.point) > -1e-7
    value = 0.5 * found.point @ cost.Q @ found.point + cost.q @ found.point
    rng = np.random.default_rng(seed)
    samples = found.point + rng.normal(size=(400, 3)) * np.array([0.1, 0.1, 0.1])
    good = reach.contains(samples) & (region.margin(samples) >= 0)
    values = 0.5 * np.einsum("ki,ij,kj->k", samples, cost.Q, samples) + samples @ cost.q
    assert (values[good] >= value - 1e-6).all()


def test_slack_is_the_distance_to_the_region_in_metres():
    contacts = [point(str(k), xyz) for k, xyz in enumerate([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0)])]
    reach = Polytope.box([0.5, 0.0, 0.5], [1.0, 0.1, 1.0])
    cost = QuadraticCost.towards(np.array([0.9, 0.0, 0.7]))
    found = transition_by_loads(WrenchCone(contacts), reach, cost)
    assert not found.feasible
    assert found.point == pytest.approx([0.5, 0.0, 0.7], abs=1e-5)
    assert found.slack == pytest.approx(0.3, abs=1e-5)


def test_contacts_without_load_and_reaches_without_a_common_point_still_yield_a_point():
    ceiling = [point("a", (0, 0, 2), (0, 0, -1))]
    reach = Polytope.box([-1, -1, 0], [1, 1, 1])
    found = transition_by_loads(WrenchCone(ceiling), reach, QuadraticCost.towards(np.array([0.3, 0.2, 0.5])))
    assert found.slack == np.inf
    assert found.unbalanced == pytest.approx(1.0, abs=1e-3)  # the whole weight
    apart = Polytope.intersection([Polytope.box([0, 0, 0], [1, 1, 1]), Polytope.box([1.2, 0, 0], [2, 1, 1])])
    floor = [point(str(k), xyz) for k, xyz in enumerate([(0, 0, 0), (2, 0, 0), (0, 1, 0)])]
    found = transition_by_loads(WrenchCone(floor), apart, QuadraticCost.towards(np.zeros(3)))
    assert found.kinematic_slack == pytest.approx(0.1, abs=1e-6)
    assert found.point[0] == pytest.approx(1.1, abs=1e-5)


def test_a_preload_keeps_the_point_off_the_edge():
    contacts = random_contacts(np.random.default_rng(2), 1, tilt=0.0)
    region = equilibrium_region(contacts)
    reach = Polytope.box([-5, -5, 0.5], [5, 5, 1.0])
    cost = QuadraticCost.towards(np.array([3.0, 0.0, 0.7]))
    bare = transition_by_loads(WrenchCone(contacts), reach, cost)
    robust = transition_by_loads(WrenchCone(contacts), reach, cost, preload=0.25)
    assert region.margin(bare.point) == pytest.approx(0.0, abs=1e-7)
    assert region.margin(robust.point) > 0.01
