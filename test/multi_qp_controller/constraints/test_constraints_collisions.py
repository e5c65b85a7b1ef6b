"""Collision avoidance: rows against finite differences, and closed loops without collision."""

from __future__ import annotations

from dataclasses import replace

import coal
import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.constraints import CollisionConstraint, distance_views
from multi_qp_controller.constraints.collisions import RECOVERY_SPEED
from multi_qp_controller.constraints.damper_kernel import BRAKING, HARDEST_BRAKING, MAX_ACCELERATION
from multi_qp_controller.constraints.distance_views import _measurement
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.references.references import RestingPose
from multi_qp_controller.tasks import PoseTask
from multi_qp_scene import load_scenario
from multi_qp_scene.pairs import WatchedPair, watched_pairs
from multi_qp_scene.scene import State

STEPS = [0.002, 0.005, 0.01, 0.02]
INFLUENCE, SECURITY, DAMPING = 0.1, 0.02, 0.4
SHAPES = {
    "sphere": lambda: coal.Sphere(0.1),
    "capsule": lambda: coal.Capsule(0.06, 0.2),
    "box": lambda: coal.Box(0.2, 0.16, 0.12),
}
KINDS = [("sphere", "sphere"), ("sphere", "capsule"), ("sphere", "box"), ("capsule", "capsule"), ("capsule", "box")]
TURNED = pin.rpy.rpyToMatrix(0.3, -0.5, 0.4)


class Written(CollisionConstraint):
    """The constraint with its own arrays."""

    def update(self, kinematics):
        self._rows = np.full((self.size, kinematics.model.nv), np.nan), np.full(self.size, np.nan)
        super().update(kinematics, *self._rows)

    @property
    def D(self):
        return self._rows[0][: self.count]

    @property
    def d(self):
        return self._rows[1][: self.count]


def two_bodies(workshop, shapes, *, fixed=None):
    """Return a scene of bodies "a" and "b", free unless `fixed`, with these shapes, and the pair of both."""
    workshop.block("free")
    subsystems = {"a": {"model": "free"}, "b": {"model": "free"}}
    environment = {fixed: subsystems.pop(fixed)} if fixed else {}
    if fixed:
        workshop.block("rigid", root="fixed")
        environment[fixed]["model"] = "rigid"
    scene = workshop.load(subsystems=subsystems, environment=environment).scene
    geometry = scene.collision_model
    pieces = {item.name.split("/")[0]: k for k, item in enumerate(geometry.geometryObjects)}
    for name, shape in zip("ab", shapes, strict=True):
        geometry.geometryObjects[pieces[name]].geometry = SHAPES[shape]()
    pair = WatchedPair(("a/body", "b/body"), pieces["a"], pieces["b"], INFLUENCE, SECURITY, DAMPING)
    return scene, pair


def placed(scene, gap, *, speed=1.0, seed=0):
    """Return a state with a beside b at a distance of about `gap`, rotated, both moving."""
    q = pin.neutral(scene.model)
    pose = pin.SE3(TURNED, np.array([0.21 + gap, 0.03, -0.02]))
    start = scene.subsystems["a"].q_slice.start
    q[start : start + 7] = pin.SE3ToXYZQUAT(pose)
    return State(q, speed * np.random.default_rng(seed).uniform(-1, 1, scene.nv))


def measured(scene, pair):
    """Return the distance by coal alone, as a function of the state."""
    geometry = scene.collision_model
    objects = [geometry.geometryObjects[k] for k in (pair.first, pair.second)]
    request = coal.DistanceRequest()
    request.enable_signed_distance = True

    def distance(at):
        data = scene.model.createData()
        pin.forwardKinematics(scene.model, data, at.q)
        poses = [data.oMi[item.parentJoint] * item.placement for item in objects]
        transforms = [coal.Transform3s(X.rotation, X.translation) for X in poses]
        result = coal.DistanceResult()
        return coal.distance(objects[0].geometry, transforms[0], objects[1].geometry, transforms[1], request, result)

    return distance


