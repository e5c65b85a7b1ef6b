"""Tables of tolerated stalls, and options of the command."""

from __future__ import annotations

import json

from multi_qp_cli.main import main
from multi_qp_ros.stall_tolerance import STALL_KINDS, StallTrial, tolerated_by_state, try_stalls
from multi_qp_scene import load_scenario


def test_stalls_are_tried_in_copies_that_leave_the_run_alone(monkeypatch):
    monkeypatch.setattr("multi_qp_ros.stall_tolerance.AFTERWARDS", 0.1)

    def load():
        return load_scenario("stand")

    found = list(try_stalls(load, [0.05, 0.1], every=0.1, until=0.15, kinds=["states", "controller"], jobs=2))
    at = found[0].at
    assert 0.0 < at < 0.1
    first = [trial for trial in found if trial.at == at]
    expected = [("states", 0.05), ("states", 0.1), ("controller", 0.05), ("controller", 0.1)]
    assert [(trial.kind, trial.length) for trial in first] == expected
    assert all(trial.tolerated for trial in found)
    assert found == list(try_stalls(load, [0.05, 0.1], every=0.1, until=0.15, kinds=["states", "controller"]))


def test_the_longest_is_that_below_which_all_were_tolerated_at_all_moments():
    def trials(state, *tolerated):
        return [
            StallTrial(at, state, "robots", length, well, 1.0, 0)
            for at, *all_of_it in tolerated
            for length, well in zip((0.1, 0.2, 0.3), all_of_it, strict=True)
        ]

    tried = trials("stand", (1.0, True, True, True), (2.0, True, False, True))
    tried += trials("step", (3.0, False, True, True)) + trials("done", (4.0, True, True, True))
    assert tolerated_by_state(tried) == {"stand": {"robots": 0.1}, "step": {"robots": 0.0}, "done": {"robots": 0.3}}


def test_the_command_prints_a_table_by_state_and_writes_every_trial(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("multi_qp_ros.stall_tolerance.AFTERWARDS", 0.05)
    given = ["--stalls", "0.02", "--every", "0.3", "--until", "0.3", "--jobs", "1", "--output", str(tmp_path)]
    assert main(["robustness", "stand", *given]) == 0
    text = capsys.readouterr().out
    assert all(kind in text for kind in STALL_KINDS) and "≥ 20" in text
    written = json.loads((tmp_path / "stalls.json").read_text())["stand"]
    assert len(written) == 4 * len(STALL_KINDS) and all(trial["tolerated"] for trial in written)


def test_combinations_without_effect_are_refused(capsys):
    assert main(["robustness", "stand", "--stalls", "0.1", "--mismatch", "mass_error=0.1"]) == 2
    assert "--mismatch cannot be combined with --stalls" in capsys.readouterr().err
    assert main(["robustness", "stand", "--stalls", "0"]) == 2
    assert "--stalls: expected a positive number of seconds, got 0" in capsys.readouterr().err
