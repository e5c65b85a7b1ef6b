"""`unpack` for numba: the fields of a `KernelData` table as a named tuple of arrays over its addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.extending import intrinsic
from numba.core.typing.templates import signature
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype


def make_unpack(fields_of: Callable[[type[Any]], dict[str, Any]]) -> Any:
    """Return the function `unpack(table, fields)` that kernels call; arrays are not reference-counted."""
    array: Any = types.Array

    def numba_type(layout: Any) -> Any:
        if layout is int:
            return types.intp
        return types.float64 if layout is float else array(from_dtype(layout.dtype), layout.ndim, layout.order)

    @intrinsic
    def unpack(_: Any, table: Any, fields: Any) -> Any:
        """Return the fields of a table."""
        if not isinstance(fields, types.NamedTupleClass):
            return None
        named: type[Any] = fields.instance_class
        found = types.NamedTuple([numba_type(layout) for layout in fields_of(named).values()], named)

        def write(context: Any, builder: Any, _: Any, given: Any) -> Any:
            words, at = make_array(table)(context, builder, given[0]).data, 0

            def read() -> Any:
                nonlocal at
                at += 1
                return builder.load(builder.gep(words, [context.get_constant(types.intp, at - 1)]))

            entries = [_entry(context, builder, kind, read) for kind in found.types]
            return context.make_tuple(builder, found, entries)

        return signature(found, table, fields), write

    return unpack


def _entry(context: Any, builder: Any, kind: Any, read: Any) -> Any:
    """Write the code that reads one field out of its words."""
    if kind == types.intp:
        return read()
    if kind == types.float64:
        return builder.bitcast(read(), context.get_value_type(kind))
    array = make_array(kind)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(read(), context.get_data_type(kind.dtype).as_pointer()),
        shape=[read() for _ in range(kind.ndim)],
        strides=[read() for _ in range(kind.ndim)],
        itemsize=context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))),
        meminfo=None,
    )
    return array._getvalue()