def row_of(scene, lab, pair, state, dt, *, last=None):
    """Return (D, d) of the one pair; `last` is the state one tick before."""
    constraint = Written(scene, (pair,), dt=dt)
    for at in (last, state):
        if at is not None:
            constraint.update(lab.kinematics(scene, at))
    return constraint


@pytest.mark.parametrize("fixed", [None, "b"])
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("gap", [0.03, -0.09])
def test_row_equals_the_rate_of_the_distance(workshop, lab, kinds, gap, fixed):
    """D v = ḋ, separated and in penetration: coal's normal keeps its sign."""
    scene, pair = two_bodies(workshop, kinds, fixed=fixed)
    state = placed(scene, gap)
    constraint, distance = row_of(scene, lab, pair, state, 0.005), measured(scene, pair)
    assert constraint.count == 1
    assert constraint.pairs[0].distance == pytest.approx(distance(state), abs=1e-6)
    assert np.sign(constraint.pairs[0].distance) == np.sign(gap)
    rate = lab.rate(scene, distance, state, np.zeros(scene.nv), h=2e-4)
    assert (constraint.D @ state.v)[0] == pytest.approx(rate, abs=2e-4)


@pytest.mark.parametrize("kinds", KINDS)
def test_row_and_drift_are_the_second_derivative(workshop, lab, kinds):
    """D q̈ + drift = d̈ for bodies that do not rotate; sliding of witness points on rotating ones is neglected."""
    scene, pair = two_bodies(workshop, kinds)
    shift = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0] * 2)
    state = placed(scene, 0.03, speed=0.5)
    state = State(state.q, shift * state.v)
    acceleration = shift * np.random.default_rng(2).uniform(-1, 1, scene.nv)
    distance, dt = measured(scene, pair), 1e-4
    constraint = row_of(scene, lab, pair, state, dt, last=lab.along(scene, state, acceleration, -dt))
    h = 5e-3
    values = [distance(lab.along(scene, state, acceleration, k * h)) for k in (-1, 0, 1)]
    second = (values[0] - 2 * values[1] + values[2]) / h**2
    assert (constraint.D @ acceleration)[0] + drift_of(constraint, state, dt) == pytest.approx(second, abs=0.01)


@pytest.mark.parametrize(("turn", "counts"), [(0.05, True), (0.2, True), (0.5, False)])
def test_the_rate_of_the_normal_counts_up_to_a_change_of_features(workshop, lab, turn, counts):
    """Spheres that pass each other across their normal: d̈ = v²/(d + 2 r), a foot that passes the other one."""
    scene, pair = two_bodies(workshop, ("sphere", "sphere"), fixed="b")
    dt, q, v = 0.005, pin.neutral(scene.model), np.zeros(scene.nv)
    q[0] = 0.2 + 0.08
    v[1] = turn / dt * q[0]
    state = State(q, v)
    constraint = row_of(scene, lab, pair, state, dt, last=lab.along(scene, state, np.zeros(scene.nv), -dt))
    expected = v[1] ** 2 / q[0] if counts else 0.0
    assert drift_of(constraint, state, dt) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("kinds", KINDS)
def test_neglected_sliding_of_witness_points_is_small(workshop, lab, kinds):
    """The neglected part of d̈ is of the order of (size of the body) ω²: micrometres in a tick."""
    scene, pair = two_bodies(workshop, kinds)
    state, acceleration = placed(scene, 0.03, speed=0.5), np.random.default_rng(2).uniform(-1, 1, scene.nv)
    distance, dt = measured(scene, pair), 1e-4
    constraint = row_of(scene, lab, pair, state, dt, last=lab.along(scene, state, acceleration, -dt))
    h = 5e-3
    values = [distance(lab.along(scene, state, acceleration, k * h)) for k in (-1, 0, 1)]
    second = (values[0] - 2 * values[1] + values[2]) / h**2
    assert (constraint.D @ acceleration)[0] + drift_of(constraint, state, dt) == pytest.approx(second, abs=0.5)


