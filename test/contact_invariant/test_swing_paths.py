"""Paths of swinging limbs in a refinement."""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from contact_invariant.audit import Bounds
from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import Span
from contact_invariant.moving_surfaces import MovingSurface
from contact_invariant.surroundings import TouchableRectangle
from contact_invariant.swing_paths import LIFT, SwingPaths
from multi_qp_scene.scenario import load_scenario

FLOOR = "ground/floor"


def swinging(behaviour, height, ahead=0.0):
    """Return the paths of a foot that moves by 0.2 m and is lifted by at most a height; it swings at nodes 6 to 20.

    It lands `ahead` of where the simplified motion has it.
    """
    scenario = behaviour(phases=2, effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene = scenario.scene
    times, q = np.linspace(0.0, 0.4, 21), np.tile(scene.q0, (21, 1))
    turn = np.linspace(0.0, np.pi, 21)
    q[:, 0] += 0.1 * (1.0 - np.cos(turn))
    q[:, 2] += height * np.sin(turn)
    character, data = character_of(scenario), scene.model.createData()
    poses = []
    for posture, shift in ((q[0], 0.0), (q[20], ahead)):
        pin.framesForwardKinematics(scene.model, data, posture)
        X = data.oMf[scene.surfaces[character.limbs[0].surface].frame_id]
        poses.append(pin.SE3(X.rotation, X.translation + [shift, 0.0, 0.0]))
    spans = [Span(0, 0, 6, FLOOR, poses[0], np.eye(3)[2]), Span(0, 20, 20, FLOOR, poses[1], np.eye(3)[2])]
    planned = np.ones((20, 2), dtype=bool)
    planned[:, 0] = False
    return SwingPaths(scene, character, (times, q), spans, planned), q


def test_a_swing_is_followed_between_nodes(behaviour):
    """One that begins later than in the simplified motion follows it at fractions of its nodes, without jumps."""
    paths, q = swinging(behaviour, 0.0)
    at = [paths.at(k, [])[0] for k in range(6, 20)]
    np.testing.assert_allclose(np.diff(at), 20.0 / 14.0)
    between = np.interp(at, np.arange(21), q[:, 0])
    np.testing.assert_allclose([paths.posture(k)[0] for k in at], between, atol=1e-9)


def test_feet_that_would_drag_are_lifted(behaviour):
    """Where they are fast; those that are high enough, or no feet, follow the simplified motion."""
    for height, lifted in ((0.01, True), (0.06, False)):
        paths, q = swinging(behaviour, height)
        before = [paths.at(k, [])[0] for k in range(6, 20)]
        paths.lift({"right_foot"})
        assert [paths.at(k, [])[0] for k in range(6, 20)] == before
        paths.lift({"left_foot"})
        assert ([paths.at(k, [])[0] for k in range(6, 20)] != before) == lifted
        assert (paths.lifted(0, 12) is not None) == lifted
    paths, _ = swinging(behaviour, 0.01)
    paths.lift({"left_foot"})
    places = np.array([paths.pose(0, k, paths.at(k, [])[0]).translation for k in range(6, 20)])
    speeds = np.linalg.norm(np.gradient(places[:, :2], 0.02, axis=0), axis=1)
    heights = places[:, 2] - places[0, 2]
    assert heights.max() > LIFT and heights[speeds > 0.5 * speeds.max()].min() > Bounds().clearance
    assert speeds[0] < 0.1 * speeds.max()


def test_joined_points_are_lifted_together():
    """Toes whose inner point alone would drag: the foot rolls, which has the outer one higher."""
    scenario = load_scenario("get_up_from_belly")
    scene, character = scenario.scene, character_of(scenario)
    points = [character.index(f"left_toes_{side}") for side in ("inner", "outer")]
    times, q, data = np.linspace(0.0, 0.4, 21), np.tile(scene.q0, (21, 1)), scene.model.createData()
    frames = [scene.surfaces[character.effectors[i].surface].frame_id for i in points]
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    inner, root = data.oMf[frames[0]].translation.copy(), pin.XYZQUATToSE3(scene.q0[:7])
    poses = []
    for k, turn in enumerate(np.linspace(0.0, np.pi, 21)):
        R = pin.rpy.rpyToMatrix(0.3 * np.sin(turn), 0.0, 0.0)
        shift = np.array([0.1 * (1.0 - np.cos(turn)), 0.0, 0.01 * np.sin(turn)])
        q[k, :7] = pin.SE3ToXYZQUAT(pin.SE3(R, inner - R @ inner + shift) * root)
        pin.framesForwardKinematics(scene.model, data, q[k])
        poses.append([data.oMf[frame].copy() for frame in frames])
    up, spans = np.eye(3)[2], []
    for j, i in enumerate(points):
        spans += [Span(i, 0, 1, FLOOR, poses[0][j], up), Span(i, 20, 20, FLOOR, poses[20][j], up)]
    planned = np.ones((20, len(character.effectors)), dtype=bool)
    planned[1:, points] = False
    alone = SwingPaths(scene, character, (times, q), [span for span in spans if span.effector == points[1]], planned)
    paths = SwingPaths(scene, character, (times, q), spans, planned)
    for one in (alone, paths):
        one.lift({character.effectors[i].name for i in points})
    assert alone.lifted(points[1], 10) is None
    assert [paths.lifted(i, 10) is not None for i in points] == [True, True]


def test_a_path_begins_and_ends_at_the_contacts(behaviour):
    """They may be moved from where the simplified motion has the patch, onto the surface or to its place later."""
    moved, as_it_is = swinging(behaviour, 0.05, 0.01)[0], swinging(behaviour, 0.05)[0]
    for k, shift in ((6, 0.0), (13, 0.005), (20, 0.01)):
        at = moved.at(k, [])[0] if k < 20 else 20
        X, Y = moved.pose(0, k, at), as_it_is.pose(0, k, at)
        np.testing.assert_allclose(X.translation - Y.translation, [shift, 0.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(X.rotation, Y.rotation, atol=1e-9)


def test_a_foot_that_skims_along_another_character_is_lifted_as_it_descends(behaviour):
    """From the ground onto a surface that is 0.1 m higher; on a fixed one, it follows the simplified motion."""
    for base, height, lifted in ((True, 0.11, True), (True, 0.19, False), (False, 0.11, False)):
        paths, q = swinging(behaviour, 0.0)
        q[:, 2] += np.where(np.arange(21) < 10, height * np.arange(21) / 10.0, np.linspace(2 * height - 0.1, 0.1, 21))
        left, landed = paths._spans
        face = TouchableRectangle("bearer/back", pin.SE3.Identity(), np.ones(2))
        rests = MovingSurface(0.02 * np.arange(21.0), [pin.SE3.Identity()] * 21, face)
        pose = pin.SE3(landed.pose.rotation, landed.pose.translation + [0.0, 0.0, 0.1])
        paths._spans = [left, replace(landed, surface=face.name, pose=pose, base=rests if base else None)]
        before = [paths.at(k, [])[0] for k in range(6, 20)]
        paths.lift({"left_foot"})
        assert (paths.lifted(0, 16) is not None) == lifted
        assert [paths.at(k, [])[0] for k in range(6, 20)] == before
        if lifted:
            places = np.array([paths.pose(0, k, paths.at(k, [])[0]).translation for k in range(6, 20)])
            speeds = np.linalg.norm(np.gradient(places[:, :2], 0.02, axis=0), axis=1)
            above = places[:, 2] - pose.translation[2]
            fast = (speeds > 0.5 * speeds.max()) & (np.arange(14) >= above.argmax())
            assert fast.any() and above[fast].min() > Bounds().clearance
            assert above[-1] < 0.02 and paths.lifted(0, 9) < 0.001
