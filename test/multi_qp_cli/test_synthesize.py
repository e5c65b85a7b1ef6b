"""The command `multi-qp synthesize`."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from multi_qp_cli.main import BAD_INPUT, GOALS_MISSED, SUCCESS, main
from multi_qp_cli.plan_command import with_plan
from multi_qp_ros.parameters import load
from multi_qp_scene.errors import ConfigError
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


@pytest.fixture
def stands(tmp_path, monkeypatch):
    """Return the file of a humanoid that stands for two phases, which is made in a second."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "stands.yaml"
    terms = "terms: [{type: stand, feet: [left_foot, right_foot]}]"
    text = HUMANOID.replace("terms: [{type: position, target: [0, 0, 10]}]", terms)
    path.write_text(text.replace("phases: 4", "phases: 2").replace(", wall: {box: [0.4, 3.0, 3.0], pose: {", "#"))
    path.write_text(path.read_text().replace("#xyz: [1.2, 0, 1.5]}}", ""))
    return path


def test_what_it_makes_is_carried_out_by_run(stands, capsys):
    assert main(["synthesize", str(stands)]) == SUCCESS
    assert f"stored:`multi-qprun{stands}`" in "".join(capsys.readouterr().out.split())  # lines are wrapped
    assert main(["run", str(stands), "--headless"]) == SUCCESS
    assert "the motion of an earlier synthesis is used" in capsys.readouterr().err
    assert main(["synthesize", str(stands), "--seeds", "1", "--jobs", "1"]) == SUCCESS  # perhaps not what `run` makes
    assert "stored" not in capsys.readouterr().out


def test_a_motion_that_cannot_be_stored_is_carried_out(stands, tmp_path, monkeypatch, capsys, caplog):
    (tmp_path / "cache").write_text("a file")
    assert main(["run", str(stands), "--headless"]) == SUCCESS
    assert "goals reached" in capsys.readouterr().out
    assert "cannot store the motion in" in caplog.text and "Not a directory" in caplog.text


def test_a_folder_in_place_of_a_stored_motion_leaves_no_partial_file(stands, tmp_path, capsys, caplog):
    assert main(["synthesize", str(stands)]) == SUCCESS
    (stored,) = (tmp_path / "cache").rglob("*.npz")
    stored.unlink()
    stored.mkdir()
    capsys.readouterr()
    assert main(["synthesize", str(stands)]) == SUCCESS
    assert "Is a directory" in caplog.text and "stored" not in capsys.readouterr().out
    assert list(stored.parent.iterdir()) == [stored]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_it(stands, number):
    stands.write_text(stands.read_text().replace("phases: 2", "phases: 20"))
    command = [sys.executable, "-m", "multi_qp_cli", "synthesize", str(stands), "--seeds", "4", "--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

    def members():
        listed = subprocess.run(["ps", "-e", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in listed.splitlines()]
        return sum(int(group) == process.pid and not state.startswith("Z") for group, state in rows)

    def until(condition):
        deadline = time.monotonic() + 60.0
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert condition()

    until(lambda: members() >= 3 or process.poll() is not None)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)  # both pipes are closed: no worker has them open
    assert process.returncode == GOALS_MISSED and error.decode().splitlines()[-1] == "multi-qp: interrupted"
    until(lambda: members() == 0)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="without a folder that nothing can be written to")
def test_outputs_that_cannot_be_written_are_refused_before_the_work(stands, capsys):
    assert main(["synthesize", str(stands), "--picture", "/proc/none.png"]) == BAD_INPUT
    assert "--picture: cannot write '/proc/none.png'" in capsys.readouterr().err


def test_jobs_are_counted_from_one(stands, capsys):
    assert main(["synthesize", str(stands), "--jobs", "0"]) == BAD_INPUT
    assert "--jobs: expected 1 or above, got 0" in capsys.readouterr().err


def test_a_scene_that_does_not_fit_is_named_with_file_and_line(stands, capsys):
    text = stands.read_text()
    stands.write_text(text.replace("environment: {ground: {model: ground}}\n", "").replace(
        "place: {surfaces: [left_sole, right_sole], onto: ground/floor}", "pose: {xyz: [0, 0, 1]}"))  # fmt: skip
    for command in (["check"], ["synthesize"], ["run", "--headless"]):
        assert main([*command, str(stands)]) == BAD_INPUT
        error = capsys.readouterr().err
        assert "stands.yaml:5: behaviour: the surroundings have no planar surface" in error, command
    with pytest.raises(ConfigError, match="stands.yaml:5: behaviour: the surroundings"):  # a node of ROS
        load({"scenario": str(stands), "set": "", "seed": 0})


def test_check_says_what_is_in_contact_at_the_start(stands, capsys):
    assert main(["check", str(stands)]) == SUCCESS
    assert "effector left_foot: in contact at the start, 0.0 mm from ground/floor" in capsys.readouterr().out
    placed = "place: {surfaces: [left_sole, right_sole], onto: ground/floor}"
    stands.write_text(stands.read_text().replace(placed, "pose: {xyz: [0, 0, 1.5]}"))
    for command in ("check", "synthesize"):
        assert main([command, str(stands)]) == BAD_INPUT
        error = capsys.readouterr().err
        assert "behaviour.effectors: none is in contact in the start pose; 'left_foot' is 0.7" in error, command


def test_what_a_generated_motion_misses_is_in_headline_and_report(stands, tmp_path, monkeypatch, capsys):
    assert main(["synthesize", str(stands)]) == SUCCESS
    monkeypatch.setattr("multi_qp_cli.run_command.with_plan", lambda scenario: (with_plan(scenario)[0], "it leans"))
    report = tmp_path / "report.json"
    assert main(["run", str(stands), "--headless", "--report", str(report)]) == GOALS_MISSED
    assert "goals reached, but it leans; completed" in capsys.readouterr().out
    assert json.loads(report.read_text())["incomplete"] == "it leans"
