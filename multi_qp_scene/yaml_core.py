"""YAML by the 1.2 core schema; PyYAML's own loaders follow YAML 1.1, where `no` is False and 1e-3 text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import yaml
from yaml.resolver import BaseResolver

_PREFIX = "tag:yaml.org,2002:"
MERGE_TAG = _PREFIX + "merge"

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_NULL = re.compile(r"null|Null|NULL|~|")

# YAML would take the braces of `[0, 0, ${height}]` for a mapping. So they are other characters, from the
# private area of Unicode, while YAML is at work; as many, so that lines and columns stay.
_PLACEHOLDER = re.compile(r"\$\{([^{}\n]*)\}")
_HIDDEN_BRACES = {ord("\uf8f0"): "{", ord("\uf8f1"): "}"}


class _CoreResolver(BaseResolver):
    """Decides what type a plain scalar has."""


def _whole(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern.pattern})\Z")


for _tag, _pattern, _first in (
    ("bool", _BOOLEAN, "tTfF"),
    ("int", _INTEGER, "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
    ("null", _NULL, ["~", "n", "N", ""]),
    ("merge", re.compile("<<"), "<"),
):
    _CoreResolver.add_implicit_resolver(_PREFIX + _tag, _whole(_pattern), list(_first))


# PyYAML's parser in C would be eight times as fast, but says less about mistakes; long files take 50 ms.
class _Loader(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _CoreResolver):
    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _CoreResolver.__init__(self)


@lru_cache(maxsize=32)
def compose(text: str) -> yaml.Node | None:
    """Return the node tree of the one document in `text`, None if it is empty. Raises yaml.YAMLError.

    The tree is kept for whoever reads the same again, as each run of a sweep does: nobody changes it.
    """
    return _Loader(_PLACEHOLDER.sub("$\uf8f0\\1\uf8f1", text)).get_single_node()


def scalar_text(node: yaml.ScalarNode) -> str:
    """Return what is written in a scalar node, without the quotes."""
    text: str = node.value
    return text.translate(_HIDDEN_BRACES)


def scalar_value(node: yaml.ScalarNode) -> Any:
    """Return a scalar node's value.

    Raises:
        ValueError: the node's tag is not of the core schema, or its text does not fit the tag.
    """
    read = _READERS.get(node.tag)
    if read is None:
        raise ValueError(f"the YAML tag {node.tag.replace(_PREFIX, '!!')!r} is not supported")
    try:
        return read(scalar_text(node))
    except ValueError:
        kind = node.tag.removeprefix(_PREFIX)
        raise ValueError(f"{_shortened(node.value)!r} cannot be read as !!{kind}") from None


def _integer(text: str) -> int:
    _demand(_INTEGER, text)
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text, base)


def _float(text: str) -> float:
    _demand(_FLOAT, text)
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _boolean(text: str) -> bool:
    _demand(_BOOLEAN, text)
    return text.lower() == "true"


def _null(text: str) -> None:
    _demand(_NULL, text)


def _demand(pattern: re.Pattern[str], text: str) -> None:
    if not pattern.fullmatch(text):
        raise ValueError(text)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


_READERS: dict[str, Callable[[str], Any]] = {
    _PREFIX + "str": str,
    _PREFIX + "int": _integer,
    _PREFIX + "float": _float,
    _PREFIX + "bool": _boolean,
    _PREFIX + "null": _null,
    _PREFIX + "merge": str,
}
