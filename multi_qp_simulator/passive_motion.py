"""Motion of subsystems that are not controlled, for the integrator: gravity, springs and dampers, without contacts."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State


class PassiveMotion:
    """Forward dynamics of the subsystems of a scene that are not controlled.

    Springs and dampers act at the end of a step [Tan2011], so that any stiffness is stable:
    (M + h D + h² K) q̈ = −N − h K q̇, N with their forces at its start.
    """

    def __init__(self, scenario: Scenario) -> None:
        scene, controlled = scenario.scene, scenario.controlled.scene
        self._passive, self._time = scene.passive, 0.0
        trees = KinematicTrees(scene.model, largest=0)
        self._parts = [part for part in trees.parts if part.v.start >= controlled.nv]
        owners = [scene.model.names[part.joints.start].split("/")[0] for part in self._parts]
        self._releases = [scenario.spec.subsystems[owner].release for owner in owners]
        self._stiffness, self._damping = np.zeros(scene.nv), np.zeros(scene.nv)
        self._stiffness[scene.passive.v_index] = scene.passive.stiffness
        self._damping[scene.passive.v_index] = scene.passive.damping

    def acceleration(self, state: State, dt: float) -> Array:
        """Return q̈ of their entries of v over a step, (k,); to be called once for each step of a run."""
        q, v, K, D = state.q, state.v, self._stiffness, self._damping
        resistance = np.zeros(len(v))
        resistance[self._passive.v_index] = self._passive.resistance(q, v)
        found = []
        for part, release in zip(self._parts, self._releases, strict=True):
            own, speed = part.v, v[part.v]
            M = pin.crba(part.model, part.data, q[part.q])
            N = pin.nonLinearEffects(part.model, part.data, q[part.q], speed) + resistance[own]
            if self._time < release:
                N -= pin.computeGeneralizedGravity(part.model, part.data, q[part.q])
            implicit = M + np.diag(dt * D[own] + dt**2 * K[own])
            found.append(np.linalg.solve(implicit, -N - dt * K[own] * speed))
        self._time += dt
        return np.concatenate(found)
