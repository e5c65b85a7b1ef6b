"""Goals of a scenario: measured while it runs, judged at its end."""

from __future__ import annotations

from multi_qp_simulator.goals.base import Goal, GoalResult, Moment
from multi_qp_simulator.goals.keeper import GoalKeeper

__all__ = ["Goal", "GoalKeeper", "GoalResult", "Moment"]
