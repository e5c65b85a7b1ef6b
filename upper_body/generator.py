"""Motion generator that holds limbs by antagonistic pairs, with their tension as state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multi_qp_controller.motion_generator import GeneratorInput, GeneratorOutput, MotionGenerator
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.tasks.impedance import impedance_joints
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.upper_body import AntagonisticSpec
from upper_body.limbs import AntagonisticLimbs, impedance_task, tension_at


class AntagonisticGenerator(MotionGenerator):
    """Holds limbs at a posture with a tension, which changes continuously.

    Attributes:
        started_at: time of the start [s].
        start_angles: angles of the hinges at the start, (n,) [rad].
        tension: present tension, 0 to 1.
        gains: k_L and k_H of the last tick, by angle of the joints, (2, k) [N m/rad].
    """

    @dataclass
    class Checkpoint:
        """Start, and tension."""

        started_at: float
        start_angles: Array
        tension: float

    def __init__(self, name: str, spec: AntagonisticSpec, scenario: Scenario) -> None:
        """Create it.

        Raises:
            MultiQpError: when `joints` names none, or one that cannot be held so, see `impedance_joints`.
        """
        super().__init__(name, spec, scenario)
        scene = scenario.scene
        v_index = impedance_joints(f"generator '{name}", spec.subsystem, spec.joints, scenario)
        reference = posture_configuration(scene, spec.subsystem, spec.reference)
        self._spec, self.limbs = spec, AntagonisticLimbs(scene, v_index, reference)
        self._goal = posture_configuration(scene, spec.subsystem, spec.posture)[self.limbs.joints.q_index]
        self.started_at, self.start_angles, self.tension = 0.0, self._goal.copy(), spec.tension[0].tension
        self.gains = np.zeros((2, len(self.limbs.joints.low)))
        self.tasks["limbs"] = impedance_task(scene, spec, self.limbs)

    def warm_up(self, now: GeneratorInput) -> None:
        """Compute the torques once."""
        self.start(now)
        self.update(now)

    def start(self, now: GeneratorInput) -> None:
        """Start at the present angles."""
        self.started_at, self.tension = now.time, self._spec.tension[0].tension
        self.start_angles = now.kinematics.q[self.limbs.joints.q_index].copy()

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return the impedance of this tick."""
        spec, limbs = self._spec, self.limbs
        elapsed = now.time - self.started_at
        share, rate, _ = minimum_jerk(elapsed, spec.duration)
        way = self._goal - self.start_angles
        target, target_rate = self.start_angles + share * way, rate * way
        wanted = self.changed.get("tension", tension_at(spec.tension, elapsed))
        step = spec.tension_rate * now.dt
        self.tension += float(np.clip(wanted - self.tension, -step, step))
        relaxed, tense = spec.stiffness
        stiffness = (relaxed + self.tension * (tense - relaxed)) * limbs.efforts
        numbers, held = limbs.impedance(now.kinematics, target, target_rate, stiffness, ratio=spec.damping_ratio)
        self.gains = held.gains
        return GeneratorOutput((), {"limbs": numbers}, done=elapsed >= spec.duration)
