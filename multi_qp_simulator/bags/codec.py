"""Memories, states and commands as JSON text, digit for digit."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

_KEY = "float64"


def _array(value: Any) -> Any:
    """Return an array as its shape and its bytes, which become base64 of little-endian doubles."""
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


def decode_json(text: str | bytes) -> Any:
    """Return what `encode_json` was given; tuples are lists.

    Raises:
        ValueError: when it is not JSON, or an array in it is not whole.
    """
    return _arrays_in(msgspec.json.decode(text))


def _arrays_in(value: Any) -> Any:
    if isinstance(value, dict):
        if _KEY in value:
            data = np.frombuffer(msgspec.convert(value[_KEY], bytes), dtype="<f8")
            return data.reshape(value["shape"]).copy()
        return {key: _arrays_in(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_arrays_in(inner) for inner in value]
    return value
