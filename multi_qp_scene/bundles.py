"""Many arrays handed to a kernel as one: `Bundle(KINDS, *arrays)`, and `unbundled(bundle, KINDS)` inside the kernel.

numba looks at every argument of every call: thirty arrays take ten times as long as the one of their addresses.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import COMPILED

#: Dimensions, type and memory of the arrays of each kind: row by row (C), column by column (F), or in any steps (A).
ARRAYS: dict[str, tuple[int, type[Any], str]] = {
    "v": (1, np.float64, "C"),
    "m": (2, np.float64, "C"),
    "f": (2, np.float64, "F"),
    "s": (2, np.float64, "A"),
    "c": (3, np.float64, "C"),
    "i": (1, np.intp, "C"),
    "t": (2, np.intp, "C"),
    "b": (1, np.bool_, "C"),
}
#: Kinds that are one number: an integer, a float.
INTEGER, FLOAT = "n", "x"

if COMPILED:
    from multi_qp_scene.jit_bundles import unbundler

    unbundled = unbundler(ARRAYS, INTEGER, FLOAT)
else:

    def unbundled(bundle: Any, kinds: str) -> Any:
        """Return what is in a bundle."""
        return bundle


class Bundle:
    """Arrays that stay where they are, and numbers that stay as they are, to be handed to a kernel again and again.

    Attributes:
        table: what the kernel is given: addresses, shapes and steps, (words,); without numba, the arrays themselves.
    """

    __slots__ = ("_given", "table")

    def __init__(self, kinds: str, *entries: Any) -> None:
        """Take arrays and numbers; a letter of `kinds` says what each is.

        The arrays live as long as the bundle does, which therefore has to be kept as long as its table is used.

        Raises:
            TypeError: when one is not what its letter says, as the kernel would read something else there.
        """
        self._given = kinds, *entries
        self.table: Any = entries
        if COMPILED:
            words: list[int] = []
            for kind, entry in zip(kinds, entries, strict=True):
                words += _words(kind, entry)
            self.table = np.array(words, dtype=np.intp)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be copied with the addresses of the copies."""
        return Bundle, self._given


def _words(kind: str, entry: Any) -> tuple[int, ...]:
    if kind == INTEGER:
        return (int(entry),)
    if kind == FLOAT:
        return struct.unpack("n", struct.pack("d", entry))
    array: NDArray[Any] = entry
    dimensions, dtype, order = ARRAYS[kind]
    flags = array.flags
    fits = order == "A" or (flags.c_contiguous if order == "C" else flags.f_contiguous)
    if not fits or array.ndim != dimensions or array.dtype != dtype:
        raise TypeError(f"an array of kind '{kind}' is expected, got {array.dtype} {array.shape}, {array.strides}")
    return (array.__array_interface__["data"][0], *array.shape, *array.strides)
