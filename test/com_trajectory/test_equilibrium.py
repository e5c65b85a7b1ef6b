import json
from pathlib import Path

import numpy as np
import pytest
from contacts import point, random_contacts
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls
from scipy.spatial import ConvexHull

from com_trajectory.equilibrium import HORIZON, equilibrium_region
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_cli.benches.com_problems import verdicts
from multi_qp_scene.contact_sequence import Contact, surface_pose
from multi_qp_scene.errors import MultiQpError

SEEDS = st.integers(0, 10_000)


def can_rest(cone, com):
    """Formulation (12) solved by another library: whether there is β ≥ 0 with G β = D c + d."""
    return nnls(cone.G, cone.wrench(np.asarray(com)))[1] < 1e-9


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_inequalities_and_ray_loads_agree(seed, count):
    rng = np.random.default_rng(seed)
    contacts = random_contacts(rng, count)
    region, cone = equilibrium_region(contacts), WrenchCone(contacts)
    middle = region.corners.mean(axis=0) if not region.empty else cone.origin[:2]
    for _ in range(10):
        com = np.append(middle + rng.normal(size=2) * 0.2, rng.normal())
        margin = float(region.margin(com))
        if abs(margin) > 1e-6:
            assert (margin > 0) == can_rest(cone, com) == cone.holds(com)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_corners_are_on_the_boundary(seed, count):
    contacts = random_contacts(np.random.default_rng(seed), count)
    region, cone = equilibrium_region(contacts), WrenchCone(contacts)
    if region.empty:
        return
    middle = np.append(region.corners.mean(axis=0), 0.0)
    for corner in region.corners:
        way = np.append(corner, 0.0) - middle
        assert cone.holds(middle + way * (1.0 - 1e-7))
        assert not can_rest(cone, middle + way * (1.0 + 1e-4))


def test_on_level_ground_the_region_is_the_hull_of_the_points():
    up = np.array([0, 0, 1.0])
    places = [(np.array([0, 0.2, 0]), np.array([1.0, 0.3, 0])), (np.array([0.1, -0.2, 0]), np.array([1.0, 0, 0]))]
    contacts = [
        Contact.planar(str(k), surface_pose(place, up, forward), (0.2, 0.1), friction=0.7)
        for k, (place, forward) in enumerate(places)
    ]
    hull = ConvexHull(np.concatenate([c.points_in_world for c in contacts])[:, :2])
    region = equilibrium_region(contacts)
    assert len(region.corners) == len(hull.vertices)
    for corner in hull.points[hull.vertices]:
        assert np.linalg.norm(region.corners - corner, axis=1).min() < 1e-9


def test_with_different_heights_the_region_is_not_the_hull():
    high = point("hand", (0.4, 0, 1.0), normal=(-1, 0, 0), friction=0.8)
    feet = [point("l", (0, 0.1, 0)), point("r", (0, -0.1, 0))]
    region = equilibrium_region([*feet, high])
    assert region.corners[:, 0].max() > 0.45  # the wall supports the body beyond the hull, which ends at 0.4
    ice = [point("l", (0, 0.1, 0), friction=0.0), point("r", (0, -0.1, 0), friction=0.0)]
    slippery = equilibrium_region([*ice, point("hand", (0.4, 0, 1.0), normal=(-1, 0, 0), friction=0.0)])
    assert slippery.corners[:, 0].max() < 1e-9  # only upright: no contact can balance the force of the wall


def test_one_point_is_a_point_and_two_points_a_segment():
    one = equilibrium_region([point("a", (0.3, -0.2, 0.5))])
    assert one.corners == pytest.approx(np.array([[0.3, -0.2]]))
    assert one.margin([0.3, -0.2, 9.0]) == pytest.approx(0.0, abs=1e-9)
    assert one.margin([0.3, 0.1, 0.0]) == pytest.approx(-0.3)
    two = equilibrium_region([point("a", (0, 0, 0)), point("b", (1, 0, 0))])
    assert len(two.corners) == 2
    assert two.margin([0.5, 0.2, 0]) == pytest.approx(-0.2)
    assert two.margin([1.5, 0.0, 0]) == pytest.approx(-0.5)
    assert (two.A @ [0.5, 0.2, 0] - two.a).max() == pytest.approx(0.2)


