"""Motion of subsystems that are not controlled, for the integrator: gravity, springs and dampers, without contacts."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scene import Scene, State


class PassiveMotion:
    """Forward dynamics of the subsystems of a scene that are not controlled.

    Springs and dampers act at the end of a step [Tan2011], so that any stiffness is stable:
    (M + h D + h² K) q̈ = −N − h K q̇, N with their forces at its start.
    """

    def __init__(self, scene: Scene, controlled: Scene) -> None:
        self._passive, self._first = scene.passive, controlled.nv
        trees = KinematicTrees(scene.model, largest=0)
        self._parts = [part for part in trees.parts if part.v.start >= controlled.nv]
        self._stiffness, self._damping = np.zeros(scene.nv), np.zeros(scene.nv)
        self._stiffness[scene.passive.v_index] = scene.passive.stiffness
        self._damping[scene.passive.v_index] = scene.passive.damping

    def acceleration(self, state: State, dt: float) -> Array:
        """Return q̈ of their entries of v over a step, (k,)."""
        q, v, K, D = state.q, state.v, self._stiffness, self._damping
        resistance = np.zeros(len(v))
        resistance[self._passive.v_index] = self._passive.resistance(q, v)
        found = []
        for part in self._parts:
            own, speed = part.v, v[part.v]
            M = pin.crba(part.model, part.data, q[part.q])
            N = pin.nonLinearEffects(part.model, part.data, q[part.q], speed) + resistance[own]
            implicit = M + np.diag(dt * D[own] + dt**2 * K[own])
            found.append(np.linalg.solve(implicit, -N - dt * K[own] * speed))
        return np.concatenate(found)
