"""The reference page of the file formats is generated from the schema, and describes every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.schema.model_file import ModelFile
from multi_qp_scene.schema.reference import descriptions, models_of, reference
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_simulator.runner import run_scenario

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenario_format.md"
MODELS = [*models_of(ScenarioFile), *models_of(ModelFile)]


def example() -> str:
    return re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]


def test_the_committed_page_is_the_generated_one():
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run: python -m multi_qp_scene.schema.reference > docs/scenario_format.md"
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_described_and_nothing_else(model):
    assert list(model.model_fields) and set(descriptions(model)) == set(model.model_fields)
    assert all(descriptions(model).values())


def test_links_within_the_page_resolve():
    page = reference()
    anchors = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= anchors


def test_the_example_runs_and_reaches_its_goal(tmp_path):
    path = tmp_path / "shift.yaml"
    path.write_text(example(), encoding="utf-8")
    result = run_scenario(load_scenario(path))
    assert result.succeeded, result.report
    assert result.report["qp_failures"] == 0
    assert result.report["worst"]["contact_slip_m"] < 1e-3


def test_the_example_is_steerable_by_hand(tmp_path):
    path = tmp_path / "shift.yaml"
    path.write_text(example(), encoding="utf-8")
    controller = Controller(load_scenario(path))
    command = controller.step(controller.scenario.scene.initial_state(), 0.0)
    assert set(command.wrenches) == {"left_foot", "right_foot"}
