"""Names of formulation and solver: defaults, and pairs that do not fit."""

from __future__ import annotations

import pytest

from multi_qp_controller.controller import Controller
from multi_qp_controller.qp.choice import choose
from multi_qp_scene.errors import MultiQpError


@pytest.mark.parametrize(
    ("chosen", "default", "expected"),
    [
        ((None, None), (None, None), ("condensed", "active_set")),
        ((None, "daqp"), (None, None), ("reduced", "daqp")),
        ((None, "active_set"), (None, None), ("condensed", "active_set")),
        (("full", None), (None, None), ("full", "daqp")),
        (("condensed", None), (None, None), ("condensed", "active_set")),
        (("full", "quadprog"), (None, None), ("full", "quadprog")),
        ((None, None), ("full", "piqp"), ("full", "piqp")),
        ((None, None), (None, "piqp"), ("reduced", "piqp")),
        ((None, "quadprog"), ("full", "piqp"), ("full", "quadprog")),
        (("reduced", None), ("full", "piqp"), ("reduced", "piqp")),
        ((None, "quadprog"), ("condensed", "active_set"), ("reduced", "quadprog")),
        (("condensed", None), ("full", "piqp"), ("condensed", "active_set")),
    ],
)
def test_missing_names_are_replaced_by_those_that_fit(chosen, default, expected):
    assert choose(chosen, default) == expected


@pytest.mark.parametrize("pair", [("condensed", "quadprog"), ("reduced", "active_set")])
def test_a_pair_that_does_not_fit_is_refused(scenario, pair):
    formulation, solver = pair
    message = f"formulation '{formulation}' with solver '{solver}': 'condensed' is solved by 'active_set' only, full"
    with pytest.raises(MultiQpError, match=message):
        Controller(scenario, formulation=formulation, solver=solver)


def test_unknown_names_are_refused(scenario):
    with pytest.raises(MultiQpError, match="unknown solver 'quadprogg'; did you mean 'quadprog'?"):
        Controller(scenario, solver="quadprogg")
    with pytest.raises(MultiQpError, match="unknown formulation 'fuller'; did you mean 'full'?"):
        Controller(scenario, formulation="fuller")
