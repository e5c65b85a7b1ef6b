"""Kernel arguments as one table with named fields: `KernelData(Fields(...))`, `unpack(table, Fields)`.

`Fields` is a NamedTuple whose annotations are the types below. numba unboxes every argument of a call: thirty arrays
cost 3 µs, the table of their addresses 0.2 µs (a structref 1.5 µs).
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import COMPILED


class Layout(NamedTuple):
    """Number of dimensions, type and memory layout of an array: C by rows, F by columns, A any strides."""

    ndim: int
    dtype: type[Any]
    order: str


Vector = Annotated[NDArray[np.float64], Layout(1, np.float64, "C")]
Matrix = Annotated[NDArray[np.float64], Layout(2, np.float64, "C")]
ColumnMajor = Annotated[NDArray[np.float64], Layout(2, np.float64, "F")]
Strided = Annotated[NDArray[np.float64], Layout(2, np.float64, "A")]
Stack = Annotated[NDArray[np.float64], Layout(3, np.float64, "C")]
IndexVector = Annotated[NDArray[np.intp], Layout(1, np.intp, "C")]
IndexMatrix = Annotated[NDArray[np.intp], Layout(2, np.intp, "C")]
FlagVector = Annotated[NDArray[np.bool_], Layout(1, np.bool_, "C")]

#: Type of a field: an array with a layout, or a number.
Field = Layout | type[int] | type[float]


def fields_of(fields: type[Any]) -> dict[str, Field]:
    """Return the fields of a NamedTuple class by name.

    Raises:
        TypeError: when a field has a type that is not of this module.
    """
    found: dict[str, Field] = {}
    for name, hint in get_type_hints(fields, include_extras=True).items():
        layout = hint if hint in (int, float) else getattr(hint, "__metadata__", (None,))[0]
        if layout not in (int, float) and not isinstance(layout, Layout):
            raise TypeError(f"{fields.__name__}.{name}: not a type of kernel data: {hint}")
        found[name] = layout
    return found


if COMPILED:
    from multi_qp_scene.jit_unpack import make_unpack

    unpack = make_unpack(fields_of)
else:

    def unpack(table: Any, fields: type[Any]) -> Any:
        """Return the fields of a table, inside a kernel."""
        return table


class KernelData:
    """Preallocated arrays and constant numbers for the calls of one kernel.

    The table contains addresses: the instance must outlive the use of its table, and it keeps the arrays alive.

    Attributes:
        table: argument of the kernel: addresses, shapes and strides, (words,); the fields themselves where kernels are
            not compiled.
    """

    __slots__ = ("_fields", "table")

    def __init__(self, fields: Any) -> None:
        """Build the table from an instance of a NamedTuple with this module's types.

        Raises:
            TypeError: when an array's type or layout differs from its annotation; names the field.
        """
        self._fields = fields
        self.table: Any = fields
        if COMPILED:
            words: list[int] = []
            kind: Any = type(fields)
            for name, layout in _layouts(kind).items():
                words += _words(f"{kind.__name__}.{name}", layout, getattr(fields, name))
            self.table = np.array(words, dtype=np.intp)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the arrays, and make a new table of their addresses."""
        return KernelData, (self._fields,)


@cache
def _layouts(fields: Any) -> dict[str, Field]:
    return fields_of(fields)


def _words(name: str, layout: Field, entry: Any) -> tuple[int, ...]:
    if layout is int:
        return (int(entry),)
    if layout is float:
        return struct.unpack("n", struct.pack("d", entry))
    assert isinstance(layout, Layout)
    array: NDArray[Any] = entry
    flags = array.flags
    fits = layout.order == "A" or (flags.c_contiguous if layout.order == "C" else flags.f_contiguous)
    if not fits or array.ndim != layout.ndim or array.dtype != layout.dtype:
        expected = f"{layout.ndim} dimensions of {np.dtype(layout.dtype)} in {layout.order} order"
        raise TypeError(f"{name}: expected {expected}, got {array.dtype} {array.shape} with strides {array.strides}")
    return (array.__array_interface__["data"][0], *array.shape, *array.strides)
