"""What can go wrong, said so that a person can mend it: the project's exceptions and where a problem is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

KeyPath = tuple[str | int, ...]
"""Way from the top of a file to one value: text for a mapping's key, an integer for a list's item."""

_PLAIN_KEY = re.compile(r"""[^\s.:\[\]"']+""")


class MultiQpError(Exception):
    """Base of every error that this project raises on purpose."""


@dataclass(frozen=True)
class Location:
    """Where something stands in a configuration file.

    Attributes:
        file: the file, or None for text that came from elsewhere.
        line: line number, counted from 1, or None if the problem concerns the file as a whole.
        key: way to the value from the top of the file, `()` for the top itself.
    """

    file: Path | None = None
    line: int | None = None
    key: KeyPath = ()

    def __str__(self) -> str:
        """`config/scenarios/box.yaml:12: states.reach.contacts[1]`, without the parts that are not known."""
        place = ""
        if self.file is not None:
            place = shown_path(self.file)
            if self.line is not None:
                place += f":{self.line}"
        elif self.line is not None:
            place = f"line {self.line}"
        return ": ".join(part for part in (place, shown_key(self.key)) if part)


@dataclass(frozen=True)
class Problem:
    """One mistake in a configuration file, in plain English."""

    location: Location
    message: str

    def __str__(self) -> str:
        """`<file>:<line>: <key>: <message>`."""
        place = str(self.location)
        return f"{place}: {self.message}" if place else self.message


class ConfigError(MultiQpError):
    """A configuration file is wrong; carries every problem found, not only the first.

    Attributes:
        problems: the mistakes, in the order of the file.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Hold the problems; the text is made when it is asked for."""
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        """A line with the count, then one line a problem."""
        count = len(self.problems)
        headline = "1 problem:" if count == 1 else f"{count} problems:"
        return "\n".join([headline, *(str(problem) for problem in self.problems)])


def shown_path(path: Path) -> str:
    """Return the path as a person reads it best: from the working directory if it lies below that."""
    absolute = path.absolute()
    try:
        return str(absolute.relative_to(Path.cwd()))
    except (ValueError, OSError):  # OSError: the working directory itself is gone
        return str(absolute)


def shown_key(key: KeyPath) -> str:
    """Write a key path as `states.reach.contacts[1]`; a key that would be ambiguous so is quoted."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _PLAIN_KEY.fullmatch(part) else repr(part)
            text += f".{name}" if text else name
    return text