def drift_of(constraint, state, dt):
    """Return the drift from d = (allowed − ḋ)/Δt − drift."""
    pair = constraint.pairs[0]
    margin = (pair.distance - SECURITY) / (INFLUENCE - SECURITY)
    allowed = min(-DAMPING * margin, RECOVERY_SPEED)
    return (allowed - (constraint.D @ state.v)[0]) / dt - constraint.d[0]


def test_damper_equals_that_of_vaillant2015(workshop, lab):
    """(24): ḋ⁺ ≥ −ξ (d − δ_s)/(δ_i − δ_s); a row only within δ_i."""
    scene, pair = two_bodies(workshop, ("sphere", "sphere"))
    q = pin.neutral(scene.model)
    q[0] = 0.2 + 0.05
    constraint = row_of(scene, lab, pair, State(q, np.zeros(scene.nv)), 0.005)
    assert constraint.d[0] == pytest.approx(-DAMPING * (0.05 - SECURITY) / (INFLUENCE - SECURITY) / 0.005)
    np.testing.assert_allclose(constraint.pairs[0].normal, [1.0, 0.0, 0.0], atol=1e-6)
    q[0] = 0.2 + INFLUENCE + 1e-3
    assert row_of(scene, lab, pair, State(q, np.zeros(scene.nv)), 0.005).count == 0
    q[0] = 0.2 + SECURITY / 2
    assert row_of(scene, lab, pair, State(q, np.zeros(scene.nv)), 0.005).d[0] > 0.0
    q[0] = 0.05
    assert row_of(scene, lab, pair, State(q, np.zeros(scene.nv)), 0.02).d[0] == pytest.approx(RECOVERY_SPEED / 0.02)
    assert row_of(scene, lab, pair, State(q, np.zeros(scene.nv)), 0.005).d[0] == pytest.approx(MAX_ACCELERATION)


def approach(scene, pair, gap, speed, *, dt, push, duration=3.0):
    """Push a sphere at a fixed one with an acceleration, limited by the row alone; return (distance, speed, row)."""
    constraint, kinematics, ticks = Written(scene, (pair,), dt=dt), Kinematics(scene), []
    q, v = pin.neutral(scene.model), np.zeros(scene.nv)
    q[0], v[0] = 0.2 + gap, -speed
    for _ in range(round(duration / dt)):
        kinematics.update(State(q, v))
        constraint.update(kinematics)
        needed = constraint.d[0] / constraint.D[0, 0] if constraint.count else -np.inf
        ticks.append((q[0] - 0.2, v[0], needed))
        v = v + dt * np.eye(scene.nv)[0] * max(-push, needed)
        q = pin.integrate(scene.model, q, dt * v)
    return np.array(ticks)


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("push", [2.0, 20.0])
def test_an_approach_is_braked_within_a_bounded_deceleration(workshop, dt, push):
    """A damper that begins at δ_i asked for (v − ξ)/Δt there: hundreds of m/s²."""
    scene, pair = two_bodies(workshop, ("sphere", "sphere"), fixed="b")
    distance, rate, needed = approach(scene, pair, 0.6, 0.0, dt=dt, push=push).T
    assert rate.min() < -2.5 * DAMPING, "too slow: the test shows nothing"
    assert needed.max() <= MAX_ACCELERATION + 1e-9
    beyond = distance > INFLUENCE
    speed = np.sqrt(DAMPING**2 + 2.0 * BRAKING * (distance[beyond] - INFLUENCE))
    assert np.all(-rate[beyond] <= speed + MAX_ACCELERATION * dt)
    assert distance.min() > SECURITY - 1e-3
    assert distance[-1] == pytest.approx(SECURITY, abs=1e-3)


@pytest.mark.parametrize(("gap", "speed"), [(0.03, 1.0), (0.06, 1.0), (0.06, 2.0), (0.2, 2.0), (0.2, 4.0)])
def test_a_pair_that_is_too_fast_stops_with_the_deceleration_that_this_takes(workshop, gap, speed):
    """After a push: twice the deceleration that stops it before half of δ_s, not a stop in one period."""
    scene, pair = two_bodies(workshop, ("sphere", "sphere"), fixed="b")
    distance, _, needed = approach(scene, pair, gap, speed, dt=0.001, push=5.0).T
    assert needed.max() <= HARDEST_BRAKING
    assert needed[0] <= max(MAX_ACCELERATION, speed**2 / (gap - 0.5 * SECURITY)) + 1e-6
    assert distance.min() > 0.25 * SECURITY
    assert distance[-1] == pytest.approx(SECURITY, abs=1e-3)


