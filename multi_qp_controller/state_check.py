"""Validation of a state against the model of its scene."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.jit import compiled
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.control import StateCheckSpec

#: Deviation from norm 1 up to which a quaternion, or (cos, sin) of a continuous joint, is accepted; it is normalised
#: where it deviates by more than rounding.
UNIT_TOLERANCE, UNIT_ROUNDING = 1e-3, 1e-12
#: Largest position of joints without limits [rad or m] and of floating bases [m].
FARTHEST = 1e7
_FLOAT64 = np.dtype(np.float64)
#: Number of invalid entries that a message names.
NAMED = 5


class StateCheck:
    """Checks q and v: types, sizes, finite numbers, unit vectors, ranges around the limits of the joints.

    The ranges are wide, as a robot that is pushed may exceed its limits; see `StateCheckSpec`.
    """

    def __init__(self, scene: Scene, spec: StateCheckSpec) -> None:
        """Tabulate the accepted ranges."""
        self._scene, limits = scene, scene.limits
        nq, self._ranges = scene.nq, np.full(2 * scene.nq + scene.nv, FARTHEST)
        self._lower, self._upper, self._fastest = np.split(self._ranges, [nq, 2 * nq])  # views
        self._shapes = (nq,), (scene.nv,)
        self._lower[:] = -FARTHEST
        self._lower[limits.q_index] = np.maximum(limits.lower - spec.position_margin, -FARTHEST)
        self._upper[limits.q_index] = np.minimum(limits.upper + spec.position_margin, FARTHEST)
        self._fastest[:] = spec.unlimited_velocity
        fastest = spec.velocity_factor * limits.velocity
        self._fastest[limits.v_index] = np.where(np.isfinite(fastest), fastest, spec.unlimited_velocity)
        units = []
        for joint in list(scene.model.joints)[1:]:
            unit, linear = _unit_part(joint), _linear_part(joint)
            if unit.stop > unit.start:
                units.append((unit.start, unit.stop))
            if joint.nv > 1:
                self._fastest[joint.idx_v : joint.idx_v + joint.nv] = spec.base_angular_velocity
                self._fastest[joint.idx_v : joint.idx_v + linear] = spec.base_velocity
        self._units = np.array(units, dtype=np.intp).reshape(-1, 2)

    def __call__(self, state: Any) -> tuple[State, str]:
        """Check a state; no exception is raised, whatever the argument.

        Returns:
            The state to compute with: a copy in contiguous arrays of float64, unit vectors normalised, invalid entries
            NaN (all of them where a vector cannot be read); and a description of what is invalid, empty if nothing is.
        """
        q, v = (state.q, state.v) if type(state) is State else (None, None)
        if type(q) is type(v) is np.ndarray and q.dtype is v.dtype is _FLOAT64 and (q.shape, v.shape) == self._shapes:
            usable = State(q.copy(), v.copy())
        else:
            try:
                usable = as_state(self._scene, state)
            except MultiQpError as error:
                return unknown_state(self._scene), str(error)
        if is_plausible(usable.q, usable.v, self._ranges, self._units):
            return usable, ""
        return usable, self._invalidate(usable)

    def _invalidate(self, state: State) -> str:
        """Replace invalid entries by NaN; return their description."""
        q, v, model = state.q, state.v, self._scene.model
        # written so that NaN, for which every comparison is false, is invalid too
        bad_q, bad_v = ~((q >= self._lower) & (q <= self._upper)), ~(np.abs(v) <= self._fastest)
        found = []
        for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
            part, linear, unit = _unit_part(joint), _linear_part(joint), "m" if _linear_part(joint) else "rad"
            norm = math.hypot(*q[part].tolist()) if part.stop > part.start else 1.0
            if not abs(norm - 1.0) <= UNIT_TOLERANCE:
                what = "quaternion" if part.stop - part.start == 4 else "(cos, sin)"
                found.append(f"{name} {what} has norm {norm:.4g}, expected 1")
                bad_q[part] = True
            for k in range(joint.idx_q, joint.idx_q + joint.nq):
                if bad_q[k] and not part.start <= k < part.stop:
                    axis = "" if joint.nq == 1 else f" {'xyz'[k - joint.idx_q]}"
                    allowed = f"{self._lower[k]:.4g} to {self._upper[k]:.4g}"
                    found.append(_range_error(f"{name}{axis} position", q[k], unit, allowed))
            for k in range(joint.idx_v, joint.idx_v + joint.nv):
                if bad_v[k]:
                    label, per = self._scene.velocity_names[k], "m/s" if k < joint.idx_v + linear else "rad/s"
                    found.append(_range_error(f"{label} velocity", v[k], per, f"at most {self._fastest[k]:.4g}"))
        q[bad_q], v[bad_v] = np.nan, np.nan
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return f"invalid state: {'; '.join(found[:NAMED])}{more}"


def _range_error(what: str, value: float, unit: str, allowed: str) -> str:
    if not math.isfinite(value):
        return f"{what} is not finite ({value})"
    return f"{what} is {value:.4g} {unit}, expected {allowed} {unit}"


def as_state(scene: Scene, state: Any) -> State:
    """Return a copy of a state in contiguous arrays of float64; lists and arrays of any real type are accepted.

    Raises:
        MultiQpError: when q or v is missing or not a vector of numbers, (nq,) and (nv,).
    """
    try:
        q, v = state.q, state.v
    except Exception:
        raise MultiQpError(f"invalid state: expected a State with q and v, got {type(state).__name__}") from None
    return State(_as_vector("q", q, scene.nq), _as_vector("v", v, scene.nv))


def as_recorded(scene: Scene, state: Any) -> State:
    """Return a state for a recorder: itself where it has arrays of float64, NaN where it cannot be read."""
    try:
        if all(type(part) is np.ndarray and part.dtype == np.float64 for part in (state.q, state.v)):
            return cast(State, state)
        return as_state(scene, state)
    except Exception:
        return unknown_state(scene)


def unknown_state(scene: Scene) -> State:
    """Return a state of NaN, for an unknown one."""
    return State(np.full(scene.nq, np.nan), np.full(scene.nv, np.nan))


def _as_vector(name: str, values: Any, size: int) -> Array:
    try:
        array = values if type(values) is np.ndarray else np.asarray(values)
    except Exception as error:  # an object's own conversion may raise anything
        raise MultiQpError(f"invalid state: {name} is not a vector of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        found = type(values).__name__ if array.dtype.kind == "O" or array.ndim == 0 else f"an array of {array.dtype}"
        raise MultiQpError(f"invalid state: {name} is not a vector of numbers, but {found}")
    if array.shape != (size,):
        raise MultiQpError(f"invalid state: {name} has the wrong size {array.shape}, expected ({size},)")
    return np.array(array, dtype=np.float64, order="C")


def _unit_part(joint: pin.JointModel) -> slice:
    """Return the entries of q that form a unit vector: a joint's quaternion, or cosine and sine; none for others."""
    size, kind = int(joint.nq), joint.shortname()
    offset = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2, "JointModelSpherical": 0}.get(kind, size)
    offset = 0 if (size, joint.nv) == (2, 1) else offset
    return slice(joint.idx_q + offset, joint.idx_q + size)


