"""Expected types of configuration values, derived from the annotations of pydantic models."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from multi_qp_scene.schema.tagged_union import TaggedUnion


class Expectation:
    """Decomposed type annotation: bare type without Annotated and Optional, constraints and parts by name.

    Attributes:
        annotation: the bare type: `float`, `list[int]`, a model, a union of several.
        metadata: the constraints on it: `annotated_types.Gt(0)` and the like.
        discriminator: the key that selects the member of a union, or None.
    """

    def __init__(self, annotation: Any, *metadata: Any) -> None:
        """Decompose the annotation."""
        self.annotation = annotation
        self.metadata: list[Any] = []
        self.discriminator: str | None = None
        self._add_constraints(metadata)
        while self._unwrapped():
            pass

    @cached_property
    def fields(self) -> dict[str, FieldInfo]:
        """The fields of a model by their keys in a file; empty for other types."""
        if not self._is_a(BaseModel):
            return {}
        fields: dict[str, FieldInfo] = self.annotation.model_fields
        return {field.alias or name: field for name, field in fields.items()}

    @property
    def keys(self) -> list[str]:
        """All keys of a model."""
        return list(self.fields)

    @property
    def required_keys(self) -> list[str]:
        """The keys of a model without a default."""
        return [key for key, field in self.fields.items() if field.is_required()]

    @property
    def optional_keys(self) -> list[str]:
        """The keys of a model with a default."""
        return [key for key, field in self.fields.items() if not field.is_required()]

    @cached_property
    def members(self) -> list[Expectation]:
        """The alternatives of a union, except None; empty for other types."""
        if typing.get_origin(self.annotation) not in (Union, types.UnionType):
            return []
        members = typing.get_args(self.annotation)
        return [Expectation(member) for member in members if member is not type(None)]

    @cached_property
    def tagged_members(self) -> dict[str, Expectation]:
        """The alternatives of a discriminated union by tag; empty for other types."""
        if self.discriminator is None:
            return {}
        return {tag: member for each in self.members for tag, member in self._tags(each)}

    @property
    def choices(self) -> list[str]:
        """The values of a Literal or an Enum, as a file writes them."""
        if typing.get_origin(self.annotation) is Literal:
            return [str(value) for value in typing.get_args(self.annotation)]
        if self._is_a(enum.Enum):
            return [str(member.value) for member in self.annotation]
        return []

    @property
    def key(self) -> Expectation:
        """Expected type of a mapping's keys."""
        arguments = typing.get_args(self.annotation)
        return Expectation(arguments[0] if len(arguments) == 2 else Any)

    @property
    def items(self) -> list[Expectation] | Expectation | None:
        """Expected types of a fixed list's items, or the expected type of all items; None for other types."""
        origin = typing.get_origin(self.annotation) or self.annotation
        arguments = typing.get_args(self.annotation)
        if not isinstance(origin, type) or not issubclass(origin, Sequence | AbstractSet) or origin is str:
            return None
        if issubclass(origin, tuple) and arguments and Ellipsis not in arguments:
            return [Expectation(argument) for argument in arguments]
        return Expectation(arguments[0] if arguments else Any)

    @property
    def is_mapping(self) -> bool:
        """Whether a mapping is expected: a model or a dict."""
        origin = typing.get_origin(self.annotation) or self.annotation
        return isinstance(origin, type) and issubclass(origin, BaseModel | Mapping)

    def child(self, name: str | int) -> Expectation:
        """Return the expected type of a key or index; any type if it is unknown."""
        if name in self.fields:
            field = self.fields[str(name)]
            return Expectation(field.annotation, field)
        items = self.items
        if isinstance(items, Expectation):
            return items
        if items is not None and isinstance(name, int) and name < len(items):
            return items[name]
        arguments = typing.get_args(self.annotation)
        return Expectation(arguments[1] if self.is_mapping and len(arguments) == 2 else Any)

    def constraint(self, name: str) -> Any:
        """Return the value of a constraint (`gt`, `le`, `min_length`, ...), None if it is not set."""
        found = (getattr(item, name, None) for item in self.metadata)
        return next((value for value in found if value is not None), None)

    def _is_a(self, base: type) -> bool:
        return isinstance(self.annotation, type) and issubclass(self.annotation, base)

    def _add_constraints(self, metadata: Sequence[Any]) -> None:
        for item in metadata:
            if isinstance(item, FieldInfo) and isinstance(item.discriminator, str):
                self.discriminator = item.discriminator
            added = item.metadata if isinstance(item, FieldInfo) else [item]
            self.metadata.extend(added)
            for union in added:
                if isinstance(union, TaggedUnion):
                    self.annotation, self.discriminator = union.annotation, union.discriminator

    def _unwrapped(self) -> bool:
        """Remove one wrapper; False if there is none left."""
        inner = self.annotation
        if typing.get_origin(inner) is Annotated:
            self.annotation, *metadata = typing.get_args(inner)
            self._add_constraints(metadata)
        elif typing.get_origin(inner) in (Union, types.UnionType):
            members = [member for member in typing.get_args(inner) if member is not type(None)]
            if len(members) != 1:
                return False
            self.annotation = members[0]
        else:
            return False
        return True

    def _tags(self, member: Expectation) -> Iterator[tuple[str, Expectation]]:
        if member.tagged_members:
            yield from member.tagged_members.items()
        if self.discriminator in member.fields:
            for tag in member.child(self.discriminator).choices:
                yield tag, member
