"""A URDF as XML elements that remember on which line they stand."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from xml.parsers import expat

from multi_qp_scene.errors import ConfigError, Location, Problem


class UrdfDocument:
    """A URDF that is well-formed XML with `<robot>` at its top; nothing else has been checked.

    Attributes:
        path: the file.
        root: its top element.
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
        root, lines = _parse(path)
        if root.tag != "robot":
            message = f"not a URDF: its top element is <{root.tag}>, expected <robot>"
            raise ConfigError([Problem(Location(path, lines[root]), message)])
        return cls(path, root, lines)

    def location(self, element: ElementTree.Element) -> Location:
        """Return where an element begins."""
        return Location(self.path, self._lines.get(element))

    def to_xml(self) -> str:
        """Return the whole, with what has been changed in the elements."""
        return ElementTree.tostring(self.root, encoding="unicode")


def _parse(path: Path) -> tuple[ElementTree.Element, dict[ElementTree.Element, int]]:
    """Return the top element and the line of each element; ElementTree's own parser keeps no lines."""
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    lines: dict[ElementTree.Element, int] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        message = f"not valid XML at column {error.offset + 1}: {reason}"
        raise ConfigError([Problem(Location(path, error.lineno), message)]) from None
    except OSError as error:
        raise ConfigError([Problem(Location(path), f"cannot be read: {error.strerror}")]) from None
    except (ValueError, LookupError) as error:  # an encoding that does not exist, or does not fit
        raise ConfigError([Problem(Location(path), f"not valid XML: {error}")]) from None
    return builder.close(), lines
