"""Times of every answer, kept while a node runs and written at its end, for `multi-qp bench ros`."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np


class TimingLog:
    """Rows of numbers, one for each answer."""

    def __init__(self, path: str, columns: tuple[str, ...]) -> None:
        """Keep nothing where the path is empty."""
        self._path, self._columns, self._rows = path, columns, array("d")

    def add(self, *row: float) -> None:
        """Keep one row."""
        if self._path:
            self._rows.extend(row)

    def write(self) -> None:
        """Write the rows, (n, columns), as an npz file: one array for each column.

        Raises:
            OSError: when that is not possible.
        """
        if self._path:
            rows = np.array(self._rows).reshape(-1, len(self._columns))
            with Path(self._path).open("wb") as file:
                np.savez(file, allow_pickle=False, **dict(zip(self._columns, rows.T, strict=True)))
