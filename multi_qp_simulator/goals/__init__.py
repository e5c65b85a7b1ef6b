"""Goals of a scenario: measured during a run, evaluated at its end."""

from __future__ import annotations

from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal
from multi_qp_simulator.goals.goal_monitor import GoalMonitor

__all__ = ["MonitoredGoal", "GoalMonitor", "GoalResult", "Moment"]
