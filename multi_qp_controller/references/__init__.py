"""References of tasks over time: minimum-jerk, Bézier and random paths."""
