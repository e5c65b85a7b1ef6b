"""How compiled kernels find the arrays of a bundle; see `bundles`."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.extending import intrinsic
from numba.core.typing.templates import signature
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype


def unbundler(arrays: dict[str, tuple[int, type[Any], str]], integer: str, number: str) -> Any:
    """Return the function that kernels call to have arrays and numbers of these kinds out of a bundle's table."""
    array: Any = types.Array
    kept: dict[str, Any] = {kind: array(from_dtype(d), n, order) for kind, (n, d, order) in arrays.items()}
    kept |= {integer: types.intp, number: types.float64}

    @intrinsic(prefer_literal=True)
    def unbundled(_: Any, table: Any, kinds: Any) -> Any:
        """Return what is in a bundle: arrays over the addresses in its table, to which nobody counts references."""
        if not isinstance(kinds, types.StringLiteral):
            return None
        found = types.Tuple([kept[kind] for kind in kinds.literal_value])

        def write(context: Any, builder: Any, _: Any, given: Any) -> Any:
            words, at = make_array(table)(context, builder, given[0]).data, 0

            def read() -> Any:
                nonlocal at
                at += 1
                return builder.load(builder.gep(words, [context.get_constant(types.intp, at - 1)]))

            entries = [_entry(context, builder, kind, read) for kind in found.types]
            return context.make_tuple(builder, found, entries)

        return signature(found, table, kinds), write

    return unbundled


def _entry(context: Any, builder: Any, kind: Any, read: Any) -> Any:
    """Write how one entry is read out of its words in the table."""
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
