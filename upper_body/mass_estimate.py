"""Estimate of the true masses of obstacles while hands push them, from the forces on the palms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multi_qp_controller.uncontrolled_subsystems import UncontrolledSubsystems
from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import TreeGroup
from multi_qp_scene.stateful import Stateful

#: Smallest force on the palms that counts as a push [N].
LEAST_FORCE = 8.0
#: Change of the velocity of an obstacle's mass from which it is estimated [m/s].
LEAST_CHANGE = 0.15
#: Time without a push after which the next one is a new one [s].
PAUSE = 0.1
#: Time since the beginning of a push within which it is used [s]: later, errors of the forces exceed the momentum.
LONGEST = 0.25
#: Change of velocity of a push, relative to that of the present estimate, from which its estimate replaces it.
AS_STRONG = 0.7
#: Largest share of the hands' impulse that springs and dampers of an obstacle take up in a push that is used.
RESISTED = 0.5
#: Bounds of an estimate relative to the mass of the obstacle's model.
BOUNDS = 0.01, 100.0


class HandPush(NamedTuple):
    """What one hand does to its obstacle.

    Attributes:
        obstacle: its index.
        frame: the pushed link, a frame of the scene of the surroundings.
        point: where, world frame, (3,) [m].
        force: on the obstacle, world frame, (3,) [N].
    """

    obstacle: int
    frame: int
    point: Array
    force: Array


class MassEstimate(Stateful):
    """Masses of obstacles from the impulse of the hands and the change of momentum that it causes.

    With all masses of an obstacle multiplied by s, s (M q̈ + N) = Jᵀ F + f, where M and N are those of its model and f
    its springs and dampers: s is the least-squares solution over a push, in the metric M⁻¹. It does not depend on the
    masses of the model, but on how they are distributed, and on f. The strongest push is used while it begins, unless f
    takes up most of it.

    Attributes:
        masses: estimate of each obstacle, NaN before the first, (o,) [kg].
        velocity: of the surroundings in the last tick, (nv,); None before the first one.
        impulses: ∫ Jᵀ F dt of the present push of each obstacle, in its entries of v, (nv,).
        resisted: −∫ f dt of the same, (nv,).
        changes: ∫ M q̈ + N dt of the same, (nv,).
        strength: change of velocity from which each was estimated, (o,) [m/s].
        began_at: time of the beginning of the last push of each obstacle, (o,) [s].
        pushed_at: time of its end so far, (o,) [s].
    """

    @dataclass
    class Checkpoint:
        """Estimates and present pushes."""

        masses: Array
        velocity: Array | None
        impulses: Array
        resisted: Array
        changes: Array
        strength: Array
        began_at: Array
        pushed_at: Array

    def __init__(self, surroundings: UncontrolledSubsystems, names: Sequence[str]) -> None:
        """Create it for obstacles, subsystems of the surroundings by name."""
        scene, model = surroundings.scene, surroundings.scene.model
        self._surroundings, self._passive = surroundings, scene.passive
        self._joints = []
        for name in names:
            own = [j for j in range(1, model.njoints) if model.names[j].split("/")[0] == name]
            self._joints.append(slice(own[0], own[-1] + 1))
        self._trees: dict[int, TreeGroup] = {}
        self.masses, self.strength = np.full(len(names), np.nan), np.zeros(len(names))
        self.began_at, self.pushed_at = np.full((2, len(names)), -np.inf)
        self.velocity: Array | None = None
        self.impulses, self.resisted, self.changes = np.zeros((3, scene.nv))

    def update(self, pushes: Sequence[HandPush], time: float, dt: float) -> None:
        """Update with what the hands do in this tick.

        Args:
            pushes: of the hands that have an obstacle; forces are means over the last period.
            time: [s].
            dt: control period [s].
        """
        before, self.velocity = self.velocity, self._surroundings.v.copy()
        if before is None:
            return
        for obstacle in sorted({one.obstacle for one in pushes}):
            own = [one for one in pushes if one.obstacle == obstacle]
            if float(np.linalg.norm(np.sum([one.force for one in own], axis=0))) >= LEAST_FORCE:
                self._push(obstacle, own, (self.velocity - before) / dt, time, dt)

    def _push(self, k: int, pushes: Sequence[HandPush], acceleration: Array, time: float, dt: float) -> None:
        tree = self._trees.get(k) or self._trees.setdefault(k, self._tree(k))
        own, model, data = tree.v, tree.model, tree.data
        if time - self.pushed_at[k] > PAUSE:
            self.impulses[own] = self.resisted[own] = self.changes[own] = 0.0
            self.began_at[k] = time
        self.pushed_at[k] = time
        if time - self.began_at[k] > LONGEST:
            return
        q, v = self._surroundings.q, self._surroundings.v
        inertial = pin.rnea(model, data, q[tree.q], v[own], acceleration[own])
        resistance = np.zeros(len(v))
        resistance[self._passive.v_index] = self._passive.resistance(q, v)
        forces = np.zeros(model.nv)
        pin.computeJointJacobians(model, data, q[tree.q])
        for one in pushes:
            joint = self._surroundings.scene.model.frames[one.frame].parentJoint - tree.joints.start + 1
            J = pin.getJointJacobian(model, data, joint, pin.WORLD)
            forces = forces + J.T @ np.concatenate([one.force, np.cross(one.point, one.force)])
        self.impulses[own] += forces * dt
        self.resisted[own] += resistance[own] * dt
        self.changes[own] += inertial * dt
        direction = np.linalg.solve(pin.crba(model, data, q[tree.q]), self.changes[own])
        square, mass = float(direction @ self.changes[own]), sum(one.mass for one in model.inertias)
        strength, pushed = float(np.sqrt(square / mass)), float(direction @ self.impulses[own])
        resisted = float(direction @ self.resisted[own])
        if strength > max(LEAST_CHANGE, AS_STRONG * self.strength[k]) and resisted < RESISTED * pushed:
            self.strength[k] = strength
            self.masses[k] = mass * np.clip((pushed - resisted) / square, *BOUNDS)

    def _tree(self, k: int) -> TreeGroup:
        return TreeGroup.of(self._surroundings.scene.model, self._joints[k])
