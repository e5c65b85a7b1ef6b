"""Seeded damage to serialised messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

_COUNTS = (0, 1, 2, 3, 255, 65_535, 2**31 - 1, 2**31, 2**32 - 1)
_DOUBLES = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320, 1e308)
_NOT_UTF8 = b"\xff\xfe\xc3\x28"


def mutations(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Give damaged versions of a serialised message: first what is cut off everywhere, then `count` random ones."""
    yield from (b"", b"\x00", data[:4])
    rng = np.random.default_rng(seed)
    for _ in range(count):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            _damage(damaged, rng)
        yield bytes(damaged)


def _damage(data: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(max(1, len(data))))
    word, double = at - at % 4, 4 + (at - at % 8)
    match rng.integers(9):
        case 0:  # truncated
            del data[at:]
        case 1:  # another encapsulation
            data[:2] = rng.integers(0, 16, 2, dtype=np.uint8).tobytes()
        case 2:  # a length, a stamp or half a number
            data[word : word + 4] = struct.pack("<I", int(rng.choice(_COUNTS)))
        case 3:
            data[double : double + 8] = struct.pack("<d", float(rng.choice(_DOUBLES)))
        case 4:
            data[at : at + len(_NOT_UTF8)] = _NOT_UTF8
        case 5:  # something is missing
            del data[at : at + int(rng.integers(1, 9))]
        case 6:  # something is too much
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        case 7:  # a huge string
            data[at:at] = b"x" * 100_000
        case _:
            data[at : at + 1] = rng.bytes(1)
