"""Settings of motion generators: numbers that a user may change while a generator runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """A number that a user may change during a run.

    Attributes:
        value: its value before the first change.
        minimum: smallest valid value.
        maximum: largest valid value.
        description: one line.
        unit: unit, "" if it has none.
    """

    value: float
    minimum: float
    maximum: float
    description: str
    unit: str = ""

    def label(self, generator: str, name: str) -> str:
        """Return the label of a slider: generator, name and unit."""
        return f"{generator}: {name.replace('_', ' ')}{f' [{self.unit}]' if self.unit else ''}"
