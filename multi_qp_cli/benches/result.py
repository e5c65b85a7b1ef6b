"""Result of a benchmark: tables, data, and a plot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: By header, the cell of a result.
Columns = Mapping[str, Callable[[Any], str]]


@dataclass(frozen=True)
class BenchTable:
    """Table of results.

    Attributes:
        title: title above the table.
        columns: headers.
        rows: cells as text.
        note: note below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    @classmethod
    def of(cls, title: str, columns: Columns, results: Iterable[Any], note: str) -> BenchTable:
        """Return a table with a row for each result."""
        return cls(title, tuple(columns), [[cell(result) for cell in columns.values()] for result in results], note)


@dataclass(frozen=True)
class BenchResult:
    """Result of a benchmark.

    Attributes:
        tables: printed tables.
        data: for `--json`: dictionaries, lists, strings and numbers.
        draw: draws into a matplotlib figure, for `--plot`; None without a plot.
    """

    tables: Sequence[BenchTable]
    data: dict[str, Any]
    draw: Callable[[Any], None] | None = field(default=None)


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return count, median, 99th percentile, interquartile range and maximum of some times [ms]."""
    times = np.asarray(milliseconds, dtype=float)
    if not len(times):
        return {"count": 0}
    low, median, high, p99 = np.percentile(times, [25.0, 50.0, 75.0, 99.0])
    return {
        "count": len(times),
        "median": float(median),
        "p99": float(p99),
        "iqr": float(high - low),
        "max": float(times.max()),
    }
