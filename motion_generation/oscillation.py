"""Motion generator that moves joints sinusoidally around their angles at the start."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from multi_qp_controller.motion_generator import GeneratorInput, GeneratorOutput, MotionGenerator, posture_reference
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.generators import OscillationSpec
from multi_qp_scene.schema.tasks import PostureTaskSpec


class Oscillation(MotionGenerator):
    """q = q₀ + a (1 − cos(2π t/T))/2: each cycle starts and ends at rest at the initial angle.

    Attributes:
        started_at: time of the start [s].
        start_angles: angles at the start, (k,) [rad] or [m].
    """

    @dataclass
    class Checkpoint:
        """Time and angles of the start."""

        started_at: float
        start_angles: Array

    def __init__(self, name: str, spec: OscillationSpec, scenario: Scenario) -> None:
        """Create it.

        Raises:
            MultiQpError: when its joints belong to several subsystems, or one has no fixed zero.
        """
        super().__init__(name, spec, scenario)
        subsystems = {joint.split("/")[0] for joint in spec.joints}
        if len(subsystems) > 1:
            raise MultiQpError(f"generator '{name}': its joints belong to several subsystems: {sorted(subsystems)}")
        joints = {joint: ScalarJoint.of(scenario.scene.model, joint) for joint in spec.joints}
        ordered = sorted(joints, key=lambda joint: joints[joint].v_index)  # the order of a posture task
        if continuous := [joint for joint in ordered if joints[joint].continuous]:
            raise MultiQpError(f"generator '{name}': the joint '{continuous[0]}' is continuous, which it cannot move")
        self._joints = [joints[joint] for joint in ordered]
        self._amplitudes = np.array([spec.joints[joint] for joint in ordered])
        self._spec, self.started_at, self.start_angles = spec, 0.0, np.zeros(len(ordered))
        self.tasks["joints"] = PostureTaskSpec(
            type="posture",
            subsystem=subsystems.pop(),
            joints=[joint.partition("/")[2] for joint in ordered],
            weight=spec.weight,
            stiffness=spec.stiffness,
        )

    def start(self, now: GeneratorInput) -> None:
        """Start at the present angles."""
        self.started_at = now.time
        self.start_angles = np.array([joint.angle(now.kinematics.q) for joint in self._joints])

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return the angles of this tick."""
        spec, elapsed = self._spec, now.time - self.started_at
        rate = 2.0 * math.pi / spec.period
        a, phase = 0.5 * self._amplitudes, rate * elapsed
        reference = posture_reference(
            self.start_angles + a * (1.0 - math.cos(phase)), a * rate * math.sin(phase), a * rate**2 * math.cos(phase)
        )
        return GeneratorOutput((), {"joints": reference}, done=elapsed >= spec.cycles * spec.period - 1e-9)
