"""Dynamics of the kinematic trees of a scene with pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics.dynamics_kernel import InertiaData, inertia_and_drifts
from multi_qp_scene.arrays import Array
from multi_qp_scene.kernel_data import KernelData
from multi_qp_scene.kinematic_trees import KinematicTrees, TreeGroup
from multi_qp_scene.scene import columns_above


class PartDynamics:
    """Inertia, nonlinear effects, drifts and kinematics of one part at one state.

    Attributes:
        part: the part.
        M: its joint-space inertia, (k, k) for its k entries of v.
        all_terms: whether pinocchio computes all terms of the data, as tsid requires.
    """

    def __init__(self, part: TreeGroup) -> None:
        self.part = part
        k = part.model.nv
        self.M = np.zeros((k, k))
        # pinocchio returns a map of one column as a vector
        self.all_terms = k < 2 or not part.views.shared
        self._rest = np.zeros(k)
        if self.all_terms:
            return
        data, views, model = part.data, part.views, part.model  # the addresses of the arrays are constant
        starts, above = _columns_above_each(model)
        self._inertia_data = KernelData(
            InertiaData(
                J=data.J,
                Ag=data.Ag,
                com=data.com[0],
                armature=model.armature,
                starts=starts,
                above=above,
                M=self.M,
                poses=views.poses,
                proper=views.proper,
                gravity=np.array(model.gravity.linear),
                drifts=views.drifts,
            )
        )

    def update(self, q: Array, v: Array) -> None:
        """Compute all terms at its part of a state."""
        model, data = self.part.model, self.part.data
        if self.all_terms:
            pin.dccrba(model, data, q, v)
            pin.computeAllTerms(model, data, q, v)
            np.copyto(self.M, data.M)
            # last, as it writes the accelerations at zero q̈, the drifts, into the data
            pin.centerOfMass(model, data, q, v, self._rest)
        else:
            pin.ccrba(model, data, q, v)  # centroidal map and composite inertias
            pin.nonLinearEffects(model, data, q, v)
            inertia_and_drifts(self._inertia_data.table)


def gather_dynamics(trees: KinematicTrees, dynamics: list[PartDynamics], M: Array) -> None:
    """Copy the results of several parts into the data of the whole scene, and into M, (nv, nv)."""
    trees.gather()
    data = trees.data
    J, Ag, nle = data.J, data.Ag, data.nle
    masses = np.array([one.part.data.oYcrb[1].mass for one in dynamics])
    coms = np.array([one.part.data.com[0] for one in dynamics])
    mass = masses.sum()
    data.mass[0], data.com[0] = float(mass), masses @ coms / mass
    lever = np.empty((3, len(nle)))
    for k, one in enumerate(dynamics):
        own, v = one.part.data, one.part.v
        M[v, v] = one.M
        nle[v] = own.nle
        for target, source in ((J, own.J), (Ag, own.Ag)):
            target[:, v] = source if source.ndim == 2 else source[:, None]
        lever[:, v] = (coms[k] - data.com[0])[:, None]
        data.oYcrb[one.part.joints.start] = own.oYcrb[1]
    # momentum about the centre of mass of the whole scene instead of that of the part
    Ag[3:] += np.cross(lever, Ag[:3], axis=0)


def _columns_above_each(model: pin.Model) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the entries of v that move the joint of each entry of v: first indices, and entries."""
    lists = [
        columns_above(model, joint_id) for joint_id in range(1, model.njoints) for _ in range(model.joints[joint_id].nv)
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.intp)
    return starts, np.concatenate([*lists, np.zeros(0, dtype=np.intp)]).astype(np.intp)
