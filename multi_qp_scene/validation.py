"""Validation of configuration files against pydantic models, with readable error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from multi_qp_scene.errors import KeyPath
from multi_qp_scene.expectations import Expectation
from multi_qp_scene.problems import Problems
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.wording import described, shown_value
from multi_qp_scene.yaml_document import YamlDocument

Model = TypeVar("Model", bound=BaseModel)
_Error = tuple[tuple[str | int, ...], ErrorDetails]  # remaining path of the error, and the error
_Errors = Sequence[_Error]


def validate(
    document: YamlDocument, data: Any, model: type[Model], problems: Problems, *, at: KeyPath = ()
) -> Model | None:
    """Build `model` from a part of a file, or collect all of its errors.

    Args:
        document: the file, for line numbers.
        data: content of the part, usually after `substitute`.
        model: the model class.
        problems: list to which errors are added.
        at: path of `data` in the file.

    Returns:
        The model's instance, or None if there were errors.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        errors = [(details["loc"], details) for details in error.errors(include_url=False)]
        _Report(document, problems).of(Expectation(model), errors, tuple(at))
        return None


class _Report:
    """Parallel traversal of errors and types: the path of an error alone does not distinguish keys from type names."""

    def __init__(self, document: YamlDocument, problems: Problems) -> None:
        self._document = document
        self._problems = problems
        self._known = {problem.location for problem in problems}

    def of(self, expected: Expectation, errors: _Errors, key: KeyPath) -> None:
        if self._problems.full:
            self._problems.count(len(errors))
            return
        own = [details for place, details in errors if not place]
        for details in own:
            wrong_tag = details["type"] == "union_tag_invalid"
            place = (*key, expected.discriminator) if wrong_tag and expected.discriminator else key
            self._add(place, _message(expected, details), details["input"])
        deeper = [(place, details) for place, details in errors if place]
        if expected.tagged_members:
            for tag, below in _by_first(deeper).items():
                self.of(expected.tagged_members.get(str(tag), Expectation(Any)), below, key)
        elif expected.members:
            self._untagged_union(expected, deeper, key)
        else:
            for name, below in _by_first(deeper).items():
                self._child(expected, name, below, key)

    def _child(self, expected: Expectation, name: str | int, errors: _Errors, key: KeyPath) -> None:
        rest: list[_Error] = []
        for place, details in errors:
            if self._problems.full:
                self._problems.count(1)
            elif place == () and details["type"] == "missing":
                self._add(key, _missing(name, expected, details["input"]))
            elif place == () and details["type"] == "extra_forbidden":
                self._add((*key, name), unknown_name("key", name, expected.keys))
            elif place == ("[key]",):
                self._add((*key, name), _message(expected.key, details), details["input"])
            else:
                rest.append((place, details))
        if rest:
            self.of(expected.child(name), rest, (*key, name))

    def _untagged_union(self, expected: Expectation, errors: _Errors, key: KeyPath) -> None:
        """Report the errors of the alternative that matches the value's type, or that none of them matches.

        Pydantic lists the errors of all alternatives, in their order, under generated names.
        """
        alternatives = list(zip(expected.members, _by_first(errors).values(), strict=False))
        resembling = [each for each in alternatives if not any(map(_is_other_type, each[1]))]
        if resembling:
            member, below = min(resembling, key=lambda alternative: len(alternative[1]))
            self.of(member, below, key)
        elif alternatives:
            value = alternatives[0][1][0][1]["input"]
            self._add(key, f"expected {described(expected)}, got {shown_value(value)}", value)

    def _add(self, key: KeyPath, message: str, value: object = None) -> None:
        location = self._document.location(key)
        if isinstance(value, str) and "${" in value and location in self._known:
            return  # already reported by the substitution
        self._problems.add(location, message)


def _by_first(errors: _Errors) -> Mapping[str | int, list[_Error]]:
    groups: dict[str | int, list[_Error]] = {}
    for place, details in errors:
        groups.setdefault(place[0], []).append((place[1:], details))
    return groups


def _is_other_type(error: _Error) -> bool:
    place, details = error
    kind = details["type"]
    return place == () and (kind.endswith("_type") or kind in ("literal_error", "enum", "none_required"))


def _missing(name: str | int, expected: Expectation, value: object) -> str:
    if isinstance(name, int) and isinstance(value, list):  # a list of fixed length is too short
        return f"expected {described(expected)}, got {len(value)}"
    message = f"the key {name!r} is missing"
    required, optional = expected.required_keys, expected.optional_keys
    takes = [f"required: {', '.join(required)}"] if required else []
    if optional:
        takes.append(f"optional: {', '.join(optional)}")
    return f"{message} ({'; '.join(takes)})" if takes else message


def _message(expected: Expectation, details: ErrorDetails) -> str:
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        return str(context["error"])
    if kind == "union_tag_invalid":
        return unknown_name(expected.discriminator or "tag", str(context["tag"]), expected.tagged_members)
    if kind == "union_tag_not_found":
        tags = ", ".join(expected.tagged_members)
        return f"the key {expected.discriminator!r} is missing, which says what this is (one of: {tags})"
    if kind in ("literal_error", "enum") and isinstance(value, str):
        return unknown_name("value", value, expected.choices)
    if kind == "finite_number":
        return f"expected a finite number, got {shown_value(value)}"
    if kind in _LENGTH_ERRORS and isinstance(value, list | dict):
        return f"expected {described(expected)}, got {len(value) or shown_value(value)}"
    if kind in _DESCRIBED_ERRORS or kind.endswith(("_type", "_parsing")):
        return f"expected {described(expected)}, got {shown_value(value)}"
    text = details["msg"][:1].lower() + details["msg"][1:]
    return text if isinstance(value, list | dict) else f"{text}, got {shown_value(value)}"


_LENGTH_ERRORS = ("too_short", "too_long")
_DESCRIBED_ERRORS = (
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
    "multiple_of",
    "literal_error",
    "enum",
    "int_from_float",
    "string_too_short",
    "string_too_long",
    "string_pattern_mismatch",
    "none_required",
    "missing",
    *_LENGTH_ERRORS,
)
