"""Output of commands: console and files, with handling of closed pipes and write errors."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import rich.console
from rich.table import Table
from rich.text import Text

from multi_qp_scene.errors import MultiQpError, printable


class LogFormatter(logging.Formatter):
    """Formats log messages without control characters, which names from files may contain."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text."""
        return printable(super().format(record))


class Console(rich.console.Console):
    """Console that tolerates a closed pipe, as by `head`: the command continues and keeps its exit status.

    Control characters, which names from files may contain, are escaped; numbers are not coloured.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text, or a cell of a table, with its markup applied."""
        return super().render_str(printable(text), **options)

    def on_broken_pipe(self) -> None:
        """Stop printing."""
        self.quiet = True
        discard_standard_output()


def figures_table(columns: Iterable[str], *names: str, **options: Any) -> Table:
    """Return a table with columns of names, and of figures, which are aligned on the right.

    Args:
        columns: headers.
        names: headers of the columns of names.
        options: of the table, see `rich.table.Table`.
    """
    table = Table(title_justify="left", **options)
    for column in columns:
        table.add_column(column, justify="left" if column in names else "right")
    return table


def discard_standard_output() -> None:
    """Discard all further standard output, including what Python has buffered."""
    with suppress(OSError, ValueError):  # standard output is closed, or has no file descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class Failures:
    """Errors of a command's outputs, collected until all outputs have been attempted."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Store a MultiQpError of the block instead of raising it."""
        try:
            yield
        except MultiQpError as error:
            self._messages.append(str(error))

    def raise_if_any(self) -> None:
        """Raise one error with all messages, one per line."""
        if self._messages:
            raise MultiQpError("\nmulti-qp: ".join(self._messages))


def write_json(path: Path, data: Any, *, allow_nan: bool = True) -> None:
    """Write data as JSON. Raises MultiQpError as `writing`."""
    with writing(path):
        path.write_text(json.dumps(data, indent=2, allow_nan=allow_nan) + "\n", encoding="utf-8")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an error while a file is written to one message that names the file.

    Raises:
        MultiQpError: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise MultiQpError(f"cannot write '{path}': {error.strerror or error}") from None
