"""YAML parser with the 1.2 core schema; PyYAML's own loaders follow YAML 1.1, where `no` is False and 1e-3 text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import yaml
from yaml.resolver import BaseResolver

from multi_qp_scene.limits import excess, limit
from multi_qp_scene.suggestions import shortened

_PREFIX = "tag:yaml.org,2002:"
MERGE_TAG = _PREFIX + "merge"

#: Prefix of the message of an error that is not a syntax error.
LIMIT_EXCEEDED = "too large: "
#: Range of integers, 64 bits.
_LARGEST_INTEGER = 2**63 - 1

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_NULL = re.compile(r"null|Null|NULL|~|")

# YAML would parse the braces of `[0, 0, ${height}]` as a mapping. They are replaced by the same number of characters of
# the private use area of Unicode during parsing, so that lines and columns are preserved.
_PLACEHOLDER = re.compile(r"\$\{([^{}\n]*)\}")
_HIDDEN_BRACES = {ord("\uf8f0"): "{", ord("\uf8f1"): "}"}


class _CoreResolver(BaseResolver):
    """Resolver of the type of plain scalars."""


def _full_match(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern.pattern})\Z")


for _tag, _pattern, _first in (
    ("bool", _BOOLEAN, "tTfF"),
    ("int", _INTEGER, "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
    ("null", _NULL, ["~", "n", "N", ""]),
    ("merge", re.compile("<<"), "<"),
):
    _CoreResolver.add_implicit_resolver(_PREFIX + _tag, _full_match(_pattern), list(_first))


# PyYAML's parser in C would be eight times as fast, but has less detailed errors; long files take 50 ms.
class _Loader(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _CoreResolver):
    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _CoreResolver.__init__(self)
        self._count, self._depth = 0, 0
        self._most, self._deepest = limit("yaml_values").high, limit("yaml_depth").high

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node and its children, within the limits of a file."""
        self._count += 1
        self._depth += 1
        if self._count > self._most or self._depth > self._deepest:
            name, value = ("yaml_values", self._count) if self._count > self._most else ("yaml_depth", self._depth)
            message = f"{LIMIT_EXCEEDED}{excess(name, value, counting=True)}"
            raise yaml.MarkedYAMLError(None, None, message, self.peek_event().start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


@lru_cache(maxsize=32)
def compose(text: str) -> yaml.Node | None:
    """Return the node tree of the one document in `text`, None if it is empty. Raises yaml.YAMLError.

    The tree is cached, since each run of a sweep reads the same file; it must not be modified.
    """
    return _Loader(_PLACEHOLDER.sub("$\uf8f0\\1\uf8f1", text)).get_single_node()


def scalar_text(node: yaml.ScalarNode) -> str:
    """Return the text of a scalar node, without quotes."""
    text: str = node.value
    return text.translate(_HIDDEN_BRACES)


def scalar_value(node: yaml.ScalarNode) -> Any:
    """Return a scalar node's value.

    Raises:
        ValueError: the node's tag is not in the core schema, or its text does not match the tag.
    """
    read = _READERS.get(node.tag)
    if read is None:
        raise ValueError(f"the YAML tag {shortened(node.tag.replace(_PREFIX, '!!'))!r} is not supported")
    try:
        return read(scalar_text(node))
    except ValueError:
        kind = node.tag.removeprefix(_PREFIX)
        size = " of 64 bits" if kind == "int" else ""
        raise ValueError(f"{shortened(scalar_text(node))!r} cannot be read as !!{kind}{size}") from None


def _integer(text: str) -> int:
    _require(_INTEGER, text)
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    digits = text.lstrip("+-0xo")  # Python's limit of text to integer conversion
    value = int(text, base) if len(digits) <= 22 else None
    if value is None or abs(value) > _LARGEST_INTEGER:
        raise ValueError(text)
    return value


def _float(text: str) -> float:
    _require(_FLOAT, text)
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _boolean(text: str) -> bool:
    _require(_BOOLEAN, text)
    return text.lower() == "true"


def _null(text: str) -> None:
    _require(_NULL, text)


def _require(pattern: re.Pattern[str], text: str) -> None:
    if not pattern.fullmatch(text):
        raise ValueError(text)


_READERS: dict[str, Callable[[str], Any]] = {
    _PREFIX + "str": str,
    _PREFIX + "int": _integer,
    _PREFIX + "float": _float,
    _PREFIX + "bool": _boolean,
    _PREFIX + "null": _null,
    _PREFIX + "merge": str,
}
