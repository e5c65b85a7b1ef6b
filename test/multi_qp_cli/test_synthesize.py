"""The command `multi-qp synthesize`."""

import json

import pytest

from multi_qp_cli.main import BAD_INPUT, GOALS_MISSED, SUCCESS, main


def test_a_scenario_without_behaviour_is_bad_input(capsys):
    assert main(["synthesize", "box"]) == BAD_INPUT
    assert "box has no `behaviour`" in capsys.readouterr().err


def test_the_number_of_seeds_is_checked(capsys):
    assert main(["synthesize", "walk_to", "--seeds", "0"]) == BAD_INPUT
    assert "--seeds: expected a number from 1 to 1000, got 0" in capsys.readouterr().err


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


@pytest.mark.slow
def test_an_impossible_behaviour_says_what_it_misses(tmp_path, capsys):
    path = tmp_path / "fly.yaml"
    path.write_text("""
description: a place in the air
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: {ground: {model: ground}}
behaviour:
  character: humanoid
  posture: half_sitting
  effectors: {left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}
  phases: 4
  starts: 1
  terms: [{type: position, target: [0, 0, 10]}]
""")
    assert main(["synthesize", str(path)]) == GOALS_MISSED
    output = capsys.readouterr().out
    assert "0 of 1 motions pass the audit" in output and "largest costs: " in output and "not met" in output