def test_pieces_out_of_reach_that_become_fast_have_a_row_in_time(workshop):
    """The broad phase skips pairs until they can be within reach, which depends on their speed."""
    scene, pair = two_bodies(workshop, ("sphere", "box"), fixed="b")
    constraint, kinematics = Written(scene, (pair,), dt=0.005), Kinematics(scene)
    q, v = pin.neutral(scene.model), np.zeros(scene.nv)
    q[0] = 0.5
    for speed, rows in ((0.0, 0), (-3.0, 1), (3.0, 0)):
        v[0] = speed
        kinematics.update(State(q, v))
        constraint.update(kinematics)
        assert constraint.count == rows


def test_pairs_that_contacts_fix_have_no_row(workshop, lab):
    """No acceleration changes their distance: a row that asks for one has no solution."""
    scene, pair = two_bodies(workshop, ("sphere", "box"))
    kinematics = lab.kinematics(scene, placed(scene, -0.1))
    constraint = Written(scene, (pair,), dt=0.005)
    joints = [scene.collision_model.geometryObjects[k].parentJoint for k in (pair.first, pair.second)]
    for fixed, rows in (([0, *joints], 0), (joints[:1], 1)):
        constraint.exempt(frozenset(), frozenset([frozenset(fixed)]))
        constraint.update(kinematics)
        assert constraint.count == rows
        assert constraint.closest < 0.0


def test_pair_in_contact_has_no_row(workshop, lab):
    scene, pair = two_bodies(workshop, ("sphere", "box"))
    kinematics = lab.kinematics(scene, placed(scene, 0.0))
    constraint = Written(scene, (pair,), dt=0.005)
    constraint.exempt(frozenset([frozenset(("a/body", "b/body"))]))
    constraint.update(kinematics)
    assert constraint.count == 0
    assert not constraint.pairs[0].active
    assert np.isfinite(constraint.pairs[0].distance)
    constraint.exempt(frozenset())
    constraint.update(kinematics)
    assert constraint.count == 1
    assert constraint.label().rows == ("a/body | b/body",)


PUSHED = {"sphere on sphere": ("sphere", "sphere"), "capsule on box": ("capsule", "box"), "box on box": ("box", "box"),
          "sphere on capsule": ("sphere", "capsule")}  # fmt: skip


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("kinds", PUSHED)
def test_body_driven_at_another_stops(workshop, kinds, dt):
    """A free body with a pose task to the centre of a fixed one."""
    scene, pair = two_bodies(workshop, PUSHED[kinds], fixed="b")
    distances = drive(scene, pair, dt=dt, duration=2.5)
    assert distances.min() > SECURITY - 2e-3
    assert distances[-1] == pytest.approx(SECURITY, abs=2e-3)


def drive(scene, pair, *, dt, duration):
    """Move body a to the centre of b by a pose task under the collision row; return all distances."""
    constraint = Written(scene, (pair,), dt=dt)
    goal = lambda *_: RestingPose(pin.SE3.Identity())  # noqa: E731
    through = PoseTask("through", frame_a=scene.frame_id("a/body"), goal=goal, stiffness=25.0)
    state, kinematics, distances = placed(scene, 0.25, speed=0.0), Kinematics(scene), []
    for step in range(round(duration / dt)):
        kinematics.update(state)
        if not step:
            through.start(kinematics, 0.0)
        constraint.update(kinematics)
        J, b = np.zeros((6, scene.nv)), np.zeros(6)
        through.compute(kinematics, step * dt, J, b)
        acceleration = np.linalg.solve(J, b)
        if constraint.count and constraint.D[0] @ acceleration < constraint.d[0]:
            D, d = constraint.D[0], constraint.d[0]
            acceleration = acceleration + D * (d - D @ acceleration) / (D @ D)
        if np.isfinite(constraint.pairs[0].distance):
            distances.append(constraint.pairs[0].distance)
        v = state.v + dt * acceleration
        state = State(pin.integrate(scene.model, state.q, dt * v), v)
    return np.array(distances)


