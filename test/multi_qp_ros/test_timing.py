"""Time of measurement, rate control and catch-up window; without ROS."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_ros.timing import ArrivalClock, CatchUpWindow, RateController

DT = 0.01


def pace(rate_controller: RateController, arrivals, *, took=0.002, tick=1e-4) -> list[float]:
    """Return when a rate controller processes states that come at these times, checked every `tick` from the first."""
    waiting, answers, times = False, [], list(arrivals)
    for now in np.arange(times[0], times[-1] + 3 * DT, tick):
        while times and times[0] <= now:
            rate_controller.record_state(times.pop(0))
            waiting = True
        if now >= rate_controller.due(fresh=waiting):
            rate_controller.answered(now, now + took, fresh=waiting)
            answers.append(now)
            waiting = False
    return answers


def test_states_at_the_period_are_processed_on_arrival():
    jitter = np.random.default_rng(0).uniform(0, 0.3 * DT, 100)
    arrivals = np.arange(1, 101) * DT + jitter
    answers = np.array(pace(RateController(DT), arrivals))
    fresh = answers[(answers >= arrivals[0]) & (answers <= arrivals[-1] + 1e-3)]
    np.testing.assert_allclose(fresh, arrivals, atol=3e-4)


def test_a_late_command_does_not_delay_the_following_ones():
    rate_controller = RateController(DT)
    arrivals = np.arange(1, 60) * DT
    arrivals[20] += 0.7 * DT  # one state comes late
    answers = np.array(pace(rate_controller, arrivals))
    np.testing.assert_allclose(
        [answers[np.argmin(np.abs(answers - a))] for a in arrivals[30:]], arrivals[30:], atol=3e-4
    )


def test_faster_states_are_processed_at_the_period():
    answers = np.array(pace(RateController(DT), np.arange(1, 1001) * 1e-3))
    late = answers[answers > 0.5]
    assert np.diff(late).mean() == pytest.approx(DT, rel=0.02)


def test_a_stall_does_not_change_the_mean_computation_time():
    rate_controller, now = RateController(DT), 0.0

    def answers(*took: float) -> None:
        nonlocal now
        for duration in took:
            rate_controller.answered(now, now + duration, fresh=True)
            now += max(DT, duration)

    answers(*[0.003] * 100)
    assert rate_controller.latency == pytest.approx(0.003, rel=0.02)
    answers(0.07)
    assert rate_controller.latency == pytest.approx(0.003, rel=0.04)
    answers(*[0.006] * 100)  # a machine that has become slower
    assert rate_controller.latency == pytest.approx(0.006, rel=0.02)


def test_without_states_it_ticks_on_and_counts_nothing_missed():
    rate_controller = RateController(DT)
    rate_controller.answered(0.0, 0.002, fresh=True)
    assert rate_controller.due(fresh=False) == pytest.approx(1.5 * DT)
    rate_controller.answered(1.5 * DT, 1.7 * DT, fresh=False)
    assert rate_controller.due(fresh=False) == pytest.approx(2.5 * DT)
    rate_controller.answered(6.5 * DT, 6.6 * DT, fresh=True)
    assert rate_controller.missed == 5


@pytest.mark.parametrize("offset", [0.0, -1.7e9, 3600.0])
def test_the_time_of_measurement_does_not_depend_on_the_robots_clock(offset):
    clock, rng = ArrivalClock(), np.random.default_rng(1)
    errors = []
    for k in range(200):
        measured = 100.0 + k * DT
        arrival = measured + 3e-4 + rng.exponential(2e-3)
        errors.append(clock.measured("a", round((measured + offset) * 1e9), arrival) - measured)
    assert max(errors[50:]) < 1e-3 and min(errors[50:]) >= 0.0


def take(clock: ArrivalClock, stamp: float, arrival: float) -> float | None:
    """Return when a message was measured, None if its stamp is refused; all in [s]."""
    if clock.ahead("a", round(stamp * 1e9), arrival) is not None:
        return None
    return clock.measured("a", round(stamp * 1e9), arrival)


@pytest.mark.parametrize("wrong", [0, 1, 2, 7])
def test_one_stamp_that_is_ahead_changes_nothing(wrong):
    clock, took = ArrivalClock(most_ahead=5 * DT), []
    for k in range(20):
        took.append(take(clock, k * DT + 3600.0 * (k == wrong), 50.0 + k * DT))
    assert took[wrong] is None
    assert took[-10:] == pytest.approx([50.0 + k * DT for k in range(10, 20)])


@pytest.mark.parametrize(("forward", "refused"), [(0.5, 1), (100.0, 9)])
def test_a_clock_that_was_set_forward_is_believed_after_a_while(forward, refused):
    clock = ArrivalClock(most_ahead=5 * DT)
    for k in range(20):
        take(clock, k * DT, 50.0 + k * DT)
    took = [take(clock, k * DT + forward, 50.0 + k * DT) for k in range(20, 40)]
    assert took[:refused] == [None] * refused
    assert took[refused:] == pytest.approx([50.0 + k * DT for k in range(20 + refused, 40)])


def test_without_stamps_a_message_counts_from_its_arrival():
    assert ArrivalClock(stamps=False).measured("a", 5, 12.0) == 12.0


def test_without_delay_there_is_no_catch_up():
    assert CatchUpWindow(DT, topics=3).over(1.0 + 0.05 * DT, 1.0)


def test_after_a_stall_queued_messages_are_received_before_the_command():
    catch_up, now, rounds = CatchUpWindow(DT, topics=3), 1.0 + DT, 0
    while not catch_up.over(now, 1.0):
        rounds += 1
        assert catch_up.left(now) == 0.0 or rounds > 6
        now += 1e-5
    assert rounds >= 6  # no topic can still wait with its message, whatever the time
    assert now >= 1.0 + 2 * DT - 1e-9  # the publisher of the state may have been stalled as well
    catch_up.end()
    assert catch_up.over(2.0, 2.0)
    assert not catch_up.over(3.0, 2.0)
