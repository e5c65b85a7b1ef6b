"""Surfaces and solids around a character: nearest points and distances."""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.surroundings import RAMP, SolidBox, Surroundings, surroundings_of
from multi_qp_scene.errors import MultiQpError


@pytest.fixture(scope="module")
def scenario(behaviour):
    return behaviour(block=0.8)


@pytest.fixture(scope="module")
def surroundings(scenario):
    return surroundings_of(scenario.scene, "humanoid")


@pytest.mark.parametrize("point", [(0.7, 0.1, 0.25), (0.8, 0.0, 0.15), (0.3, 0.0, 0.1), (0.0, 0.0, -0.03)])
def test_symbolic_and_numeric_surroundings_agree(surroundings, point):
    p = ca.SX(ca.DM(point))
    numeric = surroundings.distances(np.array([point]))[0]
    assert float(ca.evalf(surroundings.distance(p))) == pytest.approx(numeric, abs=1e-5)


def test_the_virtual_nearest_point_is_the_nearest_one_close_to_a_surface(surroundings):
    point, normal = surroundings.nearest(ca.SX(ca.DM([0.8, 0.1, 0.201])), 0.1)
    np.testing.assert_allclose(np.array(ca.evalf(point)).ravel(), [0.8, 0.1, 0.2], atol=0.02)
    assert np.array(ca.evalf(normal)).ravel()[2] > 0.9
    near, normals = surroundings.touched(np.array([[0.8, 0.1, 0.21], [2.0, 0.0, 0.3]]))
    np.testing.assert_allclose(near, [[0.8, 0.1, 0.2], [2.0, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(normals, [[0, 0, 1], [0, 0, 1]])


def test_the_virtual_nearest_point_is_where_the_whole_patch_fits(surroundings):
    found, _ = surroundings.nearest(ca.SX(ca.DM([0.95, 0.1, 0.201])), 0.1)  # the block ends at 1.0
    assert np.array(ca.evalf(found)).ravel()[0] < 0.92
    found, _ = surroundings.nearest(ca.SX(ca.DM([0.8, 0.1, 0.201])), 0.25)  # more than the half of the block
    assert abs(np.array(ca.evalf(found)).ravel()[2]) < 1e-6
    with pytest.raises(MultiQpError, match="no surface of the surroundings has 200"):
        surroundings.nearest(ca.SX(ca.DM([0.8, 0.1, 0.2])), 100.0)


def test_inside_a_solid_the_way_out_is_up(surroundings):
    p = ca.SX.sym("p", 3)
    up = ca.Function("up", [p], [surroundings.height_above(p), ca.gradient(surroundings.height_above(p), p)])
    height, slope = (np.array(value).ravel() for value in up([0.65, 0.0, 0.05]))
    assert height[0] == pytest.approx(-0.15, abs=1e-4) and slope == pytest.approx([0.0, 0.0, 1.0], abs=1e-3)


@pytest.mark.parametrize(("height", "factor"), [(0.0, 1.0), (0.2, 1.0), (0.4, 0.25)])
def test_ramps_of_high_solids_are_eased(height, factor):
    solid = SolidBox(pin.SE3(np.eye(3), np.array([0.0, 0.0, height / 2])), np.array([0.2, 0.3, height / 2]))
    p = ca.SX.sym("p", 3)
    found = Surroundings((), (solid,)).height_above(p)
    inside = float(ca.Function("h", [p], [found])([0.0, 0.0, height - 0.1]))
    assert solid.ease == pytest.approx(factor) and inside == pytest.approx(-0.1 * factor, abs=1e-5)


def test_solids_higher_than_a_limb_have_ramps_if_they_are_climbed():
    solid = SolidBox(pin.SE3.Identity(), np.array([0.2, 0.3, 1.0]), owner="wall")
    p = ca.SX.sym("p", 3)
    found = [Surroundings((), (solid,), climbed=frozenset(names)).height_above(p, 0.7) for names in ((), ("wall",))]
    left_out, ramp = (float(ca.Function("h", [p], [height])([0.0, 0.0, 0.5])) for height in found)
    assert left_out == np.inf and ramp == pytest.approx(-0.5 * solid.ease, abs=1e-5)


def test_heights_above_a_box_of_a_trunk_that_lies_are_along_its_axis_that_is_up():
    """A trunk on all fours: x of the box points down, so that -x is up."""
    solid = SolidBox(pin.SE3.Identity(), np.array([0.1, 0.2, 0.3]), up=np.array([-1.0, 0.0, 0.0]))
    p = ca.SX.sym("p", 3)
    height = ca.Function("h", [p], [Surroundings((), (solid,)).height_above(p)])
    assert float(height([0.05, 0.0, 0.29])) == pytest.approx(-0.15, abs=1e-5)  # inside: down from its top at x = -0.1
    assert float(height([-0.12, 0.0, 0.0])) == pytest.approx(0.02, abs=1e-5)
    assert float(height([0.05, 0.0, 0.35])) == pytest.approx(-0.15 + RAMP * 0.05, abs=1e-4)
