"""URDF as a tree of XML elements with their line numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from multi_qp_scene.errors import ConfigError, ConfigProblem, Location, MultiQpError
from multi_qp_scene.files import read_bytes
from multi_qp_scene.limits import excess, limit
from multi_qp_scene.suggestions import shortened


class UrdfDocument:
    """A URDF that is well-formed XML with the root element `<robot>`; not validated further.

    Attributes:
        path: the file.
        root: its root element.
    """

    def __init__(self, path: Path, root: ElementTree.Element, lines: dict[ElementTree.Element, int]) -> None:
        self.path = path
        self.root = root
        self._lines = lines

    @classmethod
    def load(cls, path: Path) -> UrdfDocument:
        """Read a file.

        Raises:
            ConfigError: when it cannot be read, is not XML or is not a URDF.
        """
        root, lines = parse_xml(_read(path), path)
        if root.tag != "robot":
            message = f"not a URDF: its top element is <{shortened(root.tag)}>, expected <robot>"
            raise ConfigError([ConfigProblem(Location(path, lines[root]), message)])
        return cls(path, root, lines)

    def location(self, element: ElementTree.Element) -> Location:
        """Return the location of an element."""
        return Location(self.path, self._lines.get(element))

    def to_xml(self) -> str:
        """Return the XML text of the elements, including modifications."""
        return ElementTree.tostring(self.root, encoding="unicode")


def parse_xml(content: bytes, path: Path) -> tuple[ElementTree.Element, dict[ElementTree.Element, int]]:
    """Return the root element and the line of each element; ElementTree's own parser does not provide lines.

    A document type is refused, since entities can expand to large texts, and neither a URDF nor a mesh needs them.

    Args:
        content: bytes of the file.
        path: path of the file, for messages.

    Raises:
        ConfigError: the content is not XML, or is too deeply nested.
    """
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    lines: dict[ElementTree.Element, int] = {}
    depth, deepest = 0, limit("xml_depth").high

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > deepest:
            report_error(f"too large: {excess('xml_depth', depth, counting=True)}")
        lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def report_error(message: str) -> NoReturn:
        raise ConfigError([ConfigProblem(Location(path, parser.CurrentLineNumber), message)])

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = lambda *_: report_error("a <!DOCTYPE> is not allowed here: remove it")
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        message = f"not valid XML at column {error.offset + 1}: {reason}"
        raise ConfigError([ConfigProblem(Location(path, error.lineno), message)]) from None
    except (ValueError, LookupError) as error:  # unknown or wrong encoding
        raise ConfigError([ConfigProblem(Location(path), f"not valid XML: {error}")]) from None
    return builder.close(), lines


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path, "xml_bytes")
    except MultiQpError as error:
        raise ConfigError([ConfigProblem(Location(path), str(error))]) from None
