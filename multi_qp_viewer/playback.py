"""Playback: displayed time, speed, live or replay."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer.history import History

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


class Player:
    """Plays a history back; the methods can be called from any thread.

    Attributes:
        history: snapshots of the run.
        time: displayed time of the run [s].
        live: whether the newest tick is followed while the run continues.
        playing: whether time advances.
        speed: run time per wall time.
        finished: whether the run is over.
    """

    def __init__(self, on_change: Callable[[], None], history: History | None = None) -> None:
        """Start live, with an empty history by default.

        Args:
            on_change: called after each action of the user.
            history: snapshots to play.
        """
        self.history = History() if history is None else history
        self.time, self.speed = 0.0, 1.0
        self.live, self.playing, self.finished = True, True, False
        self._lock = threading.RLock()
        self._on_change = on_change

    @contextmanager
    def _action(self) -> Iterator[None]:
        with self._lock:
            yield
        self._on_change()

    def advance(self, elapsed: float) -> Snapshot | None:
        """Advance by wall time [s] within the run so far and return the snapshot due; None if there is none."""
        with self._lock:
            start, end = self.history.span
            if self.live and not self.finished:
                self.time = end
            else:
                if self.playing:
                    self.time += elapsed * self.speed
                if self.time >= end and self.playing:
                    self.live = not self.finished  # caught up with a run that continues
                    self.playing = not self.finished
                self.time = min(max(self.time, start), end)
            return self.history.at(self.time)

    def play(self) -> None:
        """Play from the displayed time, or from the start if that is the end."""
        with self._action():
            start, end = self.history.span
            if self.finished and self.time >= end - 1e-9:
                self.time = start
            self.live, self.playing = False, True

    def pause(self) -> None:
        """Pause at the displayed time."""
        with self._action():
            self.live = self.playing = False

    def toggle(self) -> None:
        """Pause, or play."""
        if self.playing or self.live:
            self.pause()
        else:
            self.play()

    def seek(self, moment: float) -> None:
        """Pause at another time of the run [s]."""
        with self._action():
            self.time = moment
            self.live = self.playing = False

    def reset(self) -> None:
        """Replay from the start."""
        with self._action():
            self.time = self.history.span[0]
            self.live, self.playing = False, True

    def go_live(self) -> None:
        """Follow the newest tick; after the run, show the last one."""
        with self._action():
            self.live, self.playing = True, not self.finished
            if self.finished:
                self.time = float("inf")

    def set_speed(self, speed: float) -> None:
        """Set the replay speed; 1 is real time.

        Raises:
            ValueError: if the speed is not within 0.1 and 4.
        """
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(f"the replay speed must be within {SPEEDS[0]} and {SPEEDS[-1]}, not {speed}")
        with self._lock:
            self.speed = speed

    def finish(self) -> None:
        """Mark the run as finished; pause at the end if playback was live."""
        with self._action():
            if self.live:
                self.playing = self.live = False
            self.finished = True

    def begin(self) -> None:
        """Clear the history, before a new run."""
        with self._lock:
            self.history.clear()
            self.time, self.live, self.playing, self.finished = 0.0, True, True, False
