"""Descriptions of expected types and given values for error messages."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multi_qp_scene.expectations import Expectation
from multi_qp_scene.suggestions import shortened


def described(expected: Expectation, *, many: bool = False) -> str:
    """Describe an expected type: "a positive number", "a list of 3 numbers"; `many` for the plural."""
    if expected.tagged_members:
        noun = "mappings" if many else "a mapping"
        return f"{noun} with {expected.discriminator}: {' or '.join(expected.tagged_members)}"
    if expected.members:
        alternatives = list(dict.fromkeys(described(member, many=many) for member in expected.members))
        return " or ".join(alternatives)
    if expected.choices:
        return _described_choices(expected.choices, many=many)
    if expected.annotation is bool:
        return "true or false"
    if expected.annotation in (int, float):
        return _described_number(expected, "integer" if expected.annotation is int else "number", many=many)
    if expected.annotation in (str, Path):
        return "strings" if many else _described_text(expected)
    if expected.items is not None:
        return _described_list(expected, expected.items, many=many)
    if expected.is_mapping:
        return _described_mapping(expected, many=many)
    return "other values" if many else "another value"


def shown_value(value: Any) -> str:
    """Format a value as in a file, shortened."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a large integer"  # Python's limit of integer to text conversion
    return shortened(repr(value), 60)


def _described_choices(choices: Sequence[str], *, many: bool) -> str:
    if len(choices) == 1:
        return repr(choices[0])
    return ("any of " if many else "one of ") + ", ".join(map(repr, choices))


def _described_text(expected: Expectation) -> str:
    pattern, shortest, longest = map(expected.constraint, ("pattern", "min_length", "max_length"))
    if pattern is not None:
        return f"text of the form {getattr(pattern, 'pattern', pattern)}"
    if shortest == 1 and longest is None:
        return "text that is not empty"
    if shortest is not None or longest is not None:
        return f"text of {_range(shortest, longest)} characters"
    return "text"


def _described_number(expected: Expectation, noun: str, *, many: bool) -> str:
    above, least, below, most = map(expected.constraint, ("gt", "ge", "lt", "le"))
    adjective, tail = "even " if expected.constraint("multiple_of") == 2 else "", ""
    if above is not None and below is None and above == 0:
        adjective, tail = f"{adjective}positive ", "" if most is None else f" of at most {most:g}"
    elif least is not None and most is not None:
        tail = f" from {least:g} to {most:g}"
    else:
        bounds = (("above", above), ("of at least", least), ("below", below), ("of at most", most))
        limits = [f"{word} {bound:g}" for word, bound in bounds if bound is not None]
        tail = " " + " and ".join(limits) if limits else ""
    if many:
        return f"{adjective}{noun}s{tail}"
    article = "an" if (adjective or noun)[0] in "ei" else "a"
    return f"{article} {adjective}{noun}{tail}"


def _described_list(expected: Expectation, items: list[Expectation] | Expectation, *, many: bool) -> str:
    noun = "lists" if many else "a list"
    if isinstance(items, Expectation):
        length = _range(expected.constraint("min_length"), expected.constraint("max_length"))
        return f"{noun} of {described(items, many=True)}" + (f" ({length})" if length else "")
    plurals = {described(item, many=True) for item in items}
    if len(plurals) == 1:
        return f"{noun} of {len(items)} {plurals.pop()}"
    return f"{noun} of {len(items)} ({', '.join(described(item) for item in items)})"


def _described_mapping(expected: Expectation, *, many: bool) -> str:
    noun = "mappings" if many else "a mapping"
    shortest, longest = expected.constraint("min_length"), expected.constraint("max_length")
    if not many and expected.keys:
        return f"{noun} with the keys {', '.join(expected.keys)}"
    if not expected.keys and typing.get_args(expected.annotation):
        noun += f" of names to {described(expected.child(''), many=True)}"
    length = _range(shortest, longest)
    return noun + (f" ({length})" if length else "")


def _range(least: int | None, most: int | None) -> str:
    if least is not None and least == most:
        return str(least)
    if least is not None and most is not None:
        return f"{least} to {most}"
    if least is not None:
        return f"at least {least}"
    return f"at most {most}" if most is not None else ""
