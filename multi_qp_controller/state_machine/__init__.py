"""State machine: states, transition conditions, active contacts and tasks."""
