"""The table of computing times of planned scenes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "framework_times.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(SCRIPT.parents[1]), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.slow
def test_a_row_has_the_times_of_all_parts() -> None:
    done = run("chair, room 2")
    assert done.returncode == 0, done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]
    assert cells[0] == "chair, room 2"
    motion, contacts, curve, whole_body, share = map(float, cells[1:])
    assert min(motion, contacts, curve, whole_body) > 0.0
    assert share == pytest.approx((contacts + curve + whole_body) / motion, abs=0.02)


@pytest.mark.slow
def test_an_unknown_scene_is_refused_with_the_known_ones() -> None:
    done = run("stares")
    assert done.returncode == 2
    assert "scenes: stairs" in done.stderr
