"""Contacts that pull: a box hangs below a ceiling."""

from __future__ import annotations

import pytest

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import run_scenario

#: Weight of the box [N].
WEIGHT = 3.0 * 9.81
SCENE = """\
description: a box below a ceiling
subsystems: {box: {model: box, pose: {xyz: [0, 0, 0.89]}}}
environment: {ceiling: {box: [1, 1, 0.2], pose: {xyz: [0, 0, 1.1]}}}
contacts: {hold: {surfaces: [box/top, ceiling/bottom], grip: GRIP}}
initial_state: hang
states: {hang: {contacts: [hold], hold: 0.5}}
"""


@pytest.fixture
def load(tmp_path):
    def make(grip):
        (tmp_path / "scene.yaml").write_text(SCENE.replace("GRIP", str(grip)))
        return load_scenario(tmp_path / "scene.yaml")

    return make


@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
@pytest.mark.parametrize("formulation", ["condensed", "reduced", "full"])
def test_it_bears_up_to_its_grip(load, backend, formulation):
    log = run_scenario(load(1.5 * WEIGHT), backend=backend, formulation=formulation).log
    assert log.q[-1, 2] == pytest.approx(0.89, abs=1e-3)
    assert -log.contact_wrench[-1, 0, 2] == pytest.approx(-WEIGHT, rel=0.02)


@pytest.mark.parametrize("formulation", ["condensed", "full"])
def test_no_solution_pulls_with_more(load, formulation):
    report = run_scenario(load(0.9 * WEIGHT), formulation=formulation).report
    assert report["qp_failures"] == report["ticks"]
