"""Dynamics of one part of a scene, by pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics_kernel import INERTIA_KINDS, inertia_and_drifts
from multi_qp_scene.bundles import Bundle
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
        # pinocchio hands a map of one column out as a vector
        self.whole = not COMPILED or k < 2 or not part.views.shared
        self._rest = np.zeros(k)
        if self.whole:
            return
        data, views, model = part.data, part.views, part.model  # whose arrays stay where they are
        self._completed = Bundle(
            INERTIA_KINDS, data.J, data.Ag, data.com[0], model.armature, *_columns_above_each(model), self.M,
            views.poses, views.proper, np.array(model.gravity.linear), views.drifts,
        )  # fmt: skip

    def update(self, q: Array, v: Array) -> None:
        """Compute all terms at its part of a state."""
        model, data = self.part.model, self.part.data
        if self.whole:
            pin.dccrba(model, data, q, v)
            pin.computeAllTerms(model, data, q, v)
            np.copyto(self.M, data.M)
            # last, as it leaves the accelerations of zero q̈ in the data: the drifts
            pin.centerOfMass(model, data, q, v, self._rest)
        else:
            pin.ccrba(model, data, q, v)  # the centroidal map, and what each joint carries
            pin.nonLinearEffects(model, data, q, v)
            inertia_and_drifts(self._completed.table)


def gather_dynamics(forest: Forest, dynamics: list[PartDynamics], M: Array) -> None:
    """Take over from several parts what was computed of them: into the data of all, and M, (nv, nv)."""
    forest.gather()
    data = forest.data
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
        for all_of_them, its in ((J, own.J), (Ag, own.Ag)):
            all_of_them[:, v] = its if its.ndim == 2 else its[:, None]
        lever[:, v] = (coms[k] - data.com[0])[:, None]
        data.oYcrb[one.part.joints.start] = own.oYcrb[1]
    # momentum about the centre of mass of all instead of the part's own
    Ag[3:] += np.cross(lever, Ag[:3], axis=0)


def _columns_above_each(model: pin.Model) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where lists begin, and the lists: for each entry of v, the entries that move its joint."""
    lists = [
        columns_above(model, joint_id) for joint_id in range(1, model.njoints) for _ in range(model.joints[joint_id].nv)
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.intp)
    return starts, np.concatenate([*lists, np.zeros(0, dtype=np.intp)]).astype(np.intp)
