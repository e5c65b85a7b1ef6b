"""State of components between ticks: declared as dataclasses, copied, checked, and converted to and from plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pinocchio as pin


class Stateful:
    """Component with state between ticks: its attributes with the names of the fields of its dataclass `Checkpoint`.

    A field is a number, a text, None, a pose, an array, a dataclass, another component, or a list or mapping of these.
    Poses and dataclasses are not modified by the component, but replaced. A class with subclasses, such as a reference,
    has a mapping `kinds` of them by name.

    The length of each axis of an array is declared by `Annotated[Array, …]`: a number, the name of a size of the scene
    ("nq", "nv", "na"), another name, which stands for the same length in all fields of the dataclass, or None for any
    length. An array that is not annotated is a vector of any length.
    """

    Checkpoint: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "State" in vars(cls):
            raise TypeError(f"{cls.__name__}: the dataclass of its state is called `Checkpoint`, no longer `State`")
        _COPIES[cls] = cls.get_state

    def get_state(self) -> Any:
        """Return a copy of the state."""
        state = object.__new__(self.Checkpoint)  # faster than __init__; states are recorded at every tick
        parts = state.__dict__
        for name in _names(self.Checkpoint):
            value = getattr(self, name)
            copy = _COPIES.get(type(value))
            parts[name] = value if copy is None else copy(value)
        return state

    def set_state(self, saved: Any) -> None:
        """Restore a state that `conformed` returned; extended where data follow from it.

        Raises:
            ValueError: when it lacks that of a component which is present, or the reverse.
        """
        for name in _names(self.Checkpoint):
            part, value = getattr(self, name, None), getattr(saved, name)
            if isinstance(part, Stateful):
                if value is None:
                    raise ValueError(f"the saved state has no {name}")
                part.set_state(value)
            else:
                setattr(self, name, value)


@cache
def _names(kind: Hashable) -> tuple[str, ...]:  # a dataclass
    return tuple(field.name for field in fields(kind))  # type: ignore[arg-type]


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _copied(value: Any) -> Any:
    copy = _COPIES.get(type(value))
    return value if copy is None else copy(value)


_COPIES: dict[type[Any], Callable[[Any], Any]] = {
    np.ndarray: np.ndarray.copy,
    list: lambda values: [_copied(value) for value in values],
    dict: lambda values: {name: _copied(value) for name, value in values.items()},
}


#: Plain form of numbers that are not finite, which JSON does not have.
_NOT_FINITE = ("inf", "-inf", "nan")


def plain(value: Any) -> Any:
    """Return a part of a state as nested mappings, lists, numbers, text, None and arrays, for a file."""
    if isinstance(value, pin.SE3):
        return {"position": np.array(value.translation), "rotation": np.array(value.rotation)}
    if is_dataclass(value):
        kind: Any = type(value)
        named = {name: plain(getattr(value, name)) for name in _names(kind)}
        return named | {"kind": kind.__name__} if hasattr(kind, "kinds") else named
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, frozenset):
        return [plain(part) for part in sorted(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def conformed(kind: Any, value: Any, scene: Any) -> Any:
    """Return a state, or its plain form, as an object of a type after a check: compiled code relies on array shapes.

    Args:
        kind: type as in the fields of a `Checkpoint`.
        value: value to check and copy.
        scene: scene with the sizes that array shapes refer to.

    Raises:
        ValueError, KeyError, TypeError: when the value does not have that type.
    """
    return _conformed(kind, value, scene, {})


def _conformed(kind: Any, value: Any, scene: Any, lengths: dict[str, int]) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if kind is float:
        if isinstance(value, str) and value in _NOT_FINITE:
            return float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _mismatch("a number", value)
        return float(value)
    if origin is Annotated or origin is np.ndarray:
        return _array(value, arguments[1:] if origin is Annotated else (None,), scene, lengths)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        (kind,) = (one for one in arguments if one is not NoneType)
        return _conformed(kind, value, scene, lengths)
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise _mismatch("a mapping by name", value)
        return {name: _conformed(arguments[1], part, scene, {}) for name, part in value.items()}
    if origin in (list, tuple, frozenset):
        return _collection(origin, arguments, value, scene)
    if kind is pin.SE3 and isinstance(value, dict):
        position, rotation = _array(value["position"], (3,), scene, {}), _array(value["rotation"], (3, 3), scene, {})
        return pin.SE3(rotation, position)
    if hasattr(kind, "kinds"):
        if isinstance(value, kind):
            return value
        kind = kind.kinds[value["kind"]]
    if is_dataclass(kind) and isinstance(value, dict | kind):
        return _object(kind, value, scene)
    if isinstance(value, kind):
        return value
    raise _mismatch(getattr(kind, "__name__", str(kind)), value)


def _object(kind: Any, value: Any, scene: Any) -> Any:
    given = value if isinstance(value, dict) else {name: getattr(value, name) for name in _names(kind)}
    lengths: dict[str, int] = {}
    return kind(**{name: _conformed(_hints(kind)[name], given[name], scene, lengths) for name in _names(kind)})


def _collection(origin: type[Any], kinds: tuple[Any, ...], value: Any, scene: Any) -> Any:
    if not isinstance(value, list | tuple | frozenset):
        raise _mismatch("a list", value)
    if origin is tuple and kinds[-1] is not Ellipsis:
        if len(value) != len(kinds):
            raise _mismatch(f"{len(kinds)} entries", value)
        return tuple(_conformed(kind, part, scene, {}) for kind, part in zip(kinds, value, strict=True))
    return origin(_conformed(kinds[0], part, scene, {}) for part in value)


def _array(value: Any, shape: tuple[int | str | None, ...], scene: Any, lengths: dict[str, int]) -> Any:
    """Return a copy of a float64 array after a check of its shape; a name is the length of the first such axis."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != len(shape):
        raise ValueError(f"expected an array of shape {_sizes(shape, scene, lengths)}, got {type(value).__name__}")
    for size, length in zip(shape, value.shape, strict=True):
        if isinstance(size, str) and not hasattr(scene, size):
            lengths.setdefault(size, length)
    sizes = _sizes(shape, scene, lengths)
    if any(size not in (None, length) for size, length in zip(sizes, value.shape, strict=True)):
        raise ValueError(f"expected an array of shape {sizes}, got {value.shape}")
    return np.array(value, order="C")


def _sizes(shape: tuple[int | str | None, ...], scene: Any, lengths: dict[str, int]) -> tuple[int | None, ...]:
    return tuple(getattr(scene, size, lengths.get(size)) if isinstance(size, str) else size for size in shape)


def _mismatch(expected: str, value: Any) -> ValueError:
    return ValueError(f"expected {expected}, got {type(value).__name__}")