def test_collinear_points_are_a_segment():
    region = equilibrium_region([point(str(k), (0.1 * k, 0.2 * k, 0)) for k in range(4)])
    assert len(region.corners) == 2
    assert region.margin([0.15, 0.3, 0]) == pytest.approx(0.0, abs=1e-9)


def test_facing_walls_support_by_friction_alone():
    def walls(friction):
        left = [point(f"l{k}", (0, 0.5, z), (0, -1, 0), friction) for k, z in enumerate((1.0, 1.3))]
        right = [point(f"r{k}", (x, -0.5, 1.1), (0, 1, 0), friction) for k, x in enumerate((-0.2, 0.2))]
        return equilibrium_region([*left, *right])

    region = walls(0.8)
    assert not region.bounded  # the pressing force is unbounded
    assert region.margin([0.0, 0.0, 0.0]) > 0
    assert region.margin([0.0, HORIZON / 2, 0.0]) > 0
    assert walls(0.0).empty
    assert walls(0.0).margin([0, 0, 0]) == -np.inf


def test_too_steep_a_slope_is_empty():
    steep = np.array([np.sin(0.7), 0, np.cos(0.7)])
    contact = [Contact.planar("a", surface_pose(np.zeros(3), steep, np.array([0, 1.0, 0])), (0.2, 0.1), friction=0.6)]
    region = equilibrium_region(contact)
    assert region.empty
    assert linprog(np.zeros(3), A_ub=region.A, b_ub=region.a, bounds=[(None, None)] * 3).status == 2  # infeasible


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(2, 4))
def test_a_margin_keeps_away_from_the_boundary(seed, count):
    region = equilibrium_region(random_contacts(np.random.default_rng(seed), count))
    inside = region.shrunk(0.02)
    if region.empty or inside.empty:
        return
    for corner in inside.corners:
        assert region.margin(np.append(corner, 0.0)) >= 0.02 - 1e-9
    assert inside.margin(np.append(inside.corners.mean(axis=0), 0.0)) >= -1e-9


def test_least_loads_shrink_the_region_of_a_flat_foot_in_proportion():
    contact = random_contacts(np.random.default_rng(0), 1, tilt=0.0)
    whole = equilibrium_region(contact)
    cone = WrenchCone(contact)
    share = 0.25 / cone.G[2].sum()  # so that a quarter of the weight is spread evenly
    robust = equilibrium_region(contact, least_load=share)
    middle = whole.corners.mean(axis=0)
    for corner in robust.corners:
        assert np.linalg.norm(whole.corners - (middle + (corner - middle) / 0.75), axis=1).min() < 1e-9


def test_wrong_input_is_refused():
    with pytest.raises(MultiQpError, match="no contacts"):
        equilibrium_region([])
    with pytest.raises(MultiQpError, match="margin"):
        equilibrium_region([point("a", (0, 0, 0))], margin=-1.0)
    with pytest.raises(MultiQpError, match="least_load"):
        equilibrium_region([point("a", (0, 0, 0))], least_load=np.nan)
    with pytest.raises(MultiQpError, match="finite"):
        WrenchCone.of_rays(np.zeros((1, 3)), np.full((1, 4, 3), np.nan))


def test_verdicts_agree_with_those_of_another_library():
    """300 problems of `multi-qp bench com`, solved by hpp-centroidal-dynamics."""
    stored = json.loads(Path(__file__).with_name("peer_verdicts.json").read_text(encoding="utf-8"))
    theirs = stored["robustness"]
    problems = verdicts(len(theirs), seed=stored["seed"])
    assert sum(value is not None and value > 0 for value in theirs) > 50
    for problem, robustness in zip(problems, theirs, strict=True):
        if robustness is None or abs(robustness) < 1e-6:
            continue
        assert problem.contacts.cone().holds(problem.com, problem.acceleration, tolerance=1e-9) == (robustness > 0)
