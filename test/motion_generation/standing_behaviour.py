"""Scenario of a standing humanoid with a `behaviour`; a test adds the description, `effectors` and `terms`."""

STANDING = """
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: {ground: {model: ground}}
behaviour:
  character: humanoid
  posture: half_sitting
  phases: 2
  phase_duration: 0.3
"""
