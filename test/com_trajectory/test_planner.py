from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from contacts import BOXES, foot, walk
from hypothesis import given, settings
from hypothesis import strategies as st

from com_trajectory.bezier import Bezier
from com_trajectory.costs import QuadraticCost
from com_trajectory.phases import planned_phases
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.switching import best_switching
from com_trajectory.timing import EFFECTOR_SPEED, FREE_WAY, slowdown
from com_trajectory.trajectory import NOTED_STEP, validate
from com_trajectory.transition import transition_by_loads
from multi_qp_scene import former_names
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError

SEEDS = st.integers(0, 10_000)


def random_window(seed):
    """Three phases, the middle one with one contact less, reaches that are random hulls, and states in them."""
    rng = np.random.default_rng(seed)
    reaches = {}
    for name in ("left_sole", "right_sole"):
        points = np.array([0.0, 0.0, -0.7]) + rng.normal(size=(14, 3)) * np.array([0.25, 0.2, 0.1])
        reaches[name] = Polytope.hull(points)
    step = float(rng.uniform(0.05, 0.3))
    left, old, new = foot("left", 0, 0), foot("right", 0, 0), foot("right", step, 1)
    phases = planned_phases(
        ContactSequence((ContactPhase((left, old)), ContactPhase((left,)), ContactPhase((left, new)))),
        "walker",
        reaches,
    )
    return rng, phases


def inside(rng, reach):
    corners = reach.vertices()
    return None if len(corners) < 4 else rng.dirichlet(np.ones(len(corners))) @ corners


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_every_point_of_8_and_9_is_kinematically_feasible(seed):
    """The proof of section 6.2: for any reaches, states and attractors there are switching times that satisfy (4)."""
    rng, phases = random_window(seed)
    first, middle, last = (inside(rng, phase.reach) for phase in phases)
    if first is None or middle is None or last is None:
        return
    out = [(first, np.zeros(3), np.zeros(3)), (last, np.zeros(3), np.zeros(3))]
    cost = QuadraticCost.towards(first)
    breaking = transition_by_loads(phases[1].cone, phases[0].reach, cost).point
    making = transition_by_loads(phases[1].cone, phases[2].reach, cost).point
    curve = Bezier.between(out[0], np.array([breaking, making]), out[1], 1.0)
    u = np.linspace(0, 1, 200)
    assert phases[1].reach.contains(curve(u), tolerance=1e-6).all()  # of (9), at every instant
    in_first = phases[0].reach.contains(curve(u), tolerance=1e-6)
    in_last = phases[2].reach.contains(curve(u), tolerance=1e-6)
    assert in_first[0] and in_last[-1]  # so that contacts can be broken after the start and made before the end
    down = Bezier.between(out[0], breaking[None], (middle, np.zeros(3), np.zeros(3)), 1.0)
    assert phases[1].reach.contains(down(u), tolerance=1e-6).all()  # of (8), a contact broken
    up = Bezier.between((middle, np.zeros(3), np.zeros(3)), making[None], out[1], 1.0)
    assert phases[1].reach.contains(up(u), tolerance=1e-6).all()  # of (8), a contact made
    for piece, own in ((down, phases[:2]), (up, phases[1:])):
        assert best_switching(piece, own).kinematic < 1e-6


@pytest.mark.parametrize(
    "options",
    [
        PlanOptions(),
        PlanOptions(timing="empirical"),
        PlanOptions(sliding=False),
        PlanOptions(largest_window=2),
        PlanOptions(curve="polyline"),
        PlanOptions(curve="smooth"),
        PlanOptions(cost="alternating_sides"),
        PlanOptions(cost="low"),
        PlanOptions(cost="far_right"),
        PlanOptions(cost="short_and_low"),
    ],
    ids=str,
)
def test_walking_is_smooth_and_feasible(options):
    sequence = walk(4)
    found = plan_com(sequence, BOXES, options=options)
    valid = validate(found, step=0.02)
    assert valid.kinematic_share == 1.0
    if options.timing == "feasible":
        assert valid.dynamic_share == 1.0
        assert valid.wrench.max() < 1e-6
    assert all(point.feasible for point in found.transitions)
    assert len(found.phase_ends) == len(found.phases) == 9
    assert (np.diff(found.phase_ends) > 0).all()
    assert found.phase_ends[-1] == pytest.approx(found.duration)
    times = np.linspace(0, found.duration, 400)
    h = 1e-5
    speed = (found.position(times[1:-1] + h) - found.position(times[1:-1] - h)) / (2 * h)
    assert found.velocity(times[1:-1]) == pytest.approx(speed, abs=2e-3)
    for first, second in zip(found.pieces[:-1], found.pieces[1:], strict=True):
        assert first.end == pytest.approx(second.start)
        assert first(first.end) == pytest.approx(second(second.start), abs=1e-9)
        assert first.derivative()(first.end) == pytest.approx(second.derivative()(second.start), abs=1e-9)
    for time in (0.0, found.duration):
        assert found.velocity(time) == pytest.approx(np.zeros(3), abs=1e-9)
    assert found.velocity(found.duration + 1.0) == pytest.approx(np.zeros(3))
    assert found.position(found.duration + 1.0) == pytest.approx(found.position(found.duration))