def _linear_part(joint: pin.JointModel) -> int:
    """Return the number of linear velocities of a joint; those come first."""
    kind = joint.shortname()
    if kind in ("JointModelFreeFlyer", "JointModelTranslation"):
        return 3
    if kind == "JointModelPlanar":
        return 2
    return int(kind.startswith("JointModelP"))


@compiled
def is_plausible(q: Array, v: Array, ranges: Array, units: NDArray[np.intp]) -> bool:
    """Normalise unit vectors in q, and return whether all numbers are finite and in range; NaN fails each comparison.

    Args:
        q: (nq,).
        v: (nv,).
        ranges: smallest entries of q, largest entries of q, largest absolute entries of v, (2 nq + nv,).
        units: start and end of each unit vector in q, (k, 2).
    """
    nq = len(q)
    for k in range(nq):
        if not (ranges[k] <= q[k] <= ranges[nq + k]):
            return False
    for k in range(len(v)):
        if not (abs(v[k]) <= ranges[2 * nq + k]):
            return False
    for unit in range(len(units)):
        square = 0.0
        for k in range(units[unit, 0], units[unit, 1]):
            square += q[k] * q[k]
        norm = math.sqrt(square)
        if not (abs(norm - 1.0) <= UNIT_TOLERANCE):
            return False
        if abs(norm - 1.0) > UNIT_ROUNDING:
            for k in range(units[unit, 0], units[unit, 1]):
                q[k] /= norm
    return True
