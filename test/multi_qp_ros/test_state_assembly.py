"""Assembly of messages to a state: order, gaps, common instants."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_ros.state_assembly import MessageStatus, StateAssembler
from multi_qp_scene import load_scenario

PERIOD = 0.005


@pytest.fixture(scope="module")
def scene():
    return load_scenario("box").scene


@pytest.fixture
def assembler(scene):
    return StateAssembler(scene, max_age=5 * PERIOD, period=PERIOD)


POSE, TWIST = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]), np.arange(6.0)


def send(assembler, stamp: int, at: dict[str, float], *, names=None) -> np.ndarray:
    """Tell all topics of one stamp [ns], each measured at a time [s], and return the joints' angles."""
    own = [joint.name for joint in assembler.joints["humanoid"]]
    angles = np.linspace(0.1, 1.0, len(own))
    published = own if names is None else names
    row = [own.index(name) for name in published]
    assembler.put_joints("humanoid", stamp, at["humanoid/joint_states"], published, angles[row], 2.0 * angles[row])
    assembler.put_root("humanoid", stamp, at["humanoid/odom"], POSE, TWIST)
    assembler.put_root("box", stamp, at["box/odom"], POSE, np.zeros(6))
    return angles


def test_any_order_of_joints_is_the_same_state(assembler, scene):
    at = dict.fromkeys(assembler.topics, 1.0)
    angles = send(assembler, 1, at)
    straight, faults = assembler.state(1.0)
    names = [joint.name for joint in assembler.joints["humanoid"]]
    send(assembler, 2, at, names=names[::-1])
    turned, more = assembler.state(1.0)
    assert not faults and not more
    np.testing.assert_array_equal(straight.q, turned.q)
    np.testing.assert_array_equal(straight.v, turned.v)
    where = [joint.q_index for joint in assembler.joints["humanoid"]]
    np.testing.assert_array_equal(straight.q[where], angles)


def test_a_joint_that_is_not_there_is_not_known_and_comes_back(assembler):
    at = dict.fromkeys(assembler.topics, 1.0)
    names = [joint.name for joint in assembler.joints["humanoid"]]
    send(assembler, 1, at, names=names[1:])
    state, faults = assembler.state(1.0)
    lost = assembler.joints["humanoid"][0]
    assert np.flatnonzero(np.isnan(state.q)).tolist() == [lost.q_index]
    assert faults == [f"humanoid/joint_states lacks {lost.name}"]
    send(assembler, 2, at)
    state, faults = assembler.state(1.0)
    assert state.is_finite and not faults


def test_messages_of_one_stamp_form_one_state_however_late_they_arrive(assembler, scene):
    times = dict.fromkeys(assembler.topics, 1.0)
    send(assembler, 1, times | {"box/odom": 1.002})
    assert assembler.measured == 1.0
    state, _ = assembler.state(1.003)
    send(assembler, 2, times | {"box/odom": 1.0})
    np.testing.assert_array_equal(state.q, assembler.state(1.003)[0].q)


def test_older_parts_are_extrapolated_by_their_velocity(assembler, scene):
    send(assembler, 1, dict.fromkeys(assembler.topics, 1.0))
    before, _ = assembler.state(1.0)
    assembler.put_root("box", 2, 1.01, POSE, np.zeros(6))
    state, _ = assembler.state(1.01)
    moved = [joint.q_index for joint in assembler.joints["humanoid"]]
    rates = before.v[[joint.v_index for joint in assembler.joints["humanoid"]]]
    np.testing.assert_allclose(state.q[moved] - before.q[moved], 0.01 * rates, atol=1e-12)


def test_missing_and_fresh_topics_are_listed(assembler):
    assert assembler.missing == assembler.topics and not assembler.fresh and assembler.newest == 0
    send(assembler, 7, dict.fromkeys(assembler.topics, 1.0))
    assert not assembler.missing and assembler.fresh and assembler.newest == 7
    assembler.state(1.0)
    assert not assembler.fresh
    again = assembler.put_root("box", 7, 1.0, POSE, np.zeros(6))
    older = assembler.put_root("box", 6, 1.0, POSE, TWIST)
    assert (again, older) == (MessageStatus.REPEATED, MessageStatus.OUTDATED) and not assembler.fresh


