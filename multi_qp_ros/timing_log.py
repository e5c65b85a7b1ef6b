"""Log of the times of every command, written at the end of a node, for `multi-qp bench ros`."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from multi_qp_scene.errors import MultiQpError


class TimingLog:
    """Table of numbers with one row for each command."""

    def __init__(self, path: str, columns: tuple[str, ...]) -> None:
        """Create an empty table; nothing is recorded if the path is empty."""
        self._path, self._columns, self._rows = path, columns, array("d")

    def add(self, *row: float) -> None:
        """Record one row."""
        if self._path:
            self._rows.extend(row)

    def write(self) -> None:
        """Write the rows, (n, columns), as an npz file: one array for each column.

        Raises:
            MultiQpError: when the file cannot be written.
        """
        if not self._path:
            return
        rows = np.array(self._rows).reshape(-1, len(self._columns))
        try:
            with Path(self._path).open("wb") as file:
                np.savez(file, allow_pickle=False, **dict(zip(self._columns, rows.T, strict=True)))
        except OSError as error:
            raise MultiQpError(f"cannot write '{self._path}': {error.strerror}") from None
