"""Tests of `multi-qp table` and `multi-qp plot`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from multi_qp_cli.main import main
from multi_qp_cli.paper_table import SCENES, TABLE_1
from multi_qp_scene.resources import scenario_names

COUNTS = ("subsystems", "dofs", "actuated_dofs", "planar_contact_points", "grasp_contact_points", "collision_pairs")
KEYS = {"scene", *COUNTS, "variables", "equalities", "inequalities", "tick_ms", "dt_ms"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Return a folder with report and log of the shortest scene, as written by `table --save`."""
    folder = tmp_path_factory.mktemp("table") / "runs"
    assert main(["table", "sword", "--save", str(folder)]) == 0
    return folder


def test_table_has_every_scene_of_the_paper():
    assert set(SCENES) <= set(scenario_names())
    assert set(TABLE_1) < set(SCENES)
    for column in TABLE_1.values():
        assert column.keys() == KEYS
        contacts = (column["planar_contact_points"] + column["grasp_contact_points"]) // 4
        assert column["variables"] == column["dofs"] + column["actuated_dofs"] + 16 * contacts
        assert column["equalities"] == column["dofs"] + 12 * contacts


def test_json_contains_our_figures_and_those_of_the_paper(runs, capsys):
    assert main(["table", "--from", str(runs), "--json"]) == 0
    captured = capsys.readouterr()
    (sword,) = json.loads(captured.out)
    assert captured.err == ""
    assert sword.keys() == KEYS | {"paper"}
    assert sword["paper"] == TABLE_1["sword"]
    assert [sword[key] for key in (*COUNTS, "variables", "equalities")] == [3, 78, 60, 16, 8, 33, 234, 150]
    assert 0.0 < sword["tick_ms"]["min"] <= sword["tick_ms"]["median"] <= sword["tick_ms"]["max"]
    assert sword["dt_ms"] == pytest.approx(10.0)


def test_table_is_markdown_with_the_paper_in_parentheses(runs, capsys):
    assert main(["table", "sword", "--from", str(runs)]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in lines}
    assert cells["here (paper)"] == "sword"
    assert cells["QP variables"] == "234 (234)" and cells["equalities"] == "150 (150)"
    assert cells["Δt [ms]"] == "10 (10)"
    assert cells["goals reached"] == "yes" and cells["QP failures"] == "0"
    assert set(lines[1]) == {"|", "-", " "} and len({len(line) for line in lines}) == 1


def test_status_is_1_if_a_scene_does_not_reach_its_goals(runs, tmp_path, capsys):
    report = json.loads((runs / "sword.json").read_text())
    report["goals"]["torso"]["reached"] = False
    (tmp_path / "sword.json").write_text(json.dumps(report))
    (tmp_path / "notes.json").write_text('{"other": "file"}')
    assert main(["table", "--from", str(tmp_path)]) == 1
    assert "NO" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "kin"], "SCENE: unknown scenario 'kin'; did you mean 'king'?"),
        (["table", "--from", "nowhere"], "--from: expected a folder with reports, got 'nowhere'"),
        (["table", "--from", "."], "--from: there is no report"),
        (["table", "--from", ".", "--save", "x"], "--save cannot be combined with --from"),
        (["plot", "text.npz", "--output", "x.png"], "'text.npz' is not a log"),
        (["plot", "other.npz", "--output", "x.png"], "'other.npz' contains no 'time'"),
        (["plot", "nowhere.npz", "--output", "x.png"], "'nowhere.npz' cannot be read: No such file"),
        (["plot", "text.npz", "--output", "x.pdf"], "--output: expected a file ending in .png or .svg, got 'x.pdf'"),
    ],
)
def test_invalid_arguments_give_one_line_and_status_2(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.npz").write_text("not an archive")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out


@pytest.mark.parametrize("over", ["time", "size"])
def test_plots_are_drawn_from_logs(over, runs, tmp_path):
    log = str(runs / "sword.npz")
    assert main(["plot", log, log, "--over", over, "--output", str(tmp_path / "p.png")]) == 0
    with Image.open(tmp_path / "p.png") as picture:
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
    # both colours exactly, in the vector file: pixels of thin lines are antialiased
    assert main(["plot", log, log, "--over", over, "--output", str(tmp_path / "two.svg")]) == 0
    drawn = (tmp_path / "two.svg").read_text().lower()
    assert all(colour in drawn for colour in ("#2a6fb0", "#c23b22")), "tick times, and what they are compared with"
    assert main(["plot", log, "--over", over, "--output", str(tmp_path / "p.svg")]) == 0
    svg = (tmp_path / "p.svg").read_text()
    assert "sword" in svg
    assert over == "size" or all(state in svg for state in ("guard", "torso", "shoulder", "recover"))
