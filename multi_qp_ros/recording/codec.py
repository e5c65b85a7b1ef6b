"""Lossless JSON encoding of controller states, robot states and commands."""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

_KEY = "float64"


class _Written(msgspec.Struct):
    """JSON form of an array: little-endian doubles in base64, and the shape."""

    float64: bytes
    shape: Annotated[list[Annotated[int, Meta(ge=0, le=1 << 24)]], Meta(max_length=4)]


def _array(value: Any) -> Any:
    """Return an array as its shape and the bytes of its little-endian doubles, which msgspec encodes in base64."""
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value, dtype="<f8")
        return {_KEY: data.tobytes(), "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot be recorded: {type(value).__name__}")


_encoder = msgspec.json.Encoder(enc_hook=_array)


def encode_json(value: Any) -> str:
    """Return nested data with arrays as JSON text."""
    return _encoder.encode(value).decode()


def decode_arrays(value: Any) -> Any:
    """Return nested data in which the JSON forms of arrays are replaced by the arrays.

    Raises:
        ValueError: when an array is incomplete.
    """
    if isinstance(value, dict):
        if _KEY in value:
            return _decoded(value)
        return {key: decode_arrays(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [decode_arrays(inner) for inner in value]
    return value


def _decoded(value: dict[str, Any]) -> NDArray[np.float64]:
    try:
        written = msgspec.convert(value, _Written)
    except msgspec.ValidationError as error:
        raise ValueError(f"an incomplete array: {error}") from None
    if 8 * math.prod(written.shape) != len(written.float64):
        raise ValueError(f"an array of shape {written.shape} with {len(written.float64)} bytes")
    return np.frombuffer(written.float64, dtype="<f8").reshape(written.shape).copy()
