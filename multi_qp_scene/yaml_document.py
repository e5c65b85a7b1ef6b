"""YAML file as plain Python data with the line number of every key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from multi_qp_scene.errors import ConfigError, ConfigProblem, KeyedError, KeyPath, Location, MultiQpError
from multi_qp_scene.files import read_bytes
from multi_qp_scene.former_names import present_name
from multi_qp_scene.limits import excess, limit
from multi_qp_scene.problems import Problems
from multi_qp_scene.sources import note
from multi_qp_scene.suggestions import shortened
from multi_qp_scene.yaml_core import LIMIT_EXCEEDED, MERGE_TAG, compose, scalar_text, scalar_value

_Entries = dict[str, tuple[yaml.Node, yaml.Node]]


@dataclass(frozen=True)
class YamlDocument:
    """One YAML mapping, read by the YAML 1.2 core schema: `on`, `off`, `yes`, `no` are text, 1e-3 a number.

    Keys are always text, as written. Anchors, aliases and merge keys (`<<`) are resolved.

    Attributes:
        path: the source file, or None.
        data: the content: dict, list, str, int, float, bool and None.
    """

    path: Path | None
    data: dict[str, Any]
    _lines: Mapping[KeyPath, int] = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> YamlDocument:
        """Read a file.

        Raises:
            ConfigError: the file cannot be read, is not YAML, repeats a key, is empty or is not a mapping.
        """
        path = Path(path)
        note(path)
        return cls.parse(_read_text(path), path=path)

    @classmethod
    def parse(cls, text: str, *, path: Path | None = None) -> YamlDocument:
        """Parse text; `path` is the source in messages. Raises ConfigError like `load`."""
        root = _compose_or_explain(text, path)
        if root is None:
            raise _only_problem(Location(path), "the file is empty; expected a mapping (key: value)")
        if not isinstance(root, yaml.MappingNode):
            line = root.start_mark.line + 1
            # no quotation: the file may be confidential, such as /etc/passwd
            kind = "text" if isinstance(root, yaml.ScalarNode) else _kind(root)
            raise _only_problem(Location(path, line), f"expected a mapping (key: value), got {kind}")
        builder = _Builder(path)
        try:
            data = builder.value(root, ())
        except RecursionError:
            raise _only_problem(Location(path), "lists and mappings are nested too deeply") from None
        builder.problems.raise_if_any()
        return cls(path, data, builder.lines)

    def renamed(self, keys: Mapping[str, str]) -> YamlDocument:
        """Return the document with former top-level keys replaced by present ones.

        Args:
            keys: present keys by former ones.

        Raises:
            ConfigError: both are given.
        """
        for former in keys.keys() & self.data.keys():
            if keys[former] in self.data:
                raise _only_problem(
                    self.location((former,)), f"deprecated name of {keys[former]!r}, which is given too"
                )
            present_name(f"{self.location((former,))}: the key", former, keys)
        data = {keys.get(name, name): value for name, value in self.data.items()}
        lines = {(keys.get(str(key[0]), key[0]), *key[1:]) if key else key: line for key, line in self._lines.items()}
        return YamlDocument(self.path, data, lines)

    def location(self, key: KeyPath = ()) -> Location:
        """Return the location of `key`; a missing key has the line of its nearest existing parent."""
        key = tuple(key)
        for length in range(len(key), 0, -1):
            if key[:length] in self._lines:
                return Location(self.path, self._lines[key[:length]], key)
        return Location(self.path, self._lines[()], key)


@contextmanager
def located_in(path: Path) -> Iterator[None]:
    """Add file and line to errors of values in a file.

    Raises:
        ConfigError: instead of a `KeyedError`.
    """
    try:
        yield
    except KeyedError as error:
        raise ConfigError([ConfigProblem(YamlDocument.load(path).location(error.key), error.reason)]) from None


class _Builder:
    """Conversion of YAML nodes to plain data; records lines and errors."""

    def __init__(self, path: Path | None) -> None:
        self.problems = Problems()
        self.lines: dict[KeyPath, int] = {}
        self._path = path
        self._open: set[int] = set()  # ancestors of the present node, to detect an alias to its own parent
        self._count = 0
        self._most = limit("yaml_values").high
        self._deepest = limit("yaml_depth").high
        self._longest = limit("name_length").high
        self._known_entries: dict[int, _Entries] = {}  # cache for mappings that are merged several times

    def value(self, node: yaml.Node, key: KeyPath) -> Any:
        self.lines.setdefault(key, node.start_mark.line + 1)
        self._add(1, node, key)
        if len(key) >= self._deepest:
            raise _only_problem(self._at(node, key), f"too large: {excess('yaml_depth', len(key) + 1, counting=True)}")
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

    def _add(self, values: int, node: yaml.Node, key: KeyPath) -> None:
        """Count values: nested aliases and merge keys may expand a few lines to any size."""
        self._count += values
        if self._count > self._most:
            raise _only_problem(self._at(node, key), f"too large: {excess('yaml_values', self._count, counting=True)}")

    def _entries(self, node: yaml.MappingNode, key: KeyPath) -> _Entries:
        """Return the entries by name, those of merge keys first; the mapping's own entries override them."""
        if id(node) not in self._known_entries:
            self._known_entries[id(node)] = self._collect_entries(node, key)
        return self._known_entries[id(node)]

    def _collect_entries(self, node: yaml.MappingNode, key: KeyPath) -> _Entries:
        own: _Entries = {}
        merged: _Entries = {}
        for name_node, value_node in node.value:
            if not isinstance(name_node, yaml.ScalarNode):
                self.problems.add(self._at(name_node, key), f"a key must be text, got {_kind(name_node)}")
                continue
            name = scalar_text(name_node)
            if len(name) > self._longest:
                message = f"the name {shortened(name)!r} is too long: {excess('name_length', len(name))}"
                self.problems.add(self._at(name_node, key), message)
                continue
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

    def _merged(self, node: yaml.Node, key: KeyPath) -> _Entries:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: _Entries = {}
        for source in reversed(sources):  # the first source has precedence
            if not isinstance(source, yaml.MappingNode):
                self.problems.add(self._at(source, key), f"'<<' takes mappings, got {_kind(source)}")
                continue
            if id(source) in self._open:
                self.problems.add(self._at(source, key), "'<<' refers to the mapping that it stands in")
                continue
            self._open.add(id(source))
            entries = self._entries(source, key)
            self._open.discard(id(source))
            self._add(len(entries), source, key)
            merged |= entries
        return merged

    def _at(self, node: yaml.Node, key: KeyPath) -> Location:
        return Location(self._path, node.start_mark.line + 1, key)


def _read_text(path: Path) -> str:
    try:
        content = read_bytes(path, "yaml_bytes")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text: the byte at offset {error.start} is {error.object[error.start]:#04x}"
    except MultiQpError as error:
        reason = str(error)
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
    if error.problem is not None and error.problem.startswith(LIMIT_EXCEEDED):
        return location, error.problem
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation or line[mark.column : mark.column + 1] == "\t":
        column = line.index("\t") + 1
        return location, f"not valid YAML: a tab at column {column}; YAML is indented with spaces only"
    message = f"not valid YAML at column {mark.column + 1}: {_message(error)}"
    if error.context and error.context_mark is not None:
        message += f" ({error.context} that began at line {error.context_mark.line + 1})"
    return location, message


def _message(error: yaml.MarkedYAMLError) -> str:
    """Return the message of an error, with long names, such as those of anchors, shortened."""
    return shortened(str(error.problem), 120)


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"the value {shortened(node.value)!r}"


def _only_problem(location: Location, message: str) -> ConfigError:
    return ConfigError([ConfigProblem(location, message)])
