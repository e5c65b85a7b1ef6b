"""Exceptions of the project, and locations of errors in configuration files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

KeyPath = tuple[str | int, ...]
"""Path from the top of a file to one value: text for a mapping's key, an integer for a list's item."""

#: Control characters (C0 without tab and line feed, C1, bidirectional controls) and surrogates.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"""[^\s.:\[\]"']+""")


def printable(text: str) -> str:
    """Return text with control characters escaped, safe to show on a terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class MultiQpError(Exception):
    """Base of all exceptions of this project; the message is safe to print, whatever text it quotes."""

    def __str__(self) -> str:
        """The message, without control characters."""
        return printable(super().__str__())


class KeyedError(MultiQpError):
    """Value of a scenario that does not fit its scene.

    Attributes:
        key: path of the value in the scenario file.
        reason: message without the key.
    """

    def __init__(self, key: KeyPath, reason: str) -> None:
        """Store key and reason; the message is formatted on demand."""
        self.key, self.reason = key, reason
        super().__init__(key, reason)

    def __str__(self) -> str:
        """`<key>: <reason>`."""
        return printable(f"{shown_key(self.key)}: {self.reason}")


class ArgumentError(MultiQpError, ValueError):
    """Invalid argument of a function."""


@dataclass(frozen=True)
class Location:
    """Location in a configuration file.

    Attributes:
        file: the file, or None for text that is not from a file.
        line: line number, counted from 1, or None if the error concerns the whole file.
        key: path of the value from the top of the file, `()` for the top itself.
    """

    file: Path | None = None
    line: int | None = None
    key: KeyPath = ()

    def __str__(self) -> str:
        """`config/scenarios/box.yaml:12: states.reach.contacts[1]`, without unknown parts."""
        place = ""
        if self.file is not None:
            place = shown_path(self.file)
            if self.line is not None:
                place += f":{self.line}"
        elif self.line is not None:
            place = f"line {self.line}"
        return ": ".join(part for part in (place, shown_key(self.key)) if part)


@dataclass(frozen=True)
class ConfigProblem:
    """One error in a configuration file."""

    location: Location
    message: str

    def __str__(self) -> str:
        """`<file>:<line>: <key>: <message>`."""
        place = str(self.location)
        return f"{place}: {self.message}" if place else self.message


class ConfigError(MultiQpError):
    """Invalid configuration file; contains all errors found, not only the first.

    Attributes:
        problems: the errors, in the order of the file.
        more: number of further errors that are not listed.
    """

    def __init__(self, problems: Iterable[ConfigProblem], more: int = 0) -> None:
        """Store the errors; the message is formatted on demand."""
        self.problems: tuple[ConfigProblem, ...] = tuple(problems)
        self.more = more
        super().__init__(self.problems, more)

    def __str__(self) -> str:
        """A line with the count, then one line per error."""
        count = len(self.problems)
        headline = "1 problem:" if count == 1 else f"{count} problems:"
        if self.more:
            headline = f"{count + self.more} problems, of which {count} are listed:"
        return printable("\n".join([headline, *(str(problem) for problem in self.problems)]))


def shown_path(path: Path) -> str:
    """Return a path for messages: relative to the working directory if it is below it."""
    absolute = path.absolute()
    try:
        return str(absolute.relative_to(Path.cwd()))
    except (ValueError, OSError):  # OSError: the working directory was removed
        return str(absolute)


def shown_key(key: KeyPath) -> str:
    """Write a key path as `states.reach.contacts[1]`; an ambiguous key is quoted."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _PLAIN_KEY.fullmatch(part) else repr(part)
            text += f".{name}" if text else name
    return text
