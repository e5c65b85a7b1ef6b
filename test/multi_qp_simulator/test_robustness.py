"""Repeated runs: counts, and search of the largest push."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from motion_generation.state_generation import GeneratedStates
from multi_qp_cli.main import main
from multi_qp_scene.executor import Lost, executor_of
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec
from multi_qp_simulator import robustness as rb

SHORT = (("stand.duration", 1.5),)


def test_a_run_with_a_fall_has_failed_and_names_the_character():
    push = PushSpec(link="humanoid/torso", force=1500.0, at=0.1)
    summary = rb.run_job(rb.RunJob("stand", 0, SHORT, MismatchSpec(pushes=[push])))
    assert not summary.succeeded
    assert summary.ended == "humanoid fell" or summary.missed


def test_the_randomised_stand_succeeds_and_forces_agree():
    jobs = [rb.RunJob("stand", seed, SHORT, rb.RANDOMISED) for seed in (0, 1)]
    runs = [run for _, run in rb.run_all(jobs, executor_of(1))]
    found = rb.statistics(runs)
    assert found["succeeded"] == 2 and not found["failed_in"]
    assert found["forces"]["static"] < 0.1
    assert found["worst_slip_m"] < 0.005


def test_a_lost_run_counts_as_a_failure():
    gone = SimpleNamespace(as_completed=lambda work, items: iter([(0, Lost("its process ended twice"))]))
    found = rb.statistics([run for _, run in rb.run_all([rb.RunJob("stand", 7, SHORT, rb.RANDOMISED)], gone)])
    assert found["succeeded"] == 0 and found["failures"] == {"lost: its process ended twice": 1}


def test_a_run_of_a_motion_that_does_not_pass_its_audit_has_failed_and_says_so(monkeypatch, capsys):
    why = "the motion does not pass its audit: swing clearance"
    monkeypatch.setattr(rb, "generate_states", lambda scenario: GeneratedStates(scenario, why))
    command = ["robustness", "stand", "--set", "stand.duration=1", "--runs", "1", "--jobs", "1"]
    assert main(command) == 1
    assert f"stand: 1 of 1: {why}" in capsys.readouterr().out


def test_bisection_finds_the_largest_push(monkeypatch):
    def weak(job):
        strongest = max(push.force for push in job.mismatch.pushes)
        return rb.RunSummary(0, strongest <= 137.0, "", "stand", (), (), 0.0, 0.0, 0, {}, 1.0, 2.0)

    monkeypatch.setattr(rb, "run_job", weak)
    push = PushSpec(link="humanoid/torso", force=0.0)
    job = rb.RunJob("stand", 0, (), MismatchSpec())
    assert rb.largest_push(job, push, upto=400.0, resolution=2.0) == pytest.approx(137.0, abs=2.0)
    assert rb.largest_push(job, push, upto=100.0, resolution=2.0) == 100.0


def test_directions_are_evenly_spaced():
    assert rb.directions(4) == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)]


def test_completed_runs_are_reported_after_an_interrupt(monkeypatch, tmp_path, capsys):
    def once_more(job):
        if job.seed == 3:
            raise KeyboardInterrupt
        return rb.RunSummary(job.seed, job.seed != 1, "completed", "stand", (), (), 1e-4, 0.3, 0, {}, 1.0, 2.0)

    monkeypatch.setattr(rb, "run_job", once_more)
    assert main(["robustness", "stand", "--runs", "6", "--jobs", "1", "--output", str(tmp_path)]) == 1
    stored = json.loads((tmp_path / "robustness.json").read_text())["stand"]
    assert [run["seed"] for run in stored["each"]] == [0, 1, 2] and stored["succeeded"] == 2
    said = capsys.readouterr()
    assert "2 of 3" in said.out and "stopped after 3 of 6 runs" in said.out and "interrupted" in said.err


def test_a_folder_runs_all_its_scenarios(monkeypatch, tmp_path, capsys):
    def succeeds(job):
        return rb.RunSummary(job.seed, True, "completed", "stand", (), (), 1e-4, 0.3, 0, {}, 1.0, 2.0)

    monkeypatch.setattr(rb, "run_job", succeeds)
    command = ["robustness", str(tmp_path), "--runs", "2", "--jobs", "1"]
    assert main(command) == 2 and "expected a folder with scenario files" in capsys.readouterr().err
    for name in ("one", "two"):
        shutil.copy(scenario_path("stand"), tmp_path / f"{name}.yaml")
    assert main([*command, "--output", str(tmp_path / "results")]) == 0
    stored = json.loads((tmp_path / "results" / "robustness.json").read_text())
    assert [Path(name).stem for name in stored] == ["one", "two"]
