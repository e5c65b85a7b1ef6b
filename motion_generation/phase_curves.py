"""Centre-of-mass trajectory split at its contact phases, as targets of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from com_trajectory.trajectory import ComTrajectory
from multi_qp_scene.arrays import Array

_SHORTEST = 1e-6  # [s] shorter parts are dropped


class PhaseCurves:
    """The parts of a trajectory in each phase, optionally slowed down.

    Attributes:
        slower: factor on all durations; slower motions require smaller contact forces. [Tonneau2018] 5.2.
    """

    def __init__(self, trajectory: ComTrajectory, *, slower: float = 1.0) -> None:
        self._trajectory = trajectory
        self._ends = np.concatenate([[0.0], trajectory.phase_ends])
        self.slower = slower

    def duration(self, phase: int) -> float:
        """Return the duration of a phase [s]."""
        return self.slower * float(self._ends[phase + 1] - self._ends[phase])

    @property
    def end(self) -> Array:
        """Final position of the trajectory, (3,) [m]."""
        return self._trajectory.position(self._trajectory.duration)

    def target(self, phase: int, first: float = 0.0, last: float | None = None) -> list[dict[str, object]]:
        """Return the curves of a phase between two times since its start [s], in the format of a scenario file."""
        begin = self._ends[phase] + first / self.slower
        end = self._ends[phase + 1] if last is None else self._ends[phase] + last / self.slower
        curves = []
        for piece in self._trajectory.pieces:
            a, b = max(begin, piece.start), min(end, piece.end)
            if b - a <= _SHORTEST:
                continue
            part = piece.part((a - piece.start) / piece.duration, (b - piece.start) / piece.duration)
            curves.append(_written(part.points, self.slower * (b - a)))
        if not curves:  # a phase without duration: constant position
            curves.append(_written([self._trajectory.position(begin)] * 2, 1e-3))
        return curves

    def to_rest(self, phase: int, place: Array, duration: float) -> list[dict[str, object]]:
        """Return the curve from the start of a phase to a rest position, (3,) [m]."""
        start = self._trajectory.position(self._ends[phase])
        return [_written([start] * 3 + [place] * 3, duration)]

    def from_rest(self, phase: int, place: Array, last: float) -> list[dict[str, object]]:
        """Return the curve from a rest position, (3,) [m], into the trajectory at `last` since the phase's start [s].

        The phase's regions are convex: they contain the curve if they contain the position and its last control points.
        """
        time = self._ends[phase] + last / self.slower
        end, step = self._trajectory.position(time), self._trajectory.velocity(time) / self.slower * last / 5.0
        return [_written([place] * 3 + [end - 2.0 * step, end - step, end], last)]


def at_rest(place: Array, duration: float) -> list[dict[str, object]]:
    """Return the curve that stays at a position, (3,) [m]."""
    return [_written([place] * 2, duration)]


def _written(points: Sequence[Array] | Array, duration: float) -> dict[str, object]:
    return {"points": [[round(float(x), 6) for x in point] for point in points], "duration": round(duration, 6)}
