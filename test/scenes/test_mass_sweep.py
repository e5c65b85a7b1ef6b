"""The sweep over masses and time steps: counts, and reuse of existing reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "mass_sweep.py"


def sweep(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "sword", "--seeds", "1", "--no-steps", "--reports", str(folder), *options]
    environment = {"PYTHONPATH": str(SCRIPT.parents[1]), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.slow
def test_a_sweep_runs_the_command_line_with_masses_within_the_spread(tmp_path: Path) -> None:
    done = sweep(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| sword | masses ± 10 % | 1 of 1 | 0 |" in done.stdout
    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    usual = {"swordsman.mass": 39.0, "opponent.mass": 39.0, "sword.mass": 1.5}
    factors = [report["parameters"][name] / mass for name, mass in usual.items()]
    assert all(0.9 <= factor <= 1.1 for factor in factors) and len(set(factors)) == 3


def test_existing_reports_are_counted_and_not_repeated(tmp_path: Path) -> None:
    worst = dict.fromkeys(("contact_slip_m", "penetration_m", "torque_ratio", "dynamics_residual"), 0.5)
    report = {"completed": True, "goals": {"torso": {"reached": False}}, "qp_failures": 3, "worst": worst}
    (tmp_path / "sword_masses0.1_0.json").write_text(json.dumps(report))
    done = sweep(tmp_path)
    assert done.returncode == 1
    assert "| sword | masses ± 10 % | 0 of 1 | 3 | 500.000 | 500 | 0.50 | 5e-01 |" in done.stdout
    assert "sword failed: multi-qp run sword --headless --seed 0 --set swordsman.mass=" in done.stderr
