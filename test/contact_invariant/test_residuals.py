"""Residuals of one instant: friction cones of patches that grip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contact_invariant.symbols import ca
from multi_qp_scene.scenario import load_scenario


@pytest.fixture(scope="module")
def hand():
    from contact_invariant.character_builder import character_of

    character = character_of(load_scenario("climb_up"))
    return replace(character.effectors[character.index("left_hand")], grip=0.5)


def violation(hand, push, slide=0.0):
    """Return the violation of the friction cone of a hand that pushes and slides, in body weights."""
    from contact_invariant.residuals import _cone

    rows = _cone(ca.DM([slide, 0.0, push, 0.0, 0.0, 0.0]), hand, friction=0.8, extent=1.0)
    return float(np.abs(np.array(ca.DM(ca.vertcat(*rows)))).max())


@pytest.mark.parametrize(("push", "slide", "wanted"), [(-0.4, 0.07, 0.0), (-0.4, 0.09, 0.01), (-0.6, 0.0, 0.1)])
def test_a_hand_that_grips_pulls_up_to_its_grip(hand, push, slide, wanted):
    assert violation(hand, push, slide) == pytest.approx(wanted, abs=2e-4)


def test_without_a_grip_it_only_pushes(hand):
    assert violation(replace(hand, grip=0.0), -0.1) == pytest.approx(0.1, abs=2e-4)
