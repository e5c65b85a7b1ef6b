"""`unpack` for numba: a view of a `KernelData` table, whose attributes are its fields as arrays over its addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.core.typing.templates import AttributeTemplate, signature
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype


class TableView(types.Type):
    """Type of a view: the address of a table and, while compiling, the type and the first word of each field."""

    def __init__(self, named: type[Any], fields: dict[str, Any]) -> None:
        self.fields: dict[str, tuple[Any, int]] = {}
        at = 0
        for name, layout in fields.items():
            kind = _numba_type(layout)
            self.fields[name] = kind, at
            at += 1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1
        super().__init__(f"{named.__module__}.{named.__qualname__} of kernel data")


@register_model(TableView)
class _TableModel(models.PrimitiveModel):
    def __init__(self, manager: Any, view: Any) -> None:
        super().__init__(manager, view, ir.IntType(64).as_pointer())


@infer_getattr
class _TableAttribute(AttributeTemplate):
    key = TableView

    def generic_resolve(self, value: Any, attr: str) -> Any:  # type: ignore[override]
        """Return the type of a field."""
        return value.fields[attr][0] if attr in value.fields else None


@lower_getattr_generic(TableView)  # type: ignore[untyped-decorator]
def _read_field(context: Any, builder: Any, view: Any, words: Any, name: str) -> Any:
    kind, at = view.fields[name]
    constant = builder.module.add_metadata([])

    def read() -> Any:
        nonlocal at
        word = builder.load(builder.gep(words, [context.get_constant(types.intp, at)]))
        word.set_metadata("invariant.load", constant)  # a table does not change during a call
        at += 1
        return word

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


def _numba_type(layout: Any) -> Any:
    if layout is int:
        return types.intp
    array: Any = types.Array
    return types.float64 if layout is float else array(from_dtype(layout.dtype), layout.ndim, layout.order)


def make_unpack(fields_of: Callable[[type[Any]], dict[str, Any]]) -> Any:
    """Return the function `unpack(table, fields)` that kernels call; arrays are not reference-counted."""

    @intrinsic
    def unpack(_: Any, table: Any, fields: Any) -> Any:
        """Return a view of a table with the given fields."""
        if not isinstance(fields, types.NamedTupleClass):
            return None
        view = TableView(fields.instance_class, fields_of(fields.instance_class))

        def write(context: Any, builder: Any, _: Any, given: Any) -> Any:
            words = make_array(table)(context, builder, given[0]).data
            return builder.bitcast(words, ir.IntType(64).as_pointer()) if words.type != cgutils.intp_t else words

        return signature(view, table, fields), write

    return unpack
