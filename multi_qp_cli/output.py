"""Where commands write to: standard output, which a reader may leave early, and files, which may not be writable."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import rich.console

from multi_qp_scene.errors import MultiQpError


class Console(rich.console.Console):
    """A console whose reader may leave, as `head` does: the command goes on to its end and keeps its exit status."""

    def on_broken_pipe(self) -> None:
        """Print nothing more."""
        self.quiet = True
        discard_standard_output()


def discard_standard_output() -> None:
    """Send what is still to be printed nowhere: also what Python holds back until it exits."""
    with suppress(OSError, ValueError):  # a standard output that is closed, or that has no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is written into one message that names it.

    Raises:
        MultiQpError: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise MultiQpError(f"cannot write '{path}': {error.strerror or error}") from None
