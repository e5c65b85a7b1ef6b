"""References that are edited as they are followed: footholds, body, slope and speed."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_cli.benches.modal import Case, Form
from multi_qp_cli.benches.modal_edits import WEIGHTS, walk
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource

CASE = Case(12, 100.0, WEIGHTS, Form(keep_momentum=False, unit_modes=False))
SOLES = ["humanoid/left_sole", "humanoid/right_sole"]


def soles(simulation, q):
    """Return the poses of both soles."""
    character = simulation._character
    scene_model, data = character.model, character.model.createData()
    pin.framesForwardKinematics(scene_model, data, q)
    return [data.oMf[scene_model.getFrameId(name)].copy() for name in SOLES]


def test_an_unedited_reference_is_the_motion():
    reference = walk({}, CASE).reference
    motion = ReferenceMotion.load(find_resource("config/motions/walk.npz"))
    q, v = reference.state(0)
    np.testing.assert_allclose(q[:7], motion.q[0, :7], atol=1e-9)
    assert np.abs(v[:3]).max() < 0.05 and reference.planted(0).all()


@pytest.mark.parametrize("slope", [3.0, -5.0])
def test_soles_are_on_the_slope_and_the_body_is_upright(slope):
    level, tilted = walk({}, CASE), walk({"slope": slope}, CASE)
    q, before = tilted.reference.state(0)[0], level.reference.state(0)[0]
    np.testing.assert_allclose(q[3:7], before[3:7], atol=1e-3)
    up = np.array([-np.sin(np.radians(slope)), 0.0, np.cos(np.radians(slope))])
    for X in soles(tilted, q):
        assert abs(X.translation @ up) < 3e-3
        np.testing.assert_allclose(-X.rotation[:, 2], up, atol=5e-3)  # out of the body
    points = tilted._character.linearise(q).points  # along the axes of the ground
    assert np.abs(points[:, 2]).max() < 4e-3


def test_soles_of_the_reference_stand_where_the_feet_of_the_robot_are():
    simulation = walk({"stride": 0.1}, CASE)
    run = simulation.run(steps=8)
    assert run.fallen is None and run.worst < 0.02
    beside = [np.array([0.05, 0.01]), np.array([0.02, -0.01])]
    simulation.reference._footholds.offsets = [one.copy() for one in beside]
    simulation.reference._prepare()
    before = [X.translation[:2] for X in soles(simulation, run.wanted[-1])]
    for X, place, shift in zip(soles(simulation, simulation.reference.state(7)[0]), before, beside, strict=True):
        np.testing.assert_allclose(X.translation[:2] - place, shift, atol=2e-3)


def test_velocities_are_those_of_the_configurations_at_the_speed():
    slow, fast = (walk({"speed": speed}, CASE).reference for speed in (1.0, 1.2))
    for reference in (slow, fast):
        reference._time = 5.0
        reference._prepare()
    (q, v), (other, w) = slow.state(0), fast.state(0)
    np.testing.assert_allclose(q, other, atol=1e-6)
    np.testing.assert_allclose(w[:3], 1.2 * v[:3], atol=0.01)
    assert v[0] > 0.3 and len(fast) < len(slow)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"stride": 0.1}, {"stride": -0.15}, {"slope": 3.0}, {"slope": -5.0}])
def test_the_walk_and_its_edits_are_followed(changes):
    run = walk(changes, CASE).run()
    assert run.fallen is None and run.worst < 0.03
    moved = float(run.q[-1, 0] - run.q[0, 0])
    assert abs(moved - run.wanted[-1, 0] + run.wanted[0, 0]) < 0.03
