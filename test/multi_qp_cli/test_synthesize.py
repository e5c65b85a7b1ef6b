"""The command `multi-qp synthesize`."""

import json

import pytest

from multi_qp_cli.main import BAD_INPUT, GOALS_MISSED, SUCCESS, main
from multi_qp_scene.resources import scenario_path


def test_a_scenario_without_behaviour_is_bad_input(capsys):
    assert main(["synthesize", "box"]) == BAD_INPUT
    assert "box has no `behaviour`" in capsys.readouterr().err


def test_the_number_of_seeds_is_checked(capsys):
    assert main(["synthesize", "walk_to", "--seeds", "0"]) == BAD_INPUT
    assert "--seeds: expected a number from 1 to 1000, got 0" in capsys.readouterr().err


def test_characters_that_both_may_be_touched_are_not_refined(tmp_path, capsys):
    text = scenario_path("on_back").read_text().replace("  refine: true\n", "  touchable: [sacrum]\n")
    file = tmp_path / "both.yaml"
    file.write_text(text)
    assert main(["synthesize", str(file), "--refine"]) == BAD_INPUT
    assert "two characters that may touch each other are not refined" in capsys.readouterr().err


@pytest.mark.slow
def test_all_outputs_are_written(tmp_path, capsys):
    files = {option: tmp_path / f"out.{end}" for option, end in
             {"json": "json", "output": "npz", "plot": "png", "video": "gif"}.items()}  # fmt: skip
    arguments = [text for option, path in files.items() for text in (f"--{option}", str(path))]
    assert main(["synthesize", "walk_to", *arguments]) == SUCCESS
    assert all(path.stat().st_size > 1000 for path in files.values())
    data = json.loads(files["json"].read_text())
    assert data["passed"] == 1 and data["motions"][-1]["audit"]["flight"]["value"] == 0.0
    assert "1 of 1 motions pass the audit" in capsys.readouterr().out


HUMANOID = """
description: an impossible behaviour
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: {ground: {model: ground}, wall: {box: [0.4, 3.0, 3.0], pose: {xyz: [1.2, 0, 1.5]}}}
behaviour:
  character: humanoid
  posture: half_sitting
  effectors: {left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}
  phases: 4
  starts: 1
  terms: [{type: position, target: [0, 0, 10]}]
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["[0, 0, 10]", "[1.2, 0]"], ids=["10 m up", "inside a wall"])
def test_an_impossible_behaviour_says_what_it_misses(tmp_path, capsys, target):
    path = tmp_path / "impossible.yaml"
    path.write_text(HUMANOID.replace("[0, 0, 10]", target))
    assert main(["synthesize", str(path)]) == GOALS_MISSED
    output = " ".join(capsys.readouterr().out.split())
    assert "0 of 1 motions pass the audit" in output and "largest costs: " in output and "not met" in output
    assert "task terms that are not met: position: centre of mass, end of phase 4, off by " in output


def test_a_character_without_patches_is_bad_input(tmp_path, capsys):
    path = tmp_path / "none.yaml"
    path.write_text(HUMANOID.replace("{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}", "{}"))
    assert main(["synthesize", str(path)]) == BAD_INPUT
    assert "none.yaml:9: behaviour.effectors: expected a mapping of names" in capsys.readouterr().err
