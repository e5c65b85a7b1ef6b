"""Labels of the variables and rows of a quadratic program, evaluated on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["variable", "bound", "equality", "inequality"]
"""Kind of an index: a variable, the bound on a variable, an equality row or an inequality row."""


@dataclass(frozen=True, slots=True)
class LabelBlock:
    """Labels of consecutive rows or variables with the same meaning for different joints, axes or pairs.

    Blocks are created once and shared between ticks; names are composed on demand.

    Attributes:
        name: common name of the rows, such as "dynamics" or "no slip left_foot".
        unit: SI unit of the rows or variables, such as "N m".
        rows: one short string per row, such as "humanoid/R_KNEE_P" or "angular x".
        limit: name of the bounds, for blocks of variables only, such as "torque limit".
    """

    name: str
    unit: str
    rows: tuple[str, ...]
    limit: str = ""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def row(self, index: int) -> str:
        """Return the name of one row, such as "dynamics humanoid/R_KNEE_P"."""
        return f"{self.name} {self.rows[index]}".strip()

    def bound(self, index: int) -> str:
        """Return the name of the bound on one variable, such as "torque limit humanoid/R_KNEE_P"."""
        return f"{self.limit or f'bound on {self.name}'} {self.rows[index]}".strip()


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of the variables, equality rows and inequality rows of a problem, in the order of its arrays.

    Attributes:
        variables: blocks with n variables in total; they also label the bounds.
        equalities: blocks with m rows in total.
        inequalities: blocks with p rows in total.
    """

    variables: tuple[LabelBlock, ...] = ()
    equalities: tuple[LabelBlock, ...] = ()
    inequalities: tuple[LabelBlock, ...] = ()

    def name(self, kind: Kind, index: int) -> str:
        """Return the name of one variable, bound or row; "<kind> <index>" without a block."""
        found = self._find(kind, index)
        if found is None:
            return f"{kind} {index}"
        block, offset = found
        return block.bound(offset) if kind == "bound" else block.row(offset)

    def unit(self, kind: Kind, index: int) -> str:
        """Return the SI unit of one variable or row, empty without a block."""
        found = self._find(kind, index)
        return "" if found is None else found[0].unit

    def names(self, kind: Kind, count: int) -> list[str]:
        """Return the names of the first `count` variables, bounds or rows."""
        return list(self._walk(kind, count))

    def _blocks(self, kind: Kind) -> tuple[LabelBlock, ...]:
        if kind == "equality":
            return self.equalities
        return self.inequalities if kind == "inequality" else self.variables

    def _find(self, kind: Kind, index: int) -> tuple[LabelBlock, int] | None:
        for block in self._blocks(kind):
            if index < len(block):
                return block, index
            index -= len(block)
        return None

    def _walk(self, kind: Kind, count: int) -> Iterator[str]:
        covered = 0
        for block in self._blocks(kind):
            for index in range(min(len(block), count - covered)):
                yield block.bound(index) if kind == "bound" else block.row(index)
            covered = min(covered + len(block), count)
        for index in range(covered, count):
            yield f"{kind} {index}"
