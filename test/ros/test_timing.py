"""When states were measured and when to answer, without ROS."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.ros.timing import ArrivalClock, Hearing, Pacer

DT = 0.01


def pace(pacer: Pacer, arrivals, *, took=0.002, tick=1e-4) -> list[float]:
    """Return when a pacer answers states that come at these times, looked at every `tick` from the first one on."""
    waiting, answers, times = False, [], list(arrivals)
    for now in np.arange(times[0], times[-1] + 3 * DT, tick):
        while times and times[0] <= now:
            pacer.heard(times.pop(0))
            waiting = True
        if now >= pacer.due(fresh=waiting):
            pacer.answered(now, now + took, fresh=waiting)
            answers.append(now)
            waiting = False
    return answers


def test_states_at_the_period_are_answered_as_they_come():
    jitter = np.random.default_rng(0).uniform(0, 0.3 * DT, 100)
    arrivals = np.arange(1, 101) * DT + jitter
    answers = np.array(pace(Pacer(DT), arrivals))
    fresh = answers[(answers >= arrivals[0]) & (answers <= arrivals[-1] + 1e-3)]
    np.testing.assert_allclose(fresh, arrivals, atol=3e-4)


def test_a_late_answer_does_not_delay_those_that_follow():
    pacer = Pacer(DT)
    arrivals = np.arange(1, 60) * DT
    arrivals[20] += 0.7 * DT  # one state comes late
    answers = np.array(pace(pacer, arrivals))
    np.testing.assert_allclose(
        [answers[np.argmin(np.abs(answers - a))] for a in arrivals[30:]], arrivals[30:], atol=3e-4
    )


def test_states_that_come_faster_are_answered_at_the_period():
    answers = np.array(pace(Pacer(DT), np.arange(1, 1001) * 1e-3))
    late = answers[answers > 0.5]
    assert np.diff(late).mean() == pytest.approx(DT, rel=0.02)


def test_a_stall_is_not_what_answers_usually_take():
    pacer, now = Pacer(DT), 0.0

    def answers(*took: float) -> None:
        nonlocal now
        for duration in took:
            pacer.answered(now, now + duration, fresh=True)
            now += max(DT, duration)

    answers(*[0.003] * 100)
    assert pacer.latency == pytest.approx(0.003, rel=0.02)
    answers(0.07)
    assert pacer.latency == pytest.approx(0.003, rel=0.04)
    answers(*[0.006] * 100)  # a machine that has become slower
    assert pacer.latency == pytest.approx(0.006, rel=0.02)


def test_without_states_it_ticks_on_and_counts_nothing_missed():
    pacer = Pacer(DT)
    pacer.answered(0.0, 0.002, fresh=True)
    assert pacer.due(fresh=False) == pytest.approx(1.5 * DT)
    pacer.answered(1.5 * DT, 1.7 * DT, fresh=False)
    assert pacer.due(fresh=False) == pytest.approx(2.5 * DT)
    pacer.answered(6.5 * DT, 6.6 * DT, fresh=True)
    assert pacer.missed == 5


@pytest.mark.parametrize("offset", [0.0, -1.7e9, 3600.0])
def test_measurement_is_known_whatever_the_robots_clock_says(offset):
    clock, rng = ArrivalClock(), np.random.default_rng(1)
    errors = []
    for k in range(200):
        measured = 100.0 + k * DT
        arrival = measured + 3e-4 + rng.exponential(2e-3)
        errors.append(clock.measured("a", round((measured + offset) * 1e9), arrival) - measured)
    assert max(errors[50:]) < 1e-3 and min(errors[50:]) >= 0.0


def test_without_stamps_a_message_counts_from_its_arrival():
    assert ArrivalClock(stamps=False).measured("a", 5, 12.0) == 12.0


def test_who_is_in_time_answers_at_once():
    assert Hearing(DT, topics=3).over(1.0 + 0.05 * DT, 1.0)


def test_who_had_no_processor_hears_what_waits_before_the_answer():
    hearing, now, rounds = Hearing(DT, topics=3), 1.0 + DT, 0
    while not hearing.over(now, 1.0):
        rounds += 1
        assert hearing.left(now) == 0.0 or rounds > 6
        now += 1e-5
    assert rounds >= 6  # no topic can still wait with its message, whatever the time
    assert now >= 1.0 + 2 * DT - 1e-9  # who tells of the state may have had none either
    hearing.end()
    assert hearing.over(2.0, 2.0)
    assert not hearing.over(3.0, 2.0)
