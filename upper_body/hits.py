"""Unexpected hits: the limb that is hit yields for a while, at the angles of the impact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from multi_qp_controller.motion_generator import GeneratorInput
from multi_qp_controller.tasks.impedance import effort_limits
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.upper_body import AnticipationSpec, HitsSpec
from multi_qp_scene.stateful import Stateful
from upper_body.limbs import AntagonisticLimbs


class Hit(Stateful):
    """Detection of hits on one limb, and its equilibrium since then, [Alvarado2022] section 5.4.

    Attributes:
        at: time of the last hit [s].
        angles: of the limb's hinges at that time, (k,) [rad].
    """

    @dataclass
    class Checkpoint:
        """Last hit."""

        at: float
        angles: Array

    def __init__(self, spec: HitsSpec, scene: Scene, v_index: Indices, q_index: Indices) -> None:
        """Create it for the hinges of a limb, by their indices in v and in q, (k,) each."""
        self._spec, self._v_index, self._q_index = spec, v_index, q_index
        self._least = spec.effort * effort_limits(scene, v_index)
        self.at, self.angles = -math.inf, np.zeros(len(v_index))

    def yields(self, time: float) -> bool:
        """Return whether the limb yields at a time [s]."""
        return time - self.at < self._spec.duration

    def update(self, now: GeneratorInput, *, expected: bool) -> bool:
        """Return whether the limb yields in this tick; an expected hit does not count."""
        if expected:
            self.at = -math.inf
        elif now.external is not None and (np.abs(now.external[self._v_index]) > self._least).any():
            if not self.yields(now.time):
                self.angles = now.kinematics.q[self._q_index].copy()
            self.at = now.time
        return self.yields(now.time)


class YieldingLimb:
    """A part of trunk or head that is given to antagonistic pairs while it yields to a hit.

    Attributes:
        limbs: its hinges.
        hit: the last hit.
    """

    def __init__(
        self, rules: AnticipationSpec, spec: HitsSpec, scene: Scene, v_index: Indices, reference: Array
    ) -> None:
        """Create it for hinges, by index in v, and the reference configuration of the decomposition, (nq,)."""
        self._rules, self._spec = rules, spec
        self.limbs = AntagonisticLimbs(scene, v_index, reference)
        self.hit = Hit(spec, scene, self.limbs.joints.v_index, self.limbs.joints.q_index)

    def carries(self, scene: Scene, frame: int) -> bool:
        """Return whether its hinges move a frame."""
        return bool(np.isin(self.limbs.joints.v_index, scene.moving(frame)).any())

    def reference(self, now: GeneratorInput, *, expected: bool) -> Array | None:
        """Return the reference of the task of this limb; None while it does not yield.

        Args:
            now: input of the tick.
            expected: whether it carries a limb whose touch explains the torques of its joints.
        """
        if not self.hit.update(now, expected=expected):
            return None
        relaxed, tense = self._rules.stiffness
        stiffness = (relaxed + self._spec.tension * (tense - relaxed)) * self.limbs.efforts
        angles, rates = self.hit.angles, np.zeros(len(self.hit.angles))
        return self.limbs.impedance(now.kinematics, angles, rates, stiffness, ratio=self._rules.damping_ratio)[0]
