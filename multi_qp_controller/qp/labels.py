"""Names for the variables and rows of a quadratic program, cheap enough for every control tick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["variable", "bound", "equality", "inequality"]
"""What an index counts: a variable, the bound on a variable, an equality row, an inequality row."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows (or variables) that mean the same thing for different joints, axes, pairs.

    Blocks are made once and shared by reference between ticks; a name is only put together when
    somebody asks.

    Attributes:
        name: what every row of the block is, such as "dynamics" or "no slip left_foot".
        unit: SI unit of the row (of the variable), such as "N m".
        rows: one short string a row, such as "humanoid/R_KNEE_P" or "angular x".
        limit: blocks of variables only: what a bound on the variable is called, such as "torque limit".
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
    """Names of the variables, equality rows and inequality rows of a problem, in the order of its arrays.

    Attributes:
        variables: blocks that add up to the n variables; they name the bounds too.
        equalities: blocks that add up to the m rows of A.
        inequalities: blocks that add up to the p rows of C.
    """

    variables: tuple[Block, ...] = ()
    equalities: tuple[Block, ...] = ()
    inequalities: tuple[Block, ...] = ()

    def name(self, kind: Kind, index: int) -> str:
        """Return the name of one variable, bound or row; "<kind> <index>" where no block covers it."""
        found = self._find(kind, index)
        if found is None:
            return f"{kind} {index}"
        block, offset = found
        return block.bound(offset) if kind == "bound" else block.row(offset)

    def unit(self, kind: Kind, index: int) -> str:
        """Return the SI unit of one variable or row, empty where no block covers it."""
        found = self._find(kind, index)
        return "" if found is None else found[0].unit

    def names(self, kind: Kind, count: int) -> list[str]:
        """Return the names of the first `count` variables, bounds or rows."""
        return list(self._walk(kind, count))

    def _blocks(self, kind: Kind) -> tuple[Block, ...]:
        if kind == "equality":
            return self.equalities
        return self.inequalities if kind == "inequality" else self.variables

    def _find(self, kind: Kind, index: int) -> tuple[Block, int] | None:
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
