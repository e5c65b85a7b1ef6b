"""Recorded motions: readers of skeleton files, retargeting to a robot, and reference motions as files."""
