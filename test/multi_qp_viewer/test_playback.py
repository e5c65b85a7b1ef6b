from __future__ import annotations

import pytest

from multi_qp_viewer.playback import PlaybackPosition


def test_live_follows_the_end_at_any_speed():
    head = PlaybackPosition(speed=0.1)
    assert head.advance(0.03, start=0.0, end=1.0) == 1.0
    assert head.advance(0.03, start=0.0, end=5.0) == 5.0


@pytest.mark.parametrize("speed", [0.1, 1.0, 4.0])
def test_replay_advances_at_its_speed(speed):
    head = PlaybackPosition(speed=speed)
    head.finish()
    head.reset(start=0.0)
    assert head.advance(0.5, start=0.0, end=10.0) == pytest.approx(0.5 * speed)


def test_pause_and_seek_stop_playback():
    head = PlaybackPosition()
    head.seek(2.0)
    assert head.advance(1.0, start=0.0, end=10.0) == 2.0
    head.play(start=0.0, end=10.0)
    head.advance(1.0, start=0.0, end=10.0)
    head.pause()
    assert head.advance(1.0, start=0.0, end=10.0) == 3.0


def test_seek_outside_the_run_is_clipped():
    head = PlaybackPosition()
    head.seek(-5.0)
    assert head.advance(0.0, start=1.0, end=2.0) == 1.0
    head.seek(50.0)
    assert head.advance(0.0, start=1.0, end=2.0) == 2.0


def test_replay_that_catches_up_becomes_live():
    head = PlaybackPosition()
    head.seek(0.5)
    head.play(start=0.0, end=1.0)
    head.advance(1.0, start=0.0, end=1.0)
    assert head.live
    assert head.advance(0.0, start=0.0, end=7.0) == 7.0


def test_replay_stops_at_the_end_of_a_finished_run_and_play_starts_over():
    head = PlaybackPosition()
    head.finish()
    head.reset(start=0.0)
    assert head.advance(9.0, start=0.0, end=2.0) == 2.0
    assert not head.playing
    head.play(start=0.0, end=2.0)
    assert head.advance(0.5, start=0.0, end=2.0) == 0.5


def test_finish_does_not_affect_a_replay():
    head = PlaybackPosition()
    head.reset(start=0.0)
    head.advance(0.5, start=0.0, end=3.0)
    head.finish()
    assert head.advance(0.5, start=0.0, end=3.0) == 1.0


def test_go_live_after_the_run_shows_its_end():
    head = PlaybackPosition()
    head.finish()
    head.seek(0.5)
    head.go_live()
    assert head.advance(0.0, start=0.0, end=3.0) == 3.0
    assert not head.playing


def test_a_new_run_is_live():
    head = PlaybackPosition()
    head.finish()
    head.begin()
    assert head.live
    assert head.advance(0.0, start=0.0, end=0.2) == 0.2
