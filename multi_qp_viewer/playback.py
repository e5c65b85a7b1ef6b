"""Playback state: displayed time, speed, live or replay."""

from __future__ import annotations

from dataclasses import dataclass

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
