"""Bounded history of a run's snapshots, for one writer and many readers."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque

import numpy as np

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array

SHORTEST_STEP = 0.01  # between stored snapshots [s]
CAPACITY = 12_000  # stored snapshots; beyond, every second one is dropped
RATE_WINDOW = 2.0  # wall time over which the real-time factor is measured [s]


class History:
    """Snapshots of a run in bounded memory: a long run is thinned out, not truncated.

    A snapshot older than the newest one starts a new run and clears the history.
    """

    def __init__(self, *, shortest_step: float = SHORTEST_STEP, capacity: int = CAPACITY) -> None:
        """Start empty.

        Args:
            shortest_step: between stored snapshots; those in between are shown live only [s].
            capacity: largest number of stored snapshots.

        Raises:
            ValueError: if capacity < 2.
        """
        if capacity < 2:
            raise ValueError(f"the history needs a capacity of at least 2 snapshots, not {capacity}")
        self._shortest_step = shortest_step
        self._capacity = capacity
        self._lock = threading.Lock()
        self._snapshots: list[Snapshot] = []
        self._times: list[float] = []
        self._ticks: list[float] = []  # largest tick time since the previous stored snapshot [ms]
        self._latest: Snapshot | None = None
        self._worst_tick = 0.0
        self._step = shortest_step
        self._rates: deque[tuple[float, float]] = deque(maxlen=5000)  # wall time, run time

    def clear(self) -> None:
        """Remove all snapshots."""
        with self._lock:
            self._clear()

    def append(self, snapshot: Snapshot) -> None:
        """Append the snapshot of a tick; takes a few microseconds."""
        with self._lock:
            if self._latest is not None and snapshot.time < self._latest.time:
                self._clear()
            self._latest = snapshot
            self._rates.append((time.perf_counter(), snapshot.time))
            self._worst_tick = max(self._worst_tick, snapshot.tick_ms)
            if self._times and snapshot.time - self._times[-1] < self._step - 1e-9:
                return
            self._snapshots.append(snapshot)
            self._times.append(snapshot.time)
            self._ticks.append(self._worst_tick)
            self._worst_tick = 0.0
            if len(self._snapshots) > self._capacity:
                self._thin_out()

    def at(self, moment: float) -> Snapshot | None:
        """Return the newest stored snapshot at or before a time [s], else the first; None if empty."""
        with self._lock:
            if self._latest is None or moment >= self._latest.time:
                return self._latest
            return self._snapshots[max(bisect_right(self._times, moment + 1e-9) - 1, 0)]

    def snapshots(self) -> list[Snapshot]:
        """Return the stored snapshots, oldest first."""
        with self._lock:
            return list(self._snapshots)

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot."""
        return self._latest

    @property
    def span(self) -> tuple[float, float]:
        """Times of the first and the newest snapshot [s]; zeros if empty."""
        with self._lock:
            return (self._times[0], self._latest.time) if self._latest else (0.0, 0.0)

    @property
    def realtime_factor(self) -> float | None:
        """Run time per wall time over the last seconds; None without enough data."""
        with self._lock:
            if len(self._rates) < 2:
                return None
            newest = self._rates[-1][0]
            while newest - self._rates[0][0] > RATE_WINDOW and len(self._rates) > 2:
                self._rates.popleft()
            (wall_a, run_a), (wall_b, run_b) = self._rates[0], self._rates[-1]
        return (run_b - run_a) / (wall_b - wall_a) if wall_b > wall_a else None

    def tick_curve(self, *, most: int = 400) -> tuple[Array, Array]:
        """Return times [s] and tick times [ms], at most `most` points, each the maximum of its interval."""
        with self._lock:
            times, ticks = np.array(self._times), np.array(self._ticks)
        stride = max(1, int(np.ceil(len(times) / most)))
        starts = np.arange(0, len(times), stride)
        if len(starts) == 0:
            return times, ticks
        return times[starts], np.maximum.reduceat(ticks, starts)

    def __len__(self) -> int:
        """Return the number of stored snapshots."""
        return len(self._snapshots)

    def _clear(self) -> None:
        self._snapshots.clear()
        self._times.clear()
        self._ticks.clear()
        self._rates.clear()
        self._latest = None
        self._worst_tick = 0.0
        self._step = self._shortest_step

    def _thin_out(self) -> None:
        pairs = zip(self._ticks[0::2], [*self._ticks[1::2], 0.0], strict=False)
        self._ticks = [max(a, b) for a, b in pairs]
        self._snapshots, self._times = self._snapshots[::2], self._times[::2]
        self._step = 2 * max(self._step, 1e-4)
