"""Motion of the full model: postures at nodes, smooth in between, with velocities and accelerations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from contact_invariant.character import Character
from contact_invariant.motion import angular_motion, rotations
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene


@dataclass(frozen=True)
class WholeBodyMotion:
    """Postures at nodes and contacts between them.

    Positions of the root, its rotation vector and the joint angles are cubic splines of class C².

    Attributes:
        times: of the nodes, from 0, (M + 1,) [s].
        q: postures of the scene: the characters, and an object if there is one, (M + 1, nq).
        touched: full name of the surface that each effector touches from each node to the next, "" for none, (M, N).
        free: first entry in q of each free-flyer: of the characters and of the object.
    """

    times: Array
    q: Array
    touched: NDArray[np.str_]
    free: tuple[int, ...] = (0,)

    @cached_property
    def _parts(self) -> list[tuple[slice, bool]]:
        """Parts of q in their order: free-flyers, and what is between them."""
        found, at = [], 0
        for first in (*sorted(self.free), self.q.shape[1]):
            if first > at:
                found.append((slice(at, first), False))
            if first < self.q.shape[1]:
                found.append((slice(first, first + 7), True))
            at = first + 7
        return found

    @cached_property
    def _spline(self) -> CubicSpline:
        columns = [_with_turns(self.q[:, part]) if free else self.q[:, part] for part, free in self._parts]
        return CubicSpline(self.times, np.hstack(columns), bc_type="clamped")

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """Return postures, velocities and accelerations at times, (m,) [s]: (m, nq), (m, nv), (m, nv).

        Velocities and accelerations of roots are those of pinocchio's free-flyer, in its own axes.
        """
        curves = [self._spline(times, k) for k in range(3)]
        found, at = [], 0
        for part, free in self._parts:
            width = 6 if free else part.stop - part.start
            own = [curve[:, at : at + width] for curve in curves]
            found.append(_free_flyer(*own) if free else own)
            at += width
        q, v, a = (np.hstack([one[k] for one in found]) for k in range(3))
        return q, v, a

    def contacts(self, times: Array) -> NDArray[np.str_]:
        """Return the name of the surface that each effector touches at times, (m,) [s]; (m, N)."""
        intervals = np.clip(np.searchsorted(self.times, times + 1e-9, side="right") - 1, 0, len(self.touched) - 1)
        return self.touched[intervals]


def _with_turns(poses: Array) -> Array:
    """Return positions and quaternions, (m, 7), as positions and continuous rotation vectors, (m, 6)."""
    turns = [pin.log3(pin.Quaternion(row).matrix()) for row in poses[:, 3:]]
    return np.hstack([poses[:, :3], continuous(np.array(turns))])


def _free_flyer(x: Array, rate: Array, second: Array) -> list[Array]:
    """Return configuration, velocity and acceleration of a free-flyer from positions and rotation vectors, (m, 6)."""
    R = rotations(x[:, 3:6])
    omega, alpha = angular_motion(x[:, 3:6], rate[:, 3:6], second[:, 3:6])
    local = [np.einsum("mji,mj->mi", R, one) for one in (rate[:, :3], omega, second[:, :3], alpha)]
    q = np.hstack([x[:, :3], [pin.Quaternion(one).coeffs() for one in R]])
    return [q, np.hstack(local[:2]), np.hstack([local[2] - np.cross(local[1], local[0]), local[3]])]


def features_of(scene: Scene, character: Character, q: Array) -> Array:
    """Return the features of postures, (m, nq) to (m, features), with the centre of mass of the full model."""
    data = scene.model.createData()
    found = []
    for one in q:
        x = character.features_at(scene, one)
        pin.centerOfMass(scene.model, data, one, True)
        for k in range(len(character.names)):
            root = character.bodies[k].root
            x[character.body_features(k)][:3] = data.oMi[root].act(data.com[root])
        found.append(x)
    x = np.array(found)
    for first in range(3, x.shape[1], 6):
        x[:, first : first + 3] = continuous(x[:, first : first + 3])
    return x


def com_shifts(scene: Scene, character: Character, q: Array, x: Array) -> Array:
    """Return how far each centre of mass in features is from where the nominal posture has it, (3, bodies) [m].

    Args:
        scene: the scene.
        character: the characters.
        q: posture, (nq,).
        x: its features with the centre of mass of the full model, see `features_of`.
    """
    shift = x - character.features_at(scene, q)
    return np.column_stack([shift[character.body_features(k)][:3] for k in range(len(character.bodies))])


def continuous(vectors: Array) -> Array:
    """Return rotation vectors, (m, 3), of the same rotations, each the one nearest to that before it."""
    found = vectors.copy()
    for k in range(1, len(found)):
        angle = float(np.linalg.norm(found[k]))
        if angle < 1e-6:
            continue
        turns = round(float(found[k - 1] @ found[k] / angle - angle) / (2.0 * np.pi))
        found[k] *= 1.0 + 2.0 * np.pi * turns / angle
    return found
