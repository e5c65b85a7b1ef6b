"""Dynamic walking: gaits, step preview, swing feet, velocity command, and their motion generator."""
