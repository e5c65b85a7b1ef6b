"""Links of another character from which a refinement keeps a distance."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.capsules import touching_joints
from contact_invariant.carried import alone
from contact_invariant.character_builder import character_of
from contact_invariant.clearance_residual import ClearanceResidual
from contact_invariant.contact_schedule import Span
from contact_invariant.moving_surfaces import MovingPiece
from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.refined_start import Refining
from contact_invariant.refinement import Refiner
from contact_invariant.refinement_pairs import CLOSE, OUTSIDE_MARGIN, NodeGeometry, RefinementPairs
from contact_invariant.surroundings import surroundings_of, with_trunks
from multi_qp_scene import load_scenario
from multi_qp_scene.pairs import watched_pairs

STEP = 0.02
TRUNK, SHANK, FOOT = "quadruped/base_link_0", "humanoid/l_knee_pitch_link_0", "humanoid/l_ankle_roll_link_0"


@pytest.fixture(scope="module")
def scene():
    return load_scenario("on_back").scene


@pytest.fixture(scope="module")
def parts():
    """Scenario, character and refiner of the climber, and of the bearer."""
    scenario = load_scenario("on_back")
    both = character_of(scenario)
    surroundings = with_trunks(surroundings_of(scenario.scene, *both.names), scenario.scene, both)
    found = []
    for name in both.names:
        part = alone(scenario, name)
        found.append((part, character_of(part), Refiner(part, character_of(part), surroundings)))
    return found


@pytest.fixture(scope="module")
def pieces(parts):
    """Pieces of the bearer, which rises by 6 cm and turns within three nodes, and stands in the simplified motion."""
    scenario, _, refiner = parts[1]
    q = np.tile(scenario.scene.q0, (3, 1))
    moves = np.array([0.0, 0.0, 0.03, 0.02, 0.05, 0.1])
    for k in range(3):
        q[k] = pin.integrate(scenario.scene.model, q[0], np.append(k * moves, np.zeros(scenario.scene.nv - 6)))
    made = refiner.pieces(STEP * np.arange(3.0), q, np.tile(q[0], (3, 1)))
    return [piece for of_joint in made.values() for piece in of_joint]


def _indexed(scenario, pieces):
    names = [piece.name for piece in scenario.scene.collision_model.geometryObjects]
    return names, {piece.name: len(names) + k for k, piece in enumerate(pieces)}


def test_pieces_are_where_the_scene_has_them(scene, pieces):
    data, shapes = scene.model.createData(), scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, scene.q0)
    at = {piece.name: shapes.oMg[k] for k, piece in enumerate(scene.collision_model.geometryObjects)}
    assert {piece.name for piece in pieces} == {name for name in at if name.startswith("quadruped/")}
    for piece in pieces:
        for X in (piece.poses[0], piece.before_at(0.5)):
            np.testing.assert_allclose(X.homogeneous, at[piece.name].homogeneous, atol=1e-12)


def test_derivatives_of_distance_and_approach_with_a_piece_that_moves(parts, pieces):
    scenario, character, _ = parts[0]
    scene, pairs = scenario.scene, RefinementPairs(scenario, character, pieces)
    names, of_other = _indexed(scenario, pieces)
    pair = (names.index(SHANK), of_other[TRUNK])
    damper = SimpleNamespace(influence=0.6, security=0.01, damping=0.02)
    state, kinematics = crocoddyl.StateMultibody(scene.model), scene.model.createData()
    residual = ClearanceResidual(state, scene.nv - 6, scene, [pair], [1.0], pairs.shared, [damper], pairs.placed(1))
    collector = crocoddyl.DataCollectorMultibody(kinematics)  # the data of the residual has no reference to it
    data = residual.createData(collector)
    trunk = next(piece for piece in pieces if piece.name == TRUNK)

    def value(q, v):
        pin.computeAllTerms(scene.model, kinematics, q, v)
        x = np.concatenate([q, v])
        residual.calc(data, x, None)
        return np.array(data.r).copy(), x

    def distance(q, X):
        geometry, found = pairs.shared
        pin.updateGeometryPlacements(scene.model, kinematics, geometry, found, q)
        found.oMg[pair[1]] = X
        return pin.computeDistance(geometry, found, geometry.findCollisionPair(pin.CollisionPair(*pair))).min_distance

    v, h = np.random.default_rng(0).normal(size=scene.nv), 1e-6
    twist = trunk.twist(1)
    ahead, behind = (
        distance(pin.integrate(scene.model, scene.q0, s * v), trunk.poses[1] * pin.exp6(s * twist)) for s in (h, -h)
    )
    v = v if ahead < behind else -v  # of the own motion
    ahead, behind = (
        distance(pin.integrate(scene.model, scene.q0, s * v), trunk.poses[1] * pin.exp6(s * twist)) for s in (h, -h)
    )
    r, x = value(scene.q0, v)
    away = distance(scene.q0, trunk.poses[1])
    assert 1.0 - r[0] == pytest.approx(away) and away < distance(scene.q0, trunk.poses[0]) - 1e-3
    assert r[1] == pytest.approx((behind - ahead) / (2 * h) - 0.02 * (away - 0.01) / 0.59, abs=1e-5) and r[1] > 0.1
    residual.calcDiff(data, x, None)
    J = np.array(data.Rx).copy()
    for k in range(scene.nv):
        step = h * np.eye(scene.nv)[k]
        ahead, behind = (value(pin.integrate(scene.model, scene.q0, s), v)[0] for s in (step, -step))
        np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), J[0, k], atol=1e-4)
        ahead, behind = (value(scene.q0, v + s)[0] for s in (step, -step))
        np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), J[1, scene.nv + k], atol=1e-5)


def test_links_keep_clear_of_another_character_where_it_is(parts, pieces):
    """As of surroundings: 1 cm, or what the simplified motions of both have; a patch in contact keeps none."""
    scenario, character, _ = parts[0]
    names, of_other = _indexed(scenario, pieces)
    pairs, q = RefinementPairs(scenario, character, pieces), scenario.scene.q0.copy()
    q[0] += 0.25

    def found(active=(), high=OUTSIDE_MARGIN, refined=None, node=0):
        near = pairs.near(NodeGeometry({0: q}, {}, list(active), {}, None, high, refined, placed=pairs.placed(node)))
        return {(names[a], b): (margin, weight) for (a, b), margin, weight in near}

    foot = (FOOT, of_other[TRUNK])
    assert found()[foot] == (OUTSIDE_MARGIN, 1.0) and found(high=0.03)[foot] == (0.03, 1.0)
    assert found(high=0.03, node=2)[foot] == (0.03, 1.0)  # that of the simplified motion
    span = Span(0, 0, 2, "ground/floor", pin.SE3.Identity(), np.eye(3)[2])
    assert foot not in found([span])
    q[0] -= 1.0
    assert not any(name == of_other[TRUNK] for _, name in found())
    near = scenario.scene.q0.copy()
    near[0] += 0.25
    assert found(refined=near)[foot] == (OUTSIDE_MARGIN, 1.0)


def test_what_bears_keeps_no_distance_from_what_stands_on_it(parts):
    """The trunk of the quadruped and the feet, but none of its legs; the dampers of the QP make pairs firm."""
    scenario = load_scenario("on_back")
    refining = Refining.__new__(Refining)
    refining._scene, refining._character = scenario.scene, character_of(scenario)
    pairs = [{"bodies": ["humanoid/l_knee_pitch_link", "quadruped/base_link"]}]
    collisions = type(scenario.spec.collisions).model_validate({"pairs": pairs})
    refining._dampers = watched_pairs(scenario.scene, collisions)
    refining._refiners = [refiner for _, _, refiner in parts]
    at = np.array([0.0, STEP]), *([np.tile(part.scene.q0, (2, 1)) for part, _, _ in parts],) * 2
    of_climber = {piece.name: piece for piece in refining._others(1, *at)}
    of_bearer = {piece.name: piece for piece in refining._others(0, *at)}
    bearer = parts[1][0].scene
    (back,) = touching_joints(bearer, bearer.surfaces["quadruped/back"])
    assert of_climber[FOOT].touches == {back} and of_climber[SHANK].touches == frozenset()
    assert not any(piece.touches for piece in of_bearer.values())
    assert list(of_bearer[TRUNK].dampers) == [SHANK] and TRUNK in of_climber[SHANK].dampers
    pairs = RefinementPairs(*parts[1][:2], list(of_climber.values()))
    names, of_other = _indexed(parts[1][0], list(of_climber.values()))
    own, listed = names.index(TRUNK), {tuple(pair) for pair in pairs._search.pairs.tolist()}
    assert (own, of_other[SHANK]) in listed and (own, of_other[FOOT]) not in listed
    shank, X = of_climber[SHANK], of_bearer[TRUNK].poses[0]
    inside = MovingPiece(np.zeros(1), [X], SHANK, shank.shape, [X], dampers=shank.dampers)
    near = RefinementPairs(*parts[1][:2], [inside]).near(NodeGeometry({0: bearer.q0}, {}, [], {}, None, OUTSIDE_MARGIN))
    assert {a: weight for (a, b), _, weight in near if b == len(names)}[own] == CLOSE
