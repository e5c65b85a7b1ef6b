"""Templates of scenario files: expansion and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import find_resource, scenario_names, scenario_path
from multi_qp_scene.templates import template, use_templates
from multi_qp_scene.yaml_document import YamlDocument

NAMES = sorted(path.stem for path in find_resource("config/templates").glob("*.yaml"))
SHIPPED = {name: scenario_path(name).read_text() for name in scenario_names()}


def expanded(text: str) -> tuple[dict, list[str]]:
    problems = Problems()
    data = use_templates(YamlDocument.parse(text, path=Path("s.yaml")), problems).data
    return data, [str(problem) for problem in problems]


@pytest.mark.parametrize("name", NAMES)
def test_each_template_is_used_several_times_and_uses_its_arguments(name: str) -> None:
    found = template(name)
    assert found.arguments
    for argument in found.arguments:
        assert f"${{{argument}}}" in str(found.body)
    used = [text for text in [*SHIPPED.values(), *(str(template(other).body) for other in NAMES)]]
    assert sum(text.count(f"use: {name},") + text.count(f"use: {name}\n") for text in used) >= 2


def test_arguments_are_substituted_and_other_keys_override() -> None:
    data, problems = expanded("t: {use: over_feet, with: {who: [a, b]}, weight: 3}\n")
    assert not problems
    feet = {"over_contacts": ["left_foot", "right_foot"]}
    assert data["t"] == {
        "type": "com", "subsystems": ["a", "b"], "axes": ["x", "y"], "target": feet, "weight": 3, "stiffness": 10
    }  # fmt: skip


def test_templates_may_be_nested_and_parameters_remain() -> None:
    data, problems = expanded('s: {use: reach, with: {next: close, target: {position: [0, 0, "${height}"]}}}\n')
    assert not problems
    assert data["s"]["tasks"]["hand"]["frame"] == "humanoid/right_grip"
    assert data["s"]["tasks"]["hand"]["target"] == {"position": [0, 0, "${height}"]}
    assert data["s"]["transitions"] == [{"to": "close", "when": {"type": "task", "task": "hand", "error": 0.02}}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{use: over_feat, with: {who: [a]}}", "unknown template 'over_feat'; did you mean 'over_feet'?"),
        ("{use: over_feet, with: {whom: [a]}}", "template 'over_feet': unknown argument 'whom'; did you mean 'who'?"),
        ("{use: over_feet}", "template 'over_feet': `with` has to give who"),
        ("{use: over_feet, with: [a]}", "expected `with` to be a mapping that gives who"),
    ],
)
def test_errors(text: str, said: str) -> None:
    _, problems = expanded(f"description: x\ntasks:\n  balance: {text}\n")
    assert len(problems) == 1 and problems[0].startswith(f"s.yaml:3: tasks.balance.use: {said}"), problems
