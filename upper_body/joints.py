"""Joints of one to three hinges at one point, for antagonistic pairs."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import Scene
from upper_body.limb_kernel import followed, rotation_of

#: Distance of the set-points of a pair from the limits of its joint [rad].
BEYOND = 0.5
#: Number of angles of each hinge for which the range of the angles of a joint is computed.
GRID = 5
#: Distance of hinges that are one joint [m].
_SAME_POINT = 1e-3
#: Shortest lever that gives a direction [m].
_SHORT = 1e-6


class JointTable(NamedTuple):
    """Joints of a character: a joint of one hinge has one angle, one of two or three hinges has three.

    The three are those of the swing-twist decomposition of the rotation from the reference posture, in a basis with x
    along the limb there, [Alvarado2022] section 4.2.

    Attributes:
        v_index: the hinges, by index in v, (n,).
        q_index: the hinges, by index in q, (n,).
        hinges: first hinge of each joint and the one after its last, (j, 2).
        angles: first angle of each joint and the one after its last, (j, 2).
        placements: rotation of each hinge at zero in the axes of the hinge before, (n, 3, 3).
        axes: axis of each hinge, (n, 3).
        bases: basis of each joint in its parent's axes, as columns, (j, 3, 3).
        rests: rotation of each joint in the reference posture, (j, 3, 3).
        low: θ_L, 0.5 rad beyond the range of the angle within the limits of the hinges, (k,) [rad].
        high: θ_H, (k,) [rad].
        reference: angles of the hinges in the reference posture, (n,) [rad].
    """

    v_index: Indices
    q_index: Indices
    hinges: Indices
    angles: Indices
    placements: Array
    axes: Array
    bases: Array
    rests: Array
    low: Array
    high: Array
    reference: Array

    @classmethod
    def of(cls, scene: Scene, v_index: Indices, reference: Array) -> JointTable:
        """Return the joints of hinges, by index in v; up to three successive hinges at one point are one joint."""
        model = scene.model
        groups = _groups(model, v_index)
        ids = [j for group in groups for j in group]
        placements, axes = np.array([model.jointPlacements[j].rotation for j in ids]), _axes(model, ids)
        q_index = np.array([model.joints[j].idx_q for j in ids], dtype=np.intp)
        ends = np.cumsum([len(group) for group in groups])
        hinges = np.column_stack([ends - [len(group) for group in groups], ends]).astype(np.intp)
        sizes = [1 if len(group) == 1 else 3 for group in groups]
        ends = np.cumsum(sizes)
        angles = np.column_stack([ends - sizes, ends]).astype(np.intp)
        low, high = np.empty((2, ends[-1]))
        least, most = model.lowerPositionLimit[q_index], model.upperPositionLimit[q_index]
        bases, rests = np.empty((len(groups), 3, 3)), np.empty((len(groups), 3, 3))
        for i, group in enumerate(groups):
            part = slice(*hinges[i])
            rests[i] = rotation_of(reference[q_index[part]], placements[part], axes[part])
            bases[i] = _limb_basis(model, group[-1], rests[i], axes[part.stop - 1])
            table = placements[part], axes[part], bases[i], rests[i]
            found = _angles_within(reference[q_index[part]], least[part], most[part], sizes[i], table)
            low[slice(*angles[i])] = found.min(axis=0) - BEYOND
            high[slice(*angles[i])] = found.max(axis=0) + BEYOND
        v = np.array([model.joints[j].idx_v for j in ids], dtype=np.intp)
        return cls(v, q_index, hinges, angles, placements, axes, bases, rests, low, high, reference[q_index])


def _angles_within(start: Array, least: Array, most: Array, size: int, table: tuple[Array, ...]) -> Array:
    """Return the angles of a joint on a grid within the limits of its hinges, (m, k) [rad]."""
    grid = itertools.product(*np.linspace(least, most, GRID).T)
    return np.array([followed(start, np.zeros(size), np.array(end), *table) for end in grid])


def _groups(model: pin.Model, v_index: Indices) -> list[list[int]]:
    """Return the joints of the model with these entries of v, grouped where they are at one point."""
    groups = list[list[int]]()
    for j in range(1, model.njoints):
        if model.joints[j].nv != 1 or model.joints[j].idx_v not in v_index:
            continue
        last = groups[-1] if groups else []
        near = np.linalg.norm(model.jointPlacements[j].translation) < _SAME_POINT
        if last and len(last) < 3 and model.parents[j] == last[-1] and near:
            last.append(j)
        else:
            groups.append([j])
    return groups


def _axes(model: pin.Model, joints: list[int]) -> Array:
    """Return the axes of hinges in their own frames, (n, 3)."""
    data, q = model.createData(), pin.neutral(model)
    pin.computeJointJacobians(model, data, q)
    columns = [pin.getJointJacobian(model, data, j, pin.LOCAL)[3:, model.joints[j].idx_v] for j in joints]
    return np.array([column / np.linalg.norm(column) for column in columns])


def _limb_basis(model: pin.Model, last: int, rest: Array, axis: Array) -> Array:
    """Return a basis in the parent's axes, as columns, with x along the limb in the reference posture."""
    levers = [model.jointPlacements[c].translation for c in range(1, model.njoints) if model.parents[c] == last]
    lever = max([*levers, model.inertias[last].lever], key=lambda one: float(np.linalg.norm(one)))
    return basis_along(rest @ (lever if np.linalg.norm(lever) > _SHORT else axis))


def basis_along(direction: Array) -> Array:
    """Return an orthonormal basis, as columns, with x along a direction, (3, 3)."""
    x = direction / np.linalg.norm(direction)
    y = np.cross(np.eye(3)[int(np.argmin(np.abs(x)))], x)
    y /= np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])