def test_hands_do_not_penetrate_the_chest(scenario):
    """Self-collision of one subsystem, with the complete controller."""
    scene = scenario.scene
    controller = Controller(scenario, dt=0.01)
    state, distances = scene.initial_state(), []
    inside = lambda *_: RestingPose(pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.2])))  # noqa: E731
    controller.add_task(
        PoseTask(
            "into the chest",
            frame_a=scene.frame_id("humanoid/left_palm"),
            frame_b=scene.frame_id("humanoid/torso"),
            goal=inside,
            axes=[0, 1, 2],
            weight=1000.0,
            stiffness=50.0,
            max_speed=0.6,
        )
    )
    for step in range(150):
        command = controller.step(state, 0.3 * step / 150)  # slow time, to stay in the first state
        assert command.diagnostics.status == "ok", command.diagnostics.message
        own = [p for p in controller.collisions.pairs if all(link.startswith("humanoid/") for link in p.pair.links)]
        assert all(p.distance > p.pair.security for p in own)
        own = [p for p in own if any("_wrist_" in link for link in p.pair.links)]
        distances.append(min(p.distance for p in own))
        v = state.v + 0.01 * command.a
        state = State(pin.integrate(scene.model, state.q, 0.01 * v), v)
    assert min(distances) > 0.005
    assert min(distances) < 0.03  # the damper was reached
    assert any(p.active for p in own)


def test_pieces_of_one_body_and_of_the_environment_are_not_paired(scenario):
    controller = Controller(scenario)
    geometry = scenario.scene.collision_model.geometryObjects
    for pair in controller.collisions.watched:
        assert geometry[pair.first].parentJoint != geometry[pair.second].parentJoint


def test_order_of_bodies_does_not_matter(workshop, lab):
    scene, pair = two_bodies(workshop, ("capsule", "sphere"))
    turned = replace(pair, links=pair.links[::-1], first=pair.second, second=pair.first)
    state = placed(scene, 0.03)
    one, other = (row_of(scene, lab, p, state, 0.005) for p in (pair, turned))
    np.testing.assert_allclose(one.D, other.D, atol=1e-6)
    np.testing.assert_allclose(one.d, other.d, rtol=1e-5)


def test_array_view_equals_coals_results(lab):
    """The view of coal's memory equals its results read one by one."""
    scenario = load_scenario("box")
    scene = scenario.scene
    constraint = Written(scene, watched_pairs(scene, scenario.spec.collisions), dt=0.01)
    distances = constraint._distances
    for seed in range(3):
        constraint.update(lab.kinematics(scene, lab.random_state(scene, seed)))
        assert constraint._measured, "no pair near: the test shows nothing"
        for k in constraint._measured:
            np.testing.assert_array_equal(distances.found[k], _measurement(distances._results[k]))
        measured = [k for k, pair in enumerate(constraint.pairs) if np.isfinite(pair.distance)]
        assert measured == constraint._measured


def test_rows_are_equal_without_the_array_view(lab, monkeypatch):
    scenario = load_scenario("box")
    scene = scenario.scene
    pairs = watched_pairs(scene, scenario.spec.collisions)
    one = Written(scene, pairs, dt=0.01)
    monkeypatch.setattr(distance_views, "_over", lambda results, count: None)
    other = Written(scene, pairs, dt=0.01)
    assert one._distances._memory is not None and other._distances._memory is None
    for seed in range(3):
        kinematics = lab.kinematics(scene, lab.random_state(scene, seed))
        one.update(kinematics)
        other.update(kinematics)
        assert one.count > 0
        np.testing.assert_array_equal(one.D, other.D)
        np.testing.assert_array_equal(one.d, other.d)
