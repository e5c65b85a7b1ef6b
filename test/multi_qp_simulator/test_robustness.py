"""Many runs: what is counted, and how the largest push is found."""

from __future__ import annotations

import pytest

from multi_qp_scene.schema.reality import PushSpec, RealitySpec
from multi_qp_simulator import robustness as rb

SHORT = (("stand.duration", 1.5),)


def test_a_run_that_is_knocked_over_has_failed_and_says_who_fell():
    push = PushSpec(link="humanoid/torso", force=1500.0, at=0.1)
    summary = rb.run_job(rb.Job("stand", 0, SHORT, RealitySpec(pushes=[push])))
    assert not summary.succeeded
    assert summary.ended == "humanoid fell" or summary.missed


def test_the_randomised_stand_succeeds_and_forces_agree():
    runs = rb.run_all([rb.Job("stand", seed, SHORT, rb.RANDOMISED) for seed in (0, 1)], workers=1)
    found = rb.statistics(runs)
    assert found["succeeded"] == 2 and not found["failed_in"]
    assert found["forces"]["static"] < 0.1
    assert found["worst_slip_m"] < 0.005


def test_bisection_finds_the_largest_push(monkeypatch):
    def weak(job):
        strongest = max(push.force for push in job.reality.pushes)
        return rb.RunSummary(0, strongest <= 137.0, "", "stand", (), 0.0, 0.0, 0, {}, 1.0)

    monkeypatch.setattr(rb, "run_job", weak)
    push = PushSpec(link="humanoid/torso", force=0.0)
    job = rb.Job("stand", 0, (), RealitySpec())
    assert rb.largest_push(job, push, upto=400.0, resolution=2.0) == pytest.approx(137.0, abs=2.0)
    assert rb.largest_push(job, push, upto=100.0, resolution=2.0) == 100.0


def test_directions_go_round():
    assert rb.directions(4) == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)]
