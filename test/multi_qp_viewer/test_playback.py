from __future__ import annotations

import pytest

from multi_qp_viewer.playback import Player


class Run:
    """History of a run over a span [s]; its snapshots are their times."""

    def __init__(self, start, end):
        self.span = (start, end)

    def at(self, time):
        return time

    def clear(self):
        self.span = (0.0, 0.0)


def player(start=0.0, end=10.0):
    return Player(lambda: None, Run(start, end))


def test_live_follows_the_end_at_any_speed():
    head = player(end=1.0)
    head.set_speed(0.1)
    assert head.advance(0.03) == 1.0
    head.history.span = (0.0, 5.0)
    assert head.advance(0.03) == 5.0


@pytest.mark.parametrize("speed", [0.1, 1.0, 4.0])
def test_replay_advances_at_its_speed(speed):
    head = player()
    head.set_speed(speed)
    head.finish()
    head.reset()
    assert head.advance(0.5) == pytest.approx(0.5 * speed)


def test_pause_and_seek_stop_playback():
    head = player()
    head.seek(2.0)
    assert head.advance(1.0) == 2.0
    head.play()
    head.advance(1.0)
    head.pause()
    assert head.advance(1.0) == 3.0


def test_seek_outside_the_run_is_clipped():
    head = player(start=1.0, end=2.0)
    head.seek(-5.0)
    assert head.advance(0.0) == 1.0
    head.seek(50.0)
    assert head.advance(0.0) == 2.0


def test_replay_that_catches_up_becomes_live():
    head = player(end=1.0)
    head.seek(0.5)
    head.play()
    head.advance(1.0)
    assert head.live
    head.history.span = (0.0, 7.0)
    assert head.advance(0.0) == 7.0


def test_replay_stops_at_the_end_of_a_finished_run_and_play_starts_over():
    head = player(end=2.0)
    head.finish()
    head.reset()
    assert head.advance(9.0) == 2.0
    assert not head.playing
    head.play()
    assert head.advance(0.5) == 0.5


def test_finish_does_not_affect_a_replay():
    head = player(end=3.0)
    head.reset()
    head.advance(0.5)
    head.finish()
    assert head.advance(0.5) == 1.0


def test_go_live_after_the_run_shows_its_end():
    head = player(end=3.0)
    head.finish()
    head.seek(0.5)
    head.go_live()
    assert head.advance(0.0) == 3.0
    assert not head.playing


def test_a_new_run_is_live():
    head = player()
    head.finish()
    head.begin()
    assert head.live
    head.history.span = (0.0, 0.2)
    assert head.advance(0.0) == 0.2
