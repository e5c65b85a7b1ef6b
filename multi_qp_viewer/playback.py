"""Which moment of the run is on screen."""

from __future__ import annotations

from dataclasses import dataclass

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass
class Playhead:
    """A player's state; times in run seconds.

    Attributes:
        time: the moment on screen [s].
        live: follow the newest tick while the run goes on.
        playing: move on by itself.
        speed: run time per wall time.
        finished: no more ticks will come.
    """

    time: float = 0.0
    live: bool = True
    playing: bool = True
    speed: float = 1.0
    finished: bool = False

    def advance(self, elapsed: float, *, start: float, end: float) -> float:
        """Move on by wall time [s] within the run's span so far and return the new moment."""
        if self.live and not self.finished:
            self.time = end
            return self.time
        if self.playing:
            self.time += elapsed * self.speed
        if self.time >= end and self.playing:
            self.live = not self.finished  # caught up with a run that goes on
            self.playing = not self.finished
        self.time = min(max(self.time, start), end)
        return self.time

    def play(self, *, start: float, end: float) -> None:
        """Go on from here, or from the start if the end is on screen."""
        if self.finished and self.time >= end - 1e-9:
            self.time = start
        self.live, self.playing = False, True

    def pause(self) -> None:
        """Hold this moment."""
        self.live = self.playing = False

    def seek(self, moment: float) -> None:
        """Hold another moment [s]."""
        self.time = moment
        self.pause()

    def reset(self, *, start: float) -> None:
        """Replay from the start."""
        self.time = start
        self.live, self.playing = False, True

    def go_live(self) -> None:
        """Follow the newest tick; after the run, show its last one."""
        self.live, self.playing = True, not self.finished
        if self.finished:
            self.time = float("inf")

    def finish(self) -> None:
        """Note that no more ticks will come; hold the end if it was on screen."""
        if self.live:
            self.playing = self.live = False
        self.finished = True

    def begin(self) -> None:
        """Note that a new run has begun."""
        self.time, self.live, self.playing, self.finished = 0.0, True, True, False
