"""A centre-of-mass trajectory cut at its contact phases, as targets of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from com_trajectory.trajectory import ComTrajectory

Array = NDArray[np.float64]

_SHORTEST = 1e-6  # [s] parts below are left out


class PhaseCurves:
    """The parts of a trajectory that belong to each phase, run through more slowly if that is asked for.

    Attributes:
        slower: factor on all durations; a slower motion needs less of what contacts can give. [Tonneau2018] 5.2.
    """

    def __init__(self, trajectory: ComTrajectory, *, slower: float = 1.0) -> None:
        self._trajectory = trajectory
        self._ends = np.concatenate([[0.0], trajectory.phase_ends])
        self.slower = slower

    def duration(self, phase: int) -> float:
        """Return how long a phase lasts [s]."""
        return self.slower * float(self._ends[phase + 1] - self._ends[phase])

    @property
    def end(self) -> Array:
        """Where the trajectory ends, (3,) [m]."""
        return self._trajectory.position(self._trajectory.duration)

    def target(self, phase: int, first: float = 0.0, last: float | None = None) -> list[dict[str, object]]:
        """Return the curves of a phase between two times since its beginning [s], as a scenario file has them."""
        begin = self._ends[phase] + first / self.slower
        end = self._ends[phase + 1] if last is None else self._ends[phase] + last / self.slower
        curves = []
        for piece in self._trajectory.pieces:
            a, b = max(begin, piece.start), min(end, piece.end)
            if b - a <= _SHORTEST:
                continue
            part = piece.part((a - piece.start) / piece.duration, (b - piece.start) / piece.duration)
            curves.append(_written(part.points, self.slower * (b - a)))
        if not curves:  # a phase without duration: stay where it is
            curves.append(_written([self._trajectory.position(begin)] * 2, 1e-3))
        return curves

    def to_rest(self, phase: int, place: Array, duration: float) -> list[dict[str, object]]:
        """Return the curve from where a phase begins to a place of rest, (3,) [m]."""
        start = self._trajectory.position(self._ends[phase])
        return [_written([start] * 3 + [place] * 3, duration)]

    def from_rest(self, phase: int, place: Array, last: float) -> list[dict[str, object]]:
        """Return the curve from a place of rest, (3,) [m], into the trajectory at `last` since the phase's start [s].

        The phase's regions are convex: with the place and the curve's last control points, all of it is in them.
        """
        time = self._ends[phase] + last / self.slower
        end, step = self._trajectory.position(time), self._trajectory.velocity(time) / self.slower * last / 5.0
        return [_written([place] * 3 + [end - 2.0 * step, end - step, end], last)]


def _written(points: Sequence[Array] | Array, duration: float) -> dict[str, object]:
    return {"points": [[round(float(x), 6) for x in point] for point in points], "duration": round(duration, 6)}
