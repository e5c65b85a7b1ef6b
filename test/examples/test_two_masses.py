"""Two masses, one motor: one QP reaches the target; decoupled QPs fail as in [Vaillant2015] Fig. 6."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_qp_cli.main import main

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "two_masses"
LIFT, BLOCK, GRAVITY = 2.0, 1.0, 9.81  # [kg, kg, m/s²]


@cache
def strategies() -> Any:
    spec = importlib.util.spec_from_file_location("strategies", FOLDER / "strategies.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["strategies"] = module  # required by dataclasses
    spec.loader.exec_module(module)
    return module


@cache
def motion(name: str) -> dict[str, np.ndarray]:
    """Return the result of a strategy, arrays by name."""
    return {key: np.asarray(value) for key, value in vars(getattr(strategies(), name)()).items()}


def acceleration(heights: np.ndarray) -> np.ndarray:
    return np.diff(heights, 2) / 0.005**2


def test_one_qp_reaches_the_target_within_all_limits() -> None:
    run = motion("integrated")
    assert abs(run["block"][-1] - 0.4) < 1e-3
    assert run["effort"].max() <= run["limit"] + 1e-6
    assert run["effort"].max() > 0.999 * run["limit"], "the limit matters"
    np.testing.assert_allclose(run["lift"], run["block"], atol=1e-9)
    assert run["push"].min() > 0.0
    # Newton: the motor moves both, the contact the block
    a = acceleration(run["block"])
    np.testing.assert_allclose(run["effort"][1:-1], (LIFT + BLOCK) * (GRAVITY + a), atol=1e-6)
    np.testing.assert_allclose(run["push"][1:-1], BLOCK * (GRAVITY + a), atol=1e-6)


def test_case_1_has_a_steady_state_error_due_to_the_unmodelled_weight() -> None:
    run, together = motion("lift_first"), motion("integrated")
    np.testing.assert_allclose(run["lift"], run["block"], atol=1e-9)
    assert run["push"].min() > 0.0, "the contact was never asked to pull"
    short = 0.4 - run["block"][-1]
    assert short == pytest.approx(BLOCK * GRAVITY / (LIFT * 50.0), abs=1e-3)
    assert run["effort"].sum() < together["effort"].sum(), "lesser effort"
    assert np.all(run["block"] <= together["block"] + 1e-3), "slowed down"


def test_case_2_opens_the_contact() -> None:
    run = motion("block_first")
    gap = run["block"] - run["lift"]
    saturated = run["effort"] > run["limit"] - 1e-6
    assert saturated[:20].all() and run["effort"].max() <= run["limit"] + 1e-6
    assert gap.max() > 0.03
    aloft = (gap[1:-1] > 1e-3) & (acceleration(run["block"]) > 0.0)
    assert aloft.sum() > 5, "it rises ever faster, and nothing touches it"


def test_case_3_is_infeasible_within_the_limit_and_exceeds_it_otherwise() -> None:
    run = motion("block_first_in_contact")
    np.testing.assert_allclose(run["lift"], run["block"], atol=1e-9)
    assert run["effort"].max() > 1.5 * run["limit"]
    conflict = {member.row for member in run["conflict"].item().conflict}
    assert conflict == {"dynamics lift/height", "contact with object 2", "torque limit lift/height"}


def test_the_scenario_of_the_one_qp_runs_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(FOLDER / "together.yaml"), "--headless"]) == 0
    assert "goals reached" in capsys.readouterr().out


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / "compare.py"), "--output", str(tmp_path / "p.png")]
    done = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.png").stat().st_size > 10_000
    assert done.stdout.count("target") == 4 and "largest effort 59.6 N of 33 N" in done.stdout
