"""Switches: true and false in a file, also by a parameter, which is a number."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from multi_qp_scene.schema.control import CollisionPairSpec


@pytest.mark.parametrize(
    ("written", "meant"), [(True, True), (False, False), (1, True), (0, False), (1.0, True), (0.0, False)]
)
def test_numbers_one_and_zero_are_true_and_false(written: float, meant: bool) -> None:
    assert CollisionPairSpec(bodies=("a", "b"), damper=written).damper is meant


@pytest.mark.parametrize("written", [0.5, 2, -1, "1", "true", "yes", None, [1]])
def test_nothing_else_is(written: object) -> None:
    with pytest.raises(ValidationError):
        CollisionPairSpec(bodies=("a", "b"), damper=written)
