"""Playback: displayed time, speed, live or replay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer.history import History

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass
class PlaybackPosition:
    """Playback state; times in seconds of the run.

    Attributes:
        time: displayed time [s].
        live: whether the newest tick is followed while the run continues.
        playing: whether time advances.
        speed: run time per wall time.
        finished: whether the run is over.
    """

    time: float = 0.0
    live: bool = True
    playing: bool = True
    speed: float = 1.0
    finished: bool = False

    def advance(self, elapsed: float, *, start: float, end: float) -> float:
        """Advance by wall time [s] within the run so far and return the new time."""
        if self.live and not self.finished:
            self.time = end
            return self.time
        if self.playing:
            self.time += elapsed * self.speed
        if self.time >= end and self.playing:
            self.live = not self.finished  # caught up with a run that continues
            self.playing = not self.finished
        self.time = min(max(self.time, start), end)
        return self.time

    def play(self, *, start: float, end: float) -> None:
        """Play from the displayed time, or from the start if that is the end."""
        if self.finished and self.time >= end - 1e-9:
            self.time = start
        self.live, self.playing = False, True

    def pause(self) -> None:
        """Pause at the displayed time."""
        self.live = self.playing = False

    def seek(self, moment: float) -> None:
        """Pause at another time [s]."""
        self.time = moment
        self.pause()

    def reset(self, *, start: float) -> None:
        """Replay from the start."""
        self.time = start
        self.live, self.playing = False, True

    def go_live(self) -> None:
        """Follow the newest tick; after the run, show the last one."""
        self.live, self.playing = True, not self.finished
        if self.finished:
            self.time = float("inf")

    def finish(self) -> None:
        """Mark the run as finished; pause at the end if playback was live."""
        if self.live:
            self.playing = self.live = False
        self.finished = True

    def begin(self) -> None:
        """Reset for a new run."""
        self.time, self.live, self.playing, self.finished = 0.0, True, True, False


class Player:
    """Plays a history back; the methods can be called from any thread.

    Attributes:
        history: snapshots of the run.
        position: playback state.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        """Start live with an empty history.

        Args:
            on_change: called after each action of the user.
        """
        self.history, self.position = History(), PlaybackPosition()
        self._lock = threading.RLock()
        self._on_change = on_change

    def advance(self, elapsed: float) -> Snapshot | None:
        """Advance by wall time [s] and return the snapshot due; None if there is none."""
        with self._lock:
            start, end = self.history.span
            return self.history.at(self.position.advance(elapsed, start=start, end=end))

    def play(self) -> None:
        """Play from the displayed time on."""
        with self._lock:
            start, end = self.history.span
            self.position.play(start=start, end=end)
        self._on_change()

    def pause(self) -> None:
        """Pause at the displayed time."""
        with self._lock:
            self.position.pause()
        self._on_change()

    def toggle(self) -> None:
        """Pause, or play."""
        if self.position.playing or self.position.live:
            self.pause()
        else:
            self.play()

    def seek(self, moment: float) -> None:
        """Pause at a time of the run [s]."""
        with self._lock:
            self.position.seek(moment)
        self._on_change()

    def reset(self) -> None:
        """Replay from the start."""
        with self._lock:
            self.position.reset(start=self.history.span[0])
        self._on_change()

    def go_live(self) -> None:
        """Follow the newest tick."""
        with self._lock:
            self.position.go_live()
        self._on_change()

    def set_speed(self, speed: float) -> None:
        """Set the replay speed; 1 is real time.

        Raises:
            ValueError: if the speed is not within 0.1 and 4.
        """
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(f"the replay speed must be within {SPEEDS[0]} and {SPEEDS[-1]}, not {speed}")
        with self._lock:
            self.position.speed = speed

    def finish(self) -> None:
        """Mark the run as finished."""
        with self._lock:
            self.position.finish()
        self._on_change()

    def begin(self) -> None:
        """Clear the history, before a new run."""
        with self._lock:
            self.history.clear()
            self.position.begin()
