"""Centre-of-mass trajectory reconstructed from samples, as in ROS messages."""

from __future__ import annotations

import numpy as np

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase
from com_trajectory.trajectory import ComTrajectory
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError

#: Tolerance at samples that the curve does not interpolate [m].
ACCURACY = 1e-6
_SAME = 1e-6  # [s] closer instants are equal


def curve_through(
    times: Array, position: Array, velocity: Array, acceleration: Array, sequence: ContactSequence, phase_ends: Array
) -> ComTrajectory:
    """Return a minimal number of curves of degree 5 through samples, split at the ends of phases.

    Args:
        times: increasing, from 0 on, (k,) [s].
        position: of the centre of mass, (k, 3) [m].
        velocity: (k, 3) [m/s].
        acceleration: (k, 3) [m/s²].
        sequence: contacts of one subsystem.
        phase_ends: end time of each phase, (phases,) [s]; there is a sample at each.

    Raises:
        MultiQpError: a value is not finite, times do not increase, or a phase ends between samples.
    """
    samples = np.hstack([position, velocity, acceleration])
    if len(times) < 2 or not (np.isfinite(times).all() and np.isfinite(samples).all()):
        raise MultiQpError("the trajectory of the centre of mass: expected at least 2 points, all finite")
    if abs(times[0]) > _SAME or (np.diff(times) <= 0.0).any() or (np.diff(phase_ends) < -_SAME).any():
        raise MultiQpError("the trajectory of the centre of mass: expected increasing times from 0 on")
    cuts = [0]
    for number, end in enumerate(phase_ends, start=1):
        nearest = int(np.argmin(np.abs(times - end)))
        if abs(times[nearest] - end) > _SAME:
            raise MultiQpError(f"the trajectory of the centre of mass has no point at the end of phase {number}")
        cuts.append(nearest)
    pieces = [
        piece
        for first, last in zip(cuts, cuts[1:], strict=False)
        if last > first
        for piece in _pieces(times, samples, first, last)
    ]
    if not pieces:
        raise MultiQpError("the trajectory of the centre of mass has no duration")
    name = sequence.subsystems[0]
    phases = tuple(PlannedPhase(phase, phase.com.get(name), {}, k) for k, phase in enumerate(sequence.phases))
    return ComTrajectory(tuple(pieces), phases, times[cuts[1:]], (), "sampled")


def _pieces(times: Array, samples: Array, first: int, last: int) -> list[Bezier]:
    """Return curves from one sample to another: one if it is close to all between them, else split recursively."""
    ends = [tuple(samples[k].reshape(3, 3)) for k in (first, last)]
    curve = Bezier.between(ends[0], np.empty((0, 3)), ends[1], times[last] - times[first])
    curve = curve.moved_to(float(times[first]))
    inner = slice(first + 1, last)
    if np.abs(curve(times[inner]) - samples[inner, :3]).max(initial=0.0) <= ACCURACY:
        return [curve]
    middle = (first + last) // 2
    return [*_pieces(times, samples, first, middle), *_pieces(times, samples, middle, last)]