def test_a_sliding_window_does_not_stop_between_phases():
    sliding = plan_com(walk(4), BOXES)
    stopping = plan_com(walk(4), BOXES, options=PlanOptions(sliding=False))
    inner = [piece.end for piece in sliding.pieces[:-1]]
    assert np.linalg.norm(sliding.velocity(inner), axis=1).min() > 1e-3
    inner = [piece.end for piece in stopping.pieces[:-1]]
    assert np.abs(stopping.velocity(inner)).max() < 1e-9


def test_shipped_costs_have_the_effect_of_their_name():
    found = {name: plan_com(walk(4), BOXES, options=PlanOptions(cost=name)) for name in ("nearest", "far_right", "low")}
    points = {name: np.array([t.point for t in trajectory.transitions]) for name, trajectory in found.items()}
    assert points["far_right"][:, 1].mean() < points["nearest"][:, 1].mean() - 0.01
    assert points["low"][:, 2].max() < points["nearest"][:, 2].min() - 0.05

    def high(context):
        return QuadraticCost.towards(context.start).along([0, 0, 1], 10.0)

    own = plan_com(walk(4), BOXES, options=PlanOptions(cost=high))
    assert min(t.point[2] for t in own.transitions) == pytest.approx(0.8, abs=1e-6)


def test_a_point_can_be_moved_inside_its_polytope_only():
    free = plan_com(walk(2), BOXES)
    target = free.transitions[1].point + np.array([0.01, 0.0, -0.08])
    moved = plan_com(walk(2), BOXES, options=PlanOptions(points={1: target}))
    assert moved.transitions[1].point == pytest.approx(target, abs=1e-6)
    lowest = [each.position(np.linspace(0, each.duration, 99))[:, 2].min() for each in (moved, free)]
    assert lowest[0] < lowest[1] - 0.01
    outside = plan_com(walk(2), BOXES, options=PlanOptions(points={1: target + np.array([0, 0, -5.0])}))
    assert outside.transitions[1].point[2] == pytest.approx(0.6, abs=1e-5)
    assert any("outside its polytope" in note for note in outside.notes)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_the_slowdown_is_the_least_one(seed):
    rng, phases = random_window(seed)
    region = phases[0].region
    corner = region.corners[rng.integers(len(region.corners))]
    a = np.append(region.corners.mean(axis=0), 0.75)
    b = np.append(0.1 * a[:2] + 0.9 * corner, 0.75)
    curve = Bezier(np.array([a, a, a, b, b, b]), 0.0, 1.0)
    factor = slowdown(curve, [phases[0]], [1.0])

    def worst(duration):
        times = np.linspace(0, duration, 400)
        slow = curve.moved_to(0.0, slower=duration)
        cone = phases[0].cone
        return cone.violations(cone.wrench(slow(times), slow.derivative(2)(times))).max()

    assert worst(factor) < 1e-9
    assert worst(factor * 0.93) > 1e-9


def test_an_infeasible_transition_is_relaxed_by_the_least_violation_and_noted():
    far = ContactSequence(tuple(walk(2, length=1.2).phases), name="giant")
    found = plan_com(far, BOXES)
    assert np.isfinite(found.position(np.linspace(0, found.duration, 50))).all()
    assert any("reach" in note for note in found.notes)
    ice = plan_com(walk(2, friction=0.0), BOXES)
    assert np.isfinite(ice.duration)


@settings(max_examples=20)
@given(speed=st.floats(0.05, 1.5))
def test_a_motion_that_the_contacts_cannot_balance_is_noted(speed):
    """Given durations are not stretched: a walk at a given time a phase is feasible or noted as not."""
    sequence = walk(4)
    phases = tuple(replace(phase, duration=0.1 / speed) for phase in sequence.phases)
    fast = plan_com(replace(sequence, phases=phases), BOXES, options=PlanOptions(timing="empirical"))
    valid = validate(fast, step=NOTED_STEP)
    assert any("cannot balance" in note for note in fast.notes) == (valid.dynamic_share < 1.0)


