"""What may stand at a place of a configuration file: read from the models' annotations."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Annotated, Any, Literal, Union

from pydantic import AliasChoices, BaseModel, Discriminator, RootModel, Tag
from pydantic.fields import FieldInfo


class Expectation:
    """One type annotation, taken apart: without Annotated and Optional, its constraints and parts by name.

    Attributes:
        annotation: the bare type: `float`, `list[int]`, a model, a union of several.
        metadata: the constraints on it: `annotated_types.Gt(0)` and the like.
        discriminator: the key that says which member of a union is meant, or None.
    """

    def __init__(self, annotation: Any, *metadata: Any) -> None:
        """Take the annotation apart."""
        self.annotation = annotation
        self.metadata: list[Any] = []
        self.discriminator: str | None = None
        self._note(metadata)
        while self._unwrapped():
            pass

    @cached_property
    def fields(self) -> dict[str, FieldInfo]:
        """The fields of a model by the keys that a file has for them; empty for other types."""
        if not self._is_a(BaseModel):
            return {}
        fields: dict[str, FieldInfo] = self.annotation.model_fields
        return {key: field for name, field in fields.items() for key in _keys_of(name, field)}

    @property
    def keys(self) -> list[str]:
        """Every key that a model takes."""
        return list(self.fields)

    @property
    def required_keys(self) -> list[str]:
        """The keys that a model cannot do without."""
        return [key for key, field in self.fields.items() if field.is_required()]

    @property
    def optional_keys(self) -> list[str]:
        """The keys that a model has defaults for."""
        return [key for key, field in self.fields.items() if not field.is_required()]

    @cached_property
    def members(self) -> list[Expectation]:
        """The alternatives of a union, None apart; empty for other types."""
        if typing.get_origin(self.annotation) not in (Union, types.UnionType):
            return []
        members = typing.get_args(self.annotation)
        return [Expectation(member) for member in members if member is not type(None)]

    @cached_property
    def tagged_members(self) -> dict[str, Expectation]:
        """The alternatives of a discriminated union by the tag that chooses them; empty for other types."""
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
        """What a mapping's keys must be."""
        arguments = typing.get_args(self.annotation)
        return Expectation(arguments[0] if len(arguments) == 2 else Any)

    @property
    def items(self) -> list[Expectation] | Expectation | None:
        """A fixed list's items one by one, or what every item of a list must be; None for other types."""
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
        """Return what must stand under a key or at an index; anything if that is not known."""
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

    def _note(self, metadata: Sequence[Any]) -> None:
        for item in metadata:
            discriminator = item.discriminator if isinstance(item, FieldInfo | Discriminator) else None
            if isinstance(discriminator, Discriminator):
                discriminator = discriminator.discriminator
            if discriminator is not None:
                self.discriminator = discriminator if isinstance(discriminator, str) else "type"
            self.metadata.extend(item.metadata if isinstance(item, FieldInfo) else [item])

    def _unwrapped(self) -> bool:
        """Take off one wrapping; False if there is none left."""
        inner = self.annotation
        if typing.get_origin(inner) is Annotated:
            self.annotation, *metadata = typing.get_args(inner)
            self._note(metadata)
        elif hasattr(inner, "__value__"):  # type X = ...
            self.annotation = inner.__value__
        elif isinstance(inner, typing.NewType):
            self.annotation = inner.__supertype__
        elif self._is_a(RootModel):
            root = inner.model_fields["root"]
            self.annotation = root.annotation
            self._note([root])
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
        for item in member.metadata:
            if isinstance(item, Tag):
                yield item.tag, member
        if self.discriminator in member.fields:
            for tag in member.child(self.discriminator).choices:
                yield tag, member


def _keys_of(name: str, field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    aliases = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [choice for choice in aliases if isinstance(choice, str)] or [name]
