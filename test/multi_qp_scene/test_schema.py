"""The shipped files match their schemas, and invalid values are refused."""

from __future__ import annotations

import typing

import pytest
import yaml
from pydantic import ValidationError

from multi_qp_controller.qp.choice import FORMULATION_NAMES
from multi_qp_scene.config_file import YamlDocument
from multi_qp_scene.model_document import model_document
from multi_qp_scene.partial_validation import valid_part
from multi_qp_scene.resources import model_path, resource_dirs, scenario_names
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.conditions import AllConditionSpec, NotConditionSpec, TimeConditionSpec
from multi_qp_scene.schema.model_file import ModelFile
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.schema.tasks import PoseTaskSpec

MODELS = sorted({path.stem for folder in resource_dirs() for path in (folder / "config/models").glob("*.yaml")})

SMALLEST = """
description: nothing happens
subsystems: {box: {model: box}}
initial_state: only
states: {only: {}}
"""


@pytest.mark.parametrize("name", MODELS)
def test_a_shipped_model_file_fits(name):
    spec = ModelFile.model_validate(model_document(model_path(name)).data)
    assert spec.description


@pytest.mark.parametrize("name", scenario_names())
def test_a_shipped_scenario_loads_and_its_parameters_stay_in_range(name):
    scenario = load_scenario(name)
    assert scenario.name == name and scenario.spec.description
    assert scenario.spec.goals or scenario.spec.behaviour, "the terms of a behaviour are its goals"
    for parameter in scenario.spec.parameters.values():
        assert parameter.min < parameter.max and parameter.description
    for bound in ("min", "max"):
        values = {key: getattr(parameter, bound) for key, parameter in scenario.spec.parameters.items()}
        assert load_scenario(name, parameters=values).parameters == values


def test_the_smallest_scenario_has_defaults_for_the_rest():
    spec = ScenarioFile.model_validate(yaml.safe_load(SMALLEST))
    assert spec.dt == 0.005
    assert spec.solver is None
    assert spec.states["only"] == StateSpec()


def test_the_schema_lists_all_formulations():
    choices, _ = typing.get_args(ScenarioFile.model_fields["formulation"].annotation)
    assert set(typing.get_args(choices)) == set(FORMULATION_NAMES)


def test_conditions_nest():
    data = {"type": "all", "of": [{"type": "not", "of": {"type": "time", "after": 1}}]}
    condition = AllConditionSpec.model_validate(data)
    inverse = NotConditionSpec(type="not", of=TimeConditionSpec(type="time", after=1))
    assert condition == AllConditionSpec(type="all", of=[inverse])


@pytest.mark.parametrize(
    "change",
    [
        {"weight": -1.0},
        {"stiffness": float("nan")},
        {"stiffness": float("inf")},
        {"axes": ["w"]},
        {"max_speed": 0.0},
        {"target": {"position": [0.0, 0.0]}},
        {"target": {"duration": 0.0}},
        {"frame": 3},
        {"unknown": 1},
    ],
)
def test_a_task_with_a_wrong_value_is_refused(change):
    with pytest.raises(ValidationError):
        PoseTaskSpec.model_validate({"type": "pose", "frame": "box/box_link", **change})


def test_partial_validation_preserves_valid_values():
    text = SMALLEST + "dt: -1\ncontacts: {a: {surfaces: [x, y], friction: rough}, b: {surfaces: [x, y]}}\nodd: 1\n"
    document = YamlDocument.parse(text)
    rest = valid_part(document, document.data, ScenarioFile)
    assert rest is not None
    assert rest.dt == 0.005
    assert rest.contacts["a"].friction == rest.contacts["b"].friction == 0.7
    assert document.data["dt"] == -1, "the data is the caller's"


def test_partial_validation_removes_a_list_completely():
    text = SMALLEST.replace("{only: {}}", "{only: {contacts: [a, 1]}}")
    document = YamlDocument.parse(text)
    rest = valid_part(document, document.data, ScenarioFile)
    assert rest is not None and rest.states["only"].contacts == []


def test_partial_validation_returns_none_when_required_values_are_missing():
    document = YamlDocument.parse("description: 1\n")
    assert valid_part(document, document.data, ScenarioFile) is None