def test_a_motion_faster_than_the_contacts_allow_is_noted():
    sequence = walk(4)
    hasty = replace(sequence, phases=tuple(replace(phase, duration=0.15) for phase in sequence.phases))
    (note,) = plan_com(hasty, BOXES, options=PlanOptions(timing="empirical")).notes
    assert "the contacts cannot balance the motion at" in note


def test_phases_that_share_no_contact_and_wrong_options_are_refused():
    left, right = foot("left", 0, 0), foot("right", 1, 0)
    jump = ContactSequence((ContactPhase((left,)), ContactPhase((right,))))
    with pytest.raises(MultiQpError, match="share no contact"):
        plan_com(jump, BOXES)
    with pytest.raises(MultiQpError, match="did you mean 'nearest'"):
        plan_com(walk(2), BOXES, options=PlanOptions(cost="neerest"))
    with pytest.raises(MultiQpError, match="no transition 99"):
        plan_com(walk(2), BOXES, options=PlanOptions(points={99: [0, 0, 0]}))
    with pytest.raises(MultiQpError, match="3 finite numbers"):
        plan_com(walk(2), BOXES, options=PlanOptions(points={0: [0, 0, np.nan]}))
    with pytest.raises(MultiQpError, match="walker"):
        plan_com(walk(2), BOXES, subsystem="walkre")
    with pytest.raises(MultiQpError, match="specify `com` or the polytopes"):
        plan_com(walk(2), {})


def test_a_contact_that_moves_in_one_change_gets_a_phase_without_it():
    left, right, moved = foot("left", 0, 0), foot("right", 0, 0), foot("right", 0.2, 1)
    found = plan_com(ContactSequence((ContactPhase((left, right)), ContactPhase((left, moved)))), BOXES)
    assert [len(phase.phase.contacts) for phase in found.phases] == [2, 1, 2]
    assert [phase.source for phase in found.phases] == [0, None, 1]
    assert validate(found).dynamic_share == 1.0


def test_contacts_are_broken_earlier_where_the_reach_is_short():
    """Reach is checked for each effector alone; no body satisfies all limits at once, so its margin has a weight."""
    left, right = foot("left", 0, 0), foot("right", 0, 0)
    sequence = ContactSequence((ContactPhase((left, right)), ContactPhase((left,))))
    middle = 0.5 * (left.pose.translation + right.pose.translation)
    low, high = middle + np.array([0.0, 0.0, 0.75]), left.pose.translation + np.array([0.0, 0.0, 0.95])
    curve = Bezier(np.linspace(low, high, 6))
    cuts = {}
    for top in (1.4, 0.96):
        tops = {"left_sole": 1.4, "right_sole": top}
        reaches = {name: Polytope.box([-1.0, -1.0, -high], [1.0, 1.0, -0.3]) for name, high in tops.items()}
        found = best_switching(curve, planned_phases(sequence, "walker", reaches))
        assert found.feasible
        cuts[top] = found.cuts[0]
    assert cuts[0.96] < cuts[1.4] - 1


def test_an_effector_without_previous_contact_has_time_for_its_swing():
    """Empirical timing is by the distance between configurations; feasible timing by the forces of the contacts."""
    feet = foot("left", 0, 0), foot("right", 0, 0)
    rail = Contact.planar(
        "rail", pin.SE3(np.eye(3), np.array([0.3, 0.3, 0.9])), (0.08, 0.06), friction=0.5, subsystem="walker"
    )
    sequence = ContactSequence((ContactPhase(feet), ContactPhase((*feet, rail))))
    empirical = plan_com(sequence, BOXES, options=PlanOptions(timing="empirical"))
    assert empirical.duration == pytest.approx(FREE_WAY / EFFECTOR_SPEED)
    assert plan_com(sequence, BOXES).duration < empirical.duration


@pytest.mark.parametrize("former", ["tired", "groovy"])
def test_former_names_of_costs_have_the_effect_of_the_present_ones(former, caplog):
    both = (former, former_names.COSTS[former])
    points = [plan_com(walk(2), BOXES, options=PlanOptions(cost=cost)).transitions[0].point for cost in both]
    assert (points[0] == points[1]).all()
    assert f"'{former}' is deprecated" in caplog.text
