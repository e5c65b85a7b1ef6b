"""Checks that apply to every scene."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from multi_qp_simulator.runner import RunResult


@pytest.fixture
def assert_sound() -> Callable[..., None]:
    """Return the check of a run: QP, contacts, distances, limits, dynamics."""

    def check(result: RunResult, *, slip: float = 2e-3) -> None:
        report, worst = result.report, result.report["worst"]
        assert report["qp_failures"] == 0, report["failure"]
        assert worst["contact_slip_m"] < slip
        assert worst["penetration_m"] == 0.0
        assert worst["torque_ratio"] <= 1.0 + 1e-9
        assert worst["velocity_ratio"] <= 1.0
        assert worst["joint_limit_violation_rad"] == 0.0
        assert worst["dynamics_residual"] < 1e-6

    return check


@pytest.fixture
def assert_good(assert_sound: Callable[..., None]) -> Callable[..., None]:
    """Return the check of a run that must also reach its goals, with tighter bounds of slip."""

    def check(result: RunResult, *, slip: float = 1e-4) -> None:
        assert result.succeeded, (result.report["ended"], result.report["goals"])
        assert_sound(result, slip=slip)

    return check
