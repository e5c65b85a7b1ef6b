"""Centre-of-mass trajectory with its contact phases, and its validation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase
from com_trajectory.transition import TransitionPoint
from multi_qp_scene.arrays import Array


@dataclass(frozen=True, eq=False)
class ComTrajectory:
    """A centre-of-mass trajectory through contact phases.

    Attributes:
        pieces: Bézier curves, one after the other, from time 0 on.
        phases: the contact phases.
        phase_ends: end time of each phase [s], (phases,); the last is the end of the trajectory.
        transitions: the transition point after each phase but the last.
        method: "2pac", "polyline", "smooth" or "dynamic".
        notes: deviations from the request and their reasons, in plain English.
    """

    pieces: tuple[Bezier, ...]
    phases: tuple[PlannedPhase, ...]
    phase_ends: Array
    transitions: tuple[TransitionPoint, ...]
    method: str
    notes: tuple[str, ...] = ()
    _starts: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the start times of the pieces."""
        object.__setattr__(self, "_starts", np.array([piece.start for piece in self.pieces]))

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return self.pieces[-1].end

    def position(self, time: ArrayLike) -> Array:
        """Return the centre of mass at times, (...) [s]: (..., 3) [m]; constant before the start and after the end."""
        return self._values(time, 0)

    def velocity(self, time: ArrayLike) -> Array:
        """Return its velocity at times, (...) [s]: (..., 3) [m/s]."""
        return self._values(time, 1)

    def acceleration(self, time: ArrayLike) -> Array:
        """Return its acceleration at times, (...) [s]: (..., 3) [m/s²]."""
        return self._values(time, 2)

    def phase_at(self, time: ArrayLike) -> NDArray[np.int64]:
        """Return the index of the phase at times, (...); at a change it is the following one."""
        number = np.searchsorted(self.phase_ends, np.asarray(time, dtype=float), side="right")
        return np.minimum(number, len(self.phases) - 1)

    def _values(self, time: ArrayLike, order: int) -> Array:
        time = np.asarray(time, dtype=float)
        flat = time.ravel()
        clipped = np.clip(flat, 0.0, self.duration)
        number = np.clip(np.searchsorted(self._starts, clipped, side="right") - 1, 0, len(self.pieces) - 1)
        values = np.empty((len(flat), 3))
        for k in np.unique(number):
            chosen = number == k
            piece = self.pieces[k].derivative(order) if order else self.pieces[k]
            values[chosen] = piece(clipped[chosen])
        if order:
            values[flat != clipped] = 0.0
        return values.reshape((*time.shape, 3))


@dataclass(frozen=True, eq=False)
class Validity:
    """Constraint violations of a trajectory at equally spaced instants.

    Attributes:
        times: (k,) [s].
        phase: index of the phase, (k,).
        wrench: distance of the wrench of (1) from the contacts' cone, per unit of weight, (k,); 0 inside.
        margin: inside the equilibrium region [m], (k,); negative outside, −inf where it is empty.
        reach: violation of the reach of the effectors [m], (k,); 0 inside.
    """

    times: Array
    phase: NDArray[np.int64]
    wrench: Array
    margin: Array
    reach: Array

    @property
    def dynamic_share(self) -> float:
        """Share of the instants at which (1) holds: the figure of [Tonneau2018] table 3."""
        return float((self.wrench <= WRENCH_TOLERANCE).mean())

    @property
    def kinematic_share(self) -> float:
        """Share of the instants at which (4) holds."""
        return float((self.reach <= REACH_TOLERANCE).mean())


WRENCH_TOLERANCE = 1e-6
"""Tolerance of the distance of a wrench from the cone, per unit of weight."""
REACH_TOLERANCE = 1e-6
"""Tolerance of the reach of the effectors [m]."""


NOTED_STEP = 0.05
"""Time step of `deviations` [s]."""


def validate(trajectory: ComTrajectory, *, step: float = 0.01) -> Validity:
    """Return the violations of (1), the equilibrium region and (4) along a trajectory, every `step` [s].

    Source: [Tonneau2018] section 8.2, dynamic accuracy.
    """
    times, phase, place = _instants(trajectory, step)
    margin = np.zeros(len(times))
    for number in np.unique(phase):
        chosen = phase == number
        margin[chosen] = trajectory.phases[number].region.margin(place[chosen])
    wrench, reach = _violations(trajectory, times, phase, place)
    return Validity(times, phase, wrench, margin, reach)


def deviations(trajectory: ComTrajectory) -> tuple[str, ...]:
    """Return whether (1) or (4) is violated along a trajectory, where and by how much, in plain English."""
    times, phase, place = _instants(trajectory, NOTED_STEP)
    wrench, reach = _violations(trajectory, times, phase, place)
    found = []
    if wrench.max() > WRENCH_TOLERANCE:
        share, worst = float((wrench > WRENCH_TOLERANCE).mean()), int(wrench.argmax())
        found.append(
            f"the contacts cannot balance the motion at {share:.1%} of the instants: {wrench[worst]:.2%} of the weight "
            f"is missing at {times[worst]:.2f} s, in phase {phase[worst]}"
        )
    if reach.max() > REACH_TOLERANCE:
        share, worst = float((reach > REACH_TOLERANCE).mean()), int(reach.argmax())
        found.append(
            f"the effectors' reach is exceeded at {share:.1%} of the instants: by {reach[worst]:.3f} m at "
            f"{times[worst]:.2f} s, in phase {phase[worst]}"
        )
    return tuple(found)


def _instants(trajectory: ComTrajectory, step: float) -> tuple[Array, NDArray[np.int64], Array]:
    """Return equally spaced times, (k,) [s], their phases, (k,), and the centre of mass, (k, 3) [m]."""
    times = np.linspace(0.0, trajectory.duration, max(2, round(trajectory.duration / step) + 1))
    return times, trajectory.phase_at(times), trajectory.position(times)


def _violations(trajectory: ComTrajectory, times: Array, phase: NDArray[np.int64], place: Array) -> tuple[Array, Array]:
    """Return the violations of (1), per unit of weight, and of (4) [m], both (k,)."""
    acceleration = trajectory.acceleration(times)
    wrench, reach = np.zeros((2, len(times)))
    for number in np.unique(phase):
        chosen, planned = phase == number, trajectory.phases[number]
        wrench[chosen] = planned.cone.violations(planned.cone.wrench(place[chosen], acceleration[chosen]))
        reach[chosen] = np.maximum(planned.reach.violation(place[chosen]), 0.0)
    return wrench, reach
