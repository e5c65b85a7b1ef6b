"""Validation of arguments of the Python interface; messages state the expected and the given value."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.errors import ArgumentError

#: Number of characters of a value that a message shows.
SHOWN = 40


def check_type(name: str, value: object, kind: Any, expected: str) -> None:
    """Check that a value is of a type, or union of types.

    Raises:
        ArgumentError: when it is not.
    """
    if not isinstance(value, kind):
        raise ArgumentError(f"{name}: expected {expected}, got {_shown(value)}")


def number(name: str, value: Any, *, unit: str = "", least: float = -math.inf, most: float = math.inf) -> float:
    """Return a finite number as a float.

    Raises:
        ArgumentError: when it is not a number, or outside the range.
    """
    given = np.asarray(value) if isinstance(value, int | float | np.generic | np.ndarray) else np.asarray(None)
    if isinstance(value, bool) or given.shape != () or given.dtype.kind not in "fiu" or not math.isfinite(given):
        raise ArgumentError(f"{name}: expected a number{unit and f' [{unit}]'}, got {_shown(value)}")
    if not least <= given <= most:
        below = f"at least {least:g}" if math.isinf(most) else f"at most {most:g}"
        bounds = below if math.isinf(least) or math.isinf(most) else f"{least:g} to {most:g}"
        raise ArgumentError(f"{name}: expected {bounds}{unit and f' {unit}'}, got {float(given):g}")
    return float(given)


def whole_number(name: str, value: Any, *, least: int, most: int) -> int:
    """Return an integer of a range.

    Raises:
        ArgumentError: when it is not an integer, or outside the range.
    """
    try:
        found = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        raise ArgumentError(f"{name}: expected an integer from {least} to {most}, got {_shown(value)}")
    return found


def array(name: str, value: Any, shape: tuple[int, ...], *, unit: str = "", most: float) -> NDArray[np.float64]:
    """Return an array of a shape, with entries of at most some absolute value, as float64.

    Raises:
        ArgumentError: when it has another shape, or an entry is not finite or too large.
    """
    expected = f"{name}: expected {' x '.join(map(str, shape))} numbers{unit and f' [{unit}]'}"
    try:
        given = np.asarray(value)
    except Exception:
        raise ArgumentError(f"{expected}, got {_shown(value)}") from None
    if given.dtype.kind not in "fiu" or given.shape != shape:
        raise ArgumentError(f"{expected}, got {_shown(value)}")
    if not np.isfinite(given).all():
        raise ArgumentError(f"{name} must be finite, got {_shown(given.tolist())}")
    if np.abs(given).max() > most:
        raise ArgumentError(f"{expected} up to {most:g}, got {_shown(given.tolist())}")
    return np.array(given, dtype=np.float64)


def rotation_matrix(name: str, value: Any) -> NDArray[np.float64]:
    """Return a rotation matrix, (3, 3).

    Raises:
        ArgumentError: when it is not a rotation matrix.
    """
    R = array(name, value, (3, 3), most=2.0)
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-3 or np.linalg.det(R) < 0.0:
        raise ArgumentError(f"{name}: expected a rotation matrix, got {_shown(R.tolist())}")
    return R


def _shown(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of too many digits, or an error of the object's own __repr__
        text = "a value that cannot be shown"
    if isinstance(value, str | int | float | list | tuple | np.ndarray | np.generic) or value is None:
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return type(value).__name__
