"""Displacement of the body that belongs to footholds beside those of a motion, by the linear inverted pendulum.

With the zero-moment point moved by p(t), as the footholds under it are, the centre of mass is moved by s(t),
s̈ = ω² (s − p). Of its solutions, the one is followed that remains near the footholds:
ξ = s + ṡ / ω = ω ∫ exp(−ω (τ − t)) p(τ) dτ over the time to come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

#: Rate at which ξ goes over to that of footholds that have changed [1/s].
FOLLOWING = 8.0
#: Time of the footholds to come [s], and longest step of its samples [s].
HORIZON, STEP = 1.6, 0.02


class BodyShift(Stateful):
    """Displacement of the body and its velocity, at present and at the end of a window.

    Attributes:
        place: present displacement, (2,) [m].
        divergent: ξ of it, (2,) [m].
        omega: natural frequency ω of the pendulum [1/s].
        ahead: displacement at the end of the window, (2,) [m].
        ahead_rate: its velocity, (2,) [m/s].
    """

    @dataclass
    class Checkpoint:
        """Displacement and ξ."""

        place: Annotated[Array, 2]
        divergent: Annotated[Array, 2]

    def __init__(self, omega: float) -> None:
        """Create it without a displacement; `omega`: ω [1/s]."""
        self.omega = omega
        self.start(np.zeros(2))

    def start(self, place: Array) -> None:
        """Begin at rest with a displacement, (2,) [m]."""
        self.place, self.divergent = place.copy(), place.copy()
        self.ahead, self.ahead_rate = place.copy(), np.zeros(2)

    @property
    def rate(self) -> Array:
        """Present velocity, (2,) [m/s]."""
        return self.omega * (self.divergent - self.place)

    def copy_from(self, other: BodyShift) -> None:
        """Take over displacement and ξ of another one."""
        self.place, self.divergent = other.place.copy(), other.divergent.copy()

    def update(self, points: Array, step: float, dt: float, count: int) -> None:
        """Advance by one period.

        Args:
            points: displacement p of the zero-moment point from now on, (n, 2) [m]; the last one is held.
            step: time between two of them [s].
            dt: control period [s].
            count: number of steps to the end of the window.
        """
        omega = self.omega
        decay, own = math.exp(-omega * step), math.exp(-FOLLOWING * step)
        backwards, _ = lfilter([1.0 - decay], [1.0, -decay], points[::-1], axis=0, zi=decay * points[-1:])
        wanted = backwards[::-1]
        apart = self.divergent - wanted[0]
        coming = wanted[: count + 1] + apart * own ** np.arange(count + 1)[:, None]
        path, _ = lfilter([0.0, 1.0 - decay], [1.0, -decay], coming, axis=0, zi=self.place[None])
        self.ahead, self.ahead_rate = path[-1], omega * (coming[-1] - path[-1])
        rest = math.exp(-omega * dt)
        self.place = rest * self.place + (1.0 - rest) * self.divergent
        now = points[0] + (wanted[0] - points[0]) / rest
        self.divergent = now + math.exp(-FOLLOWING * dt) * apart


def pressed(contacts: NDArray[np.bool_]) -> Array:
    """Return the share of each surface in the displacement of the zero-moment point, (n, s).

    Surfaces in contact share it evenly; while more of them are than before or afterwards, or none is, the shares change
    linearly from those before to those afterwards.

    Args:
        contacts: whether each is planted from each sample on, (n, s).
    """
    changes = np.flatnonzero((contacts[1:] != contacts[:-1]).any(axis=1)) + 1
    begins, ends = np.append(0, changes), np.append(changes, len(contacts))
    own = []
    for begin in begins:
        share = contacts[begin].astype(float)
        own.append(share / share.sum() if share.any() else np.full(len(share), 1.0 / max(len(share), 1)))
    shares = np.zeros(contacts.shape)
    for k, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        first, last = own[k], own[k]
        here = contacts[begin]
        if k and _passes(contacts[begin - 1], here):
            first = own[k - 1]
        if k + 1 < len(own) and _passes(contacts[end], here):
            last = own[k + 1]
        part = ((np.arange(end - begin) + 0.5) / (end - begin))[:, None]
        shares[begin:end] = (1.0 - part) * first + part * last
    return shares


def _passes(beside: NDArray[np.bool_], here: NDArray[np.bool_]) -> bool:
    """Return whether the shares change to those of a neighbouring set of contacts: a part of these, or any of none."""
    return not here.any() or bool(beside.any() and (beside <= here).all())