@pytest.mark.parametrize("quaternion", [[0.0, 0.0, 0.0, 2.0], [np.nan, 0.0, 0.0, 1.0]])
def test_an_impossible_quaternion_is_not_known(assembler, quaternion):
    send(assembler, 1, dict.fromkeys(assembler.topics, 1.0))
    assembler.put_root("box", 2, 1.0, np.concatenate([POSE[:3], quaternion]), TWIST)
    assert np.isnan(assembler.state(1.0)[0].q).sum() == 4


ALL = ("humanoid/joint_states", "humanoid/odom", "box/odom")


def step(assembler, stamp: int, *, topics=ALL, later: dict[str, int] | None = None) -> list[MessageStatus]:
    """Tell topics of a stamp [ns] in lock-step, some of them a little later [ns]."""
    names = [joint.name for joint in assembler.joints["humanoid"]]
    q = np.full(len(names), 1e-9 * stamp)
    receipts = []
    for topic in topics:
        at = stamp + (later or {}).get(topic, 0)
        name, _, kind = topic.partition("/")
        if kind == "odom":
            receipts.append(assembler.put_root(name, at, None, POSE, TWIST))
        else:
            receipts.append(assembler.put_joints(name, at, None, names, q, q))
    return receipts


TICK = round(PERIOD * 1e9)
TAKEN = [MessageStatus.TAKEN] * 3


@pytest.mark.parametrize("later", [0, 1_000, -1_000, TICK // 3, -TICK // 3])
def test_stamps_within_half_a_period_are_of_one_instant(assembler, later):
    for tick in range(1, 6):
        assert step(assembler, tick * TICK, later={"humanoid/odom": later}) == TAKEN
        assert assembler.complete(assembler.clock) and assembler.instant == tick
        assert not assembler.state(assembler.clock)[1]


def test_a_topic_counts_once_for_an_instant(assembler):
    """Robots whose period is a fifth of ours: each of their states is one of its own."""
    for k in range(1, 6):
        step(assembler, k * TICK // 5, topics=ALL[:1])
        assert not assembler.complete(assembler.clock)
        step(assembler, k * TICK // 5, topics=ALL[1:])
        assert assembler.complete(assembler.clock) and assembler.instant == k
        assembler.state(assembler.clock)


def test_after_stamps_that_did_not_fit_the_next_ones_do(assembler):
    step(assembler, TICK)
    assembler.state(assembler.clock)
    step(assembler, 2 * TICK, later={"humanoid/odom": 7 * TICK // 10})
    assert set(assembler.behind(assembler.clock)) == {"humanoid/joint_states", "box/odom"}
    step(assembler, 3 * TICK)
    assert assembler.complete(assembler.clock)


def test_a_stamp_ahead_of_the_others_is_refused_until_all_agree(assembler):
    step(assembler, TICK)
    far = 1000 * TICK
    assert step(assembler, far, topics=ALL[:1]) == [MessageStatus.AHEAD]
    assert step(assembler, 2 * TICK) == TAKEN
    assert step(assembler, far) == [MessageStatus.AHEAD, MessageStatus.AHEAD, MessageStatus.TAKEN]
    assert step(assembler, far, topics=ALL[:2]) == TAKEN[:2]
    assert assembler.complete(assembler.clock) and assembler.newest == far
    assert step(assembler, 3 * TICK, topics=ALL[:1]) == [MessageStatus.JUMPED_BACK]


def test_one_stamp_with_two_states_is_a_contradiction(assembler):
    step(assembler, TICK)
    assert step(assembler, TICK) == [MessageStatus.REPEATED] * 3
    assert assembler.put_root("box", TICK, None, POSE, TWIST + 1.0) is MessageStatus.CONTRADICTORY


def test_a_joint_that_is_named_twice_is_not_known(assembler):
    at = dict.fromkeys(assembler.topics, 1.0)
    names = [joint.name for joint in assembler.joints["humanoid"]]
    send(assembler, 1, at, names=[*names, names[3]])
    state, faults = assembler.state(1.0)
    assert np.flatnonzero(np.isnan(state.q)).tolist() == [assembler.joints["humanoid"][3].q_index]
    assert faults == [f"humanoid/joint_states names {names[3]} more than once"]


def test_child_frame_of_odometry_is_the_root_link_with_or_without_the_subsystem():
    from multi_qp_ros.conversions import root_frames

    box = load_scenario("box").scene.subsystems["box"]
    assert root_frames(box) == ("box_link", "box/box_link")
