"""Dynamics of one part of a scene, by pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics_kernel import joint_space_inertia
from multi_qp_scene.forest import Forest, Part
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.scene import columns_above

Array = NDArray[np.float64]


class PartDynamics:
    """Inertia, nonlinear effects and drifts of one part at one state, with all that relative motions need.

    Attributes:
        part: which.
        M: its joint-space inertia, (k, k) for its k entries of v.
        whole: whether pinocchio computes all terms, for somebody else than us.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        k = part.model.nv
        self.M = np.zeros((k, k))
        self.whole = not COMPILED or k < 2  # pinocchio hands a map of one column out as a vector
        self._above = _columns_above_each(part.model)
        self._rest = np.zeros(k)
        data = part.data  # whose arrays stay where they are
        self._J, self._Ag, self._armature = data.J, data.Ag, part.model.armature

    def update(self, q: Array, v: Array) -> None:
        """Compute all terms at its part of a state."""
        model, data = self.part.model, self.part.data
        pin.dccrba(model, data, q, v)  # the centroidal map and its derivative
        if self.whole:
            pin.computeAllTerms(model, data, q, v)
            np.copyto(self.M, data.M)
        else:
            pin.nonLinearEffects(model, data, q, v)
            joint_space_inertia(self._J, self._Ag, data.com[0], self._armature, *self._above, self.M)
        # last, as it leaves the accelerations of zero q̈ in the data: the drifts
        pin.centerOfMass(model, data, q, v, self._rest)


def gather_dynamics(forest: Forest, dynamics: list[PartDynamics], M: Array) -> None:
    """Take over from several parts what was computed of them: into the data of all, and M, (nv, nv)."""
    forest.gather()
    data = forest.data
    J, Ag, dAg, nle = data.J, data.Ag, data.dAg, data.nle
    masses = np.array([one.part.data.mass[0] for one in dynamics])
    coms = np.array([one.part.data.com[0] for one in dynamics])
    rates = np.array([one.part.data.vcom[0] for one in dynamics])
    mass = masses.sum()
    data.mass[0], data.com[0], data.vcom[0] = float(mass), masses @ coms / mass, masses @ rates / mass
    lever, lever_rate = np.empty((3, len(nle))), np.empty((3, len(nle)))
    for k, one in enumerate(dynamics):
        own, v = one.part.data, one.part.v
        M[v, v] = one.M
        nle[v] = own.nle
        for all_of_them, its in ((J, own.J), (Ag, own.Ag), (dAg, own.dAg)):
            all_of_them[:, v] = its if its.ndim == 2 else its[:, None]
        lever[:, v], lever_rate[:, v] = (coms[k] - data.com[0])[:, None], (rates[k] - data.vcom[0])[:, None]
        data.mass[one.part.joints.start] = own.mass[1]
    # momentum about the centre of mass of all instead of the part's own
    dAg[3:] += np.cross(lever, dAg[:3], axis=0) + np.cross(lever_rate, Ag[:3], axis=0)
    Ag[3:] += np.cross(lever, Ag[:3], axis=0)


def _columns_above_each(model: pin.Model) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where lists begin, and the lists: for each entry of v, the entries that move its joint."""
    lists = [
        columns_above(model, joint_id) for joint_id in range(1, model.njoints) for _ in range(model.joints[joint_id].nv)
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.intp)
    return starts, np.concatenate([*lists, np.zeros(0, dtype=np.intp)]).astype(np.intp)
