"""Task on the centroidal momentum of a subsystem or of a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Group, Kinematics
from multi_qp_controller.tasks.base import Task, axis_indices
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import MomentumTaskSpec


class MomentumTask(Task):
    """x = momentum about the group's own centre of mass: ḣᵈ = −k(h − h_ref), with k in 1/s.

    Rows: linear [N s], then angular [N m s], world axes.
    """

    Spec = MomentumTaskSpec
    unit = "N s, N m s"

    def __init__(
        self,
        name: str,
        *,
        group: Group,
        goal: Array,
        axes: Sequence[int] = (0, 1, 2, 3, 4, 5),
        weight: float = 1.0,
        stiffness: float = 10.0,
    ) -> None:
        """Create the task; `goal` is h_ref, (6,), of which the rows `axes` are used."""
        super().__init__(name, weight=weight, stiffness=stiffness)
        self.dim = len(axes)
        self.group = group
        self.goal = np.asarray(goal, dtype=float)
        self._axes = list(axes)

    @classmethod
    def of(cls, name: str, spec: MomentumTaskSpec, scenario: Scenario) -> MomentumTask:
        """Return the task of a specification."""
        return cls(
            name,
            group=Group.of(scenario.scene, spec.subsystems),
            goal=np.array(spec.target),
            axes=axis_indices(spec.axes),
            weight=spec.weight,
            stiffness=spec.stiffness,
        )

    @property
    def reference_size(self) -> int:
        """Momentum, then its rate."""
        return 12

    def at_rest(self, numbers: Array) -> Array:
        """Return a given reference with zero rate."""
        held = numbers.copy()
        held[6:] = 0.0
        return held

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the entries of v that move the group."""
        return self.group.columns

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of this tick."""
        A, h, drift = self.group.momentum(kinematics)
        goal, rate = (self.goal, 0.0) if self.given is None else (self.given[:6], self.given[6:])
        self._speed = h[self._axes]
        self._error = (h - goal)[self._axes]
        J[:, self.group.columns] = A[self._axes]
        b[:] = (rate - drift)[self._axes] - self.stiffness * self._error
