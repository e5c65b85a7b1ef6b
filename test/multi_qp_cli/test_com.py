import json

import numpy as np
import pytest

from multi_qp_cli.main import main
from multi_qp_scene.resources import sequence_names
from multi_qp_scene.sequence_file import load_contact_sequence


def test_sequence_is_planned_printed_written_and_plotted(tmp_path, capsys):
    plot, data = tmp_path / "chair.png", tmp_path / "chair.json"
    assert main(["com", "chair", "--plot", str(plot), "--json", str(data), "--step", "0.05"]) == 0
    output = capsys.readouterr().out
    assert "(1) holds" in output
    assert "margin" in output
    assert plot.stat().st_size > 10_000
    found = json.loads(data.read_text())
    assert np.shape(found["position"]) == (len(found["time"]), 3)
    assert len(found["phase_ends"]) == 11


@pytest.mark.parametrize("name", [n for n in sequence_names() if n not in ("chair", "wall")])
def test_shipped_sequences_satisfy_1_and_4(name, capsys):
    assert main(["com", name, "--step", "0.05"]) == 0, capsys.readouterr().out


def test_a_sequence_without_a_static_solution_is_an_error_unless_the_curve_is_dynamic(capsys):
    assert main(["com", "wall", "--step", "0.05"]) == 1
    assert "transition 4: no static equilibrium" in " ".join(capsys.readouterr().out.split())
    assert main(["com", "wall", "--step", "0.05", "--dynamic"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stares"], "did you mean 'stairs'"),
        (["stairs", "--cost", "neerest"], "did you mean 'nearest'"),
        (["stairs", "--point", "1=2,3"], "expected N=X,Y,Z"),
        (["stairs", "--point", "77=1,2,3"], "no transition 77"),
        (["stairs", "--step", "0"], "--step"),
        (["stairs", "--plot", "x.txt"], "--plot"),
        (["stairs", "--subsystem", "wolker"], "walker"),
    ],
)
def test_invalid_arguments_give_one_line(arguments, words, capsys):
    assert main(["com", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.slow
def test_table_3_is_at_least_as_good_as_the_paper(tmp_path, capsys):
    path = tmp_path / "tables.json"
    assert main(["com", "tables", "--table", "3", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["3"]
    assert rows.pop("climbing cubes")["paper"] is None  # a scene of ours
    assert len(rows) == 6
    for row in rows.values():
        assert row["empirical"] >= row["paper"]
        assert row["feasible"] >= row["paper"]
        assert row["dynamic"] >= row["paper"]
    assert "climbing" in capsys.readouterr().out


def test_table_2_has_the_figures_of_the_paper_and_ours(tmp_path, capsys):
    path = tmp_path / "tables.json"
    assert main(["com", "tables", "--table", "2", "--json", str(path)]) == 0
    assert list(json.loads(path.read_text())["2"]) == ["1", "2", "3", "4", "5", "6"]
    assert "68.19" in capsys.readouterr().out


def test_sequences_cover_the_scenes_of_the_paper():
    names = {"level_walking", "stairs", "uneven_stairs", "steep_slope", "chair", "climbing", "twister", "wall"}
    assert names <= set(sequence_names())
    hands = load_contact_sequence("chair").phases[3].contacts
    assert {"left_palm", "right_palm", "seat"} <= {contact.effector for contact in hands}


def test_output_of_the_contact_planner_is_a_sequence_with_polytopes(tmp_path, capsys):
    path = tmp_path / "stairs.yaml"
    assert main(["plan", "stairs", "--output", str(path)]) == 0
    sequence = load_contact_sequence(path)
    assert list(sequence.models.values()) == ["humanoid"]
    capsys.readouterr()
    assert main(["com", str(path), "--step", "0.05"]) == 0
    assert "no polytope" not in capsys.readouterr().out


def test_missing_peer_gives_installation_instructions(capsys):
    assert main(["bench", "com", "--peer-python", "nowhere/python"]) == 2
    assert "hpp-bezier-com-traj==9.0.2" in capsys.readouterr().err
