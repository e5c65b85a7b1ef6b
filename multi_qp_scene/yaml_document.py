"""A YAML file as plain Python data that remembers on which line every key stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from multi_qp_scene.errors import ConfigError, KeyPath, Location, Problem
from multi_qp_scene.problems import Problems
from multi_qp_scene.sources import note
from multi_qp_scene.yaml_core import MERGE_TAG, compose, scalar_text, scalar_value

# Aliases may repeat a node within a node within a node: a file of ten lines could otherwise fill the memory.
_MOST_VALUES = 200_000


@dataclass(frozen=True)
class YamlDocument:
    """One YAML mapping, read by the YAML 1.2 core schema: `on`, `off`, `yes`, `no` are text, 1e-3 a number.

    Keys are always text, as written. Anchors, aliases and merge keys (`<<`) are resolved.

    Attributes:
        path: the file it came from, or None.
        data: the content: dict, list, str, int, float, bool and None.
    """

    path: Path | None
    data: dict[str, Any]
    _lines: Mapping[KeyPath, int] = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> YamlDocument:
        """Read a file.

        Raises:
            ConfigError: it cannot be read, is not YAML, repeats a key, is empty or holds no mapping.
        """
        path = Path(path)
        note(path)
        return cls.parse(_read_text(path), path=path)

    @classmethod
    def parse(cls, text: str, *, path: Path | None = None) -> YamlDocument:
        """Read from text; `path` only names the source in messages. Raises ConfigError like `load`."""
        root = _compose_or_explain(text, path)
        if root is None:
            raise _only_problem(Location(path), "the file is empty; expected a mapping (key: value)")
        if not isinstance(root, yaml.MappingNode):
            line = root.start_mark.line + 1
            raise _only_problem(Location(path, line), f"expected a mapping (key: value), got {_kind(root)}")
        builder = _Builder(path)
        try:
            data = builder.value(root, ())
        except RecursionError:
            raise _only_problem(Location(path), "lists and mappings are nested too deeply") from None
        builder.problems.raise_if_any()
        return cls(path, data, builder.lines)

    def location(self, key: KeyPath = ()) -> Location:
        """Return where `key` stands; a missing key has the line of its nearest existing parent."""
        key = tuple(key)
        for length in range(len(key), 0, -1):
            if key[:length] in self._lines:
                return Location(self.path, self._lines[key[:length]], key)
        return Location(self.path, self._lines[()], key)


class _Builder:
    """Turns YAML nodes into plain data and notes lines and problems on the way."""

    def __init__(self, path: Path | None) -> None:
        self.problems = Problems()
        self.lines: dict[KeyPath, int] = {}
        self._path = path
        self._open: set[int] = set()  # nodes that we are inside of, to notice an alias to its own parent
        self._count = 0

    def value(self, node: yaml.Node, key: KeyPath) -> Any:
        self.lines.setdefault(key, node.start_mark.line + 1)
        self._count += 1
        if self._count > _MOST_VALUES:
            message = f"aliases make more than {_MOST_VALUES} values of this file"
            raise _only_problem(self._at(node, key), message)
        if id(node) in self._open:
            self.problems.add(self._at(node, key), "an alias refers to a value that contains it")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, key)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, (*key, index)) for index, item in enumerate(node.value)]
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, key)
            raise TypeError(f"not a YAML node: {node!r}")
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode, key: KeyPath) -> Any:
        try:
            return scalar_value(node)
        except ValueError as error:
            self.problems.add(self._at(node, key), str(error))
            return None

    def _mapping(self, node: yaml.MappingNode, key: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for name, (name_node, value_node) in self._entries(node, key).items():
            self.lines[*key, name] = name_node.start_mark.line + 1
            data[name] = self.value(value_node, (*key, name))
        return data

    def _entries(self, node: yaml.MappingNode, key: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the entries by name, those of merge keys first; the mapping's own entries win over them."""
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for name_node, value_node in node.value:
            if not isinstance(name_node, yaml.ScalarNode):
                self.problems.add(self._at(name_node, key), f"a key must be text, got {_kind(name_node)}")
                continue
            name = scalar_text(name_node)
            if name in own:
                first, second = own[name][0].start_mark.line + 1, name_node.start_mark.line + 1
                self.problems.add(
                    self._at(name_node, (*key, name)),
                    f"the key {name!r} appears twice, at line {first} and at line {second}",
                )
                continue
            own[name] = name_node, value_node
        merges = [name for name, (name_node, _) in own.items() if name_node.tag == MERGE_TAG]
        for name in merges:
            merged |= self._merged(own.pop(name)[1], key)
        return merged | own

    def _merged(self, node: yaml.Node, key: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for source in reversed(sources):  # the first source wins
            if not isinstance(source, yaml.MappingNode):
                self.problems.add(self._at(source, key), f"'<<' takes mappings, got {_kind(source)}")
                continue
            if id(source) in self._open:
                self.problems.add(self._at(source, key), "'<<' refers to the mapping that it stands in")
                continue
            self._open.add(id(source))
            merged |= self._entries(source, key)
            self._open.discard(id(source))
        return merged

    def _at(self, node: yaml.Node, key: KeyPath) -> Location:
        return Location(self._path, node.start_mark.line + 1, key)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        reason = "no such file"
    except IsADirectoryError:
        reason = "this is a folder, not a file"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text: the byte at offset {error.start} is {error.object[error.start]:#04x}"
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    raise _only_problem(Location(path), reason)


def _compose_or_explain(text: str, path: Path | None) -> yaml.Node | None:
    try:
        return compose(text)
    except yaml.MarkedYAMLError as error:
        raise _only_problem(*_explained(error, text, path)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _only_problem(Location(path, line), f"not valid YAML: {error.reason}") from None
    except RecursionError:
        raise _only_problem(Location(path), "lists and mappings are nested too deeply") from None


def _explained(error: yaml.MarkedYAMLError, text: str, path: Path | None) -> tuple[Location, str]:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Location(path), f"not valid YAML: {error.problem or error.context}"
    location = Location(path, mark.line + 1)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation or line[mark.column : mark.column + 1] == "\t":
        column = line.index("\t") + 1
        return location, f"not valid YAML: a tab at column {column}; YAML is indented with spaces only"
    message = f"not valid YAML at column {mark.column + 1}: {error.problem}"
    if error.context and error.context_mark is not None:
        message += f" ({error.context} that began at line {error.context_mark.line + 1})"
    return location, message


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"the value {node.value!r}"


def _only_problem(location: Location, message: str) -> ConfigError:
    return ConfigError([Problem(location, message)])
