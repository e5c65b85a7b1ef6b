"""State of components that have components."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from multi_qp_scene.stateful import Stateful


class Part(Stateful):
    """Component of `Whole`."""

    @dataclass(frozen=True)
    class Checkpoint:
        """Its state."""

        count: int

    def __init__(self, count: int) -> None:
        self.count = count


class Whole(Stateful):
    """Component with a component."""

    @dataclass(frozen=True)
    class Checkpoint:
        """Its state."""

        time: float
        part: Part.Checkpoint | None

    def __init__(self, time: float, part: Part | None) -> None:
        self.time, self.part = time, part


def test_parts_are_restored_in_place():
    whole, part = Whole(1.0, Part(3)), Part(0)
    other = Whole(0.0, part)
    other.set_state(whole.get_state())
    assert (other.time, part.count) == (1.0, 3) and other.part is part
    whole.part.count = 7
    assert part.count == 3


def test_a_state_that_lacks_a_part_is_refused():
    with pytest.raises(ValueError, match="the saved state has no part"):
        Whole(0.0, Part(0)).set_state(Whole(1.0, None).get_state())
