from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer.history import History


def tick(moment, **changes):
    return replace(Snapshot(time=moment, q=np.zeros(1), state="S", status="ok", tick_ms=1.0), **changes)


def test_empty_history():
    history = History()
    assert history.at(0.0) is None
    assert history.span == (0.0, 0.0)
    assert history.realtime_factor is None
    assert len(history.tick_curve()[0]) == 0


def test_lookup_returns_the_newest_at_or_before():
    history = History()
    for index in range(5):
        history.append(tick(0.1 * index))
    assert history.at(0.25).time == pytest.approx(0.2)
    assert history.at(0.3).time == pytest.approx(0.3)
    assert history.at(-1.0).time == 0.0
    assert history.at(9.0) is history.latest
    assert history.span == (0.0, 0.4)


def test_fast_ticks_are_thinned_with_their_largest_tick_time():
    history = History(shortest_step=0.01)
    for index in range(101):
        history.append(tick(0.001 * index, tick_ms=50.0 if index == 15 else 1.0))
    assert len(history) == 11
    assert history.at(1.0).time == pytest.approx(0.1)
    times, ticks = history.tick_curve()
    assert ticks.max() == 50.0
    assert times[np.argmax(ticks)] == pytest.approx(0.02)


def test_history_is_bounded_and_covers_the_whole_run():
    history = History(shortest_step=0.01, capacity=64)
    for index in range(5000):
        history.append(tick(0.01 * index, tick_ms=9.0 if index == 777 else 1.0))
    assert len(history) <= 64
    assert history.span == (0.0, pytest.approx(49.99))
    gaps = np.diff([snapshot.time for snapshot in history._snapshots])
    assert gaps.max() < 4 * gaps.min()
    assert history.tick_curve()[1].max() == 9.0


def test_going_back_in_time_starts_a_new_run():
    history = History()
    history.append(tick(5.0))
    history.append(tick(0.0))
    assert history.span == (0.0, 0.0)
    assert len(history) == 1


def test_tick_curve_is_thinned():
    history = History()
    for index in range(1000):
        history.append(tick(0.01 * index, tick_ms=float(index % 100)))
    times, ticks = history.tick_curve(most=100)
    assert len(times) == len(ticks) == 100
    assert ticks.max() == 99.0


def test_realtime_factor_compares_run_and_wall_time():
    history = History()
    history.append(tick(0.0))
    time.sleep(0.05)
    history.append(tick(0.5))
    assert 2.0 < history.realtime_factor <= 10.0


def test_concurrent_readers_and_writer():
    history, failures = History(capacity=50), []

    def read():
        try:
            for moment in np.linspace(0, 10, 300):
                history.at(moment)
                history.tick_curve()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for index in range(2000):
        history.append(tick(0.01 * index))
    for thread in threads:
        thread.join()
    assert not failures


def test_too_small_capacity_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        History(capacity=1)
