"""Kinematic trees of a scene, computed by pinocchio in groups to bound the memory of `pinocchio.Data`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.pinocchio_views import JointViews

#: Number of degrees of freedom up to which a scene is one group. A `pinocchio.Data` always contains four tensors of nv³
#: numbers, which are not used here: 70 MB at this size, 49 GB for 32 humanoids.
LARGEST_PART = 128


@dataclass(frozen=True)
class TreeGroup:
    """Consecutive trees of a model, as a separate model.

    Attributes:
        model: model of these trees, without frames unless it is the whole model.
        data: data of `model`, usable by all algorithms of pinocchio.
        joints: its joints in the whole model; in its own model they begin at 1.
        q: its entries of q.
        v: its entries of v.
    """

    model: pin.Model
    data: pin.Data
    joints: slice
    q: slice
    v: slice

    @classmethod
    def of(cls, model: pin.Model, joints: slice) -> TreeGroup:
        """Build the group of these joints, which are complete trees."""
        first, last = model.joints[joints.start], model.joints[joints.stop - 1]
        q, v = slice(first.idx_q, last.idx_q + last.nq), slice(first.idx_v, last.idx_v + last.nv)
        own = pin.Model()
        own.gravity = model.gravity
        before = joints.start - 1
        for k in range(joints.start, joints.stop):
            parent = model.parents[k] - before if model.parents[k] else 0
            own.addJoint(parent, model.joints[k], model.jointPlacements[k], model.names[k])
            own.inertias[k - before] = model.inertias[k]
        own.armature = model.armature[v]
        return cls(own, own.createData(), joints, q, v)

    @classmethod
    def whole(cls, model: pin.Model) -> TreeGroup:
        """Use the whole model as one group."""
        return cls(model, model.createData(), slice(1, model.njoints), slice(0, model.nq), slice(0, model.nv))

    @cached_property
    def views(self) -> JointViews:
        """Views of `data`."""
        return JointViews(self.data)


class KinematicTrees:
    """The tree groups of a model, and joint quantities of the whole model.

    A scene up to `LARGEST_PART` is one group, a larger one has a group for each of its trees, that is for each
    subsystem.

    Attributes:
        model: the whole model.
        parts: its groups, in their order in q and v.
        data: data of the whole model. With several groups it contains placements, velocities and accelerations of
            joints, the forces on them, the centres of mass of their subtrees, and buffers for frame placements,
            Jacobians and the centroidal map only. It is valid for functions that read these (`getFrameJacobian`), not
            for algorithms (`crba`), which would write beyond its arrays.
    """

    def __init__(self, model: pin.Model, *, largest: float | None = None) -> None:
        """Build the groups; `largest`: degrees of freedom up to which there is only one, default `LARGEST_PART`."""
        self.model = model
        trees = [] if model.nv <= (LARGEST_PART if largest is None else largest) else _trees(model)
        if len(trees) < 2:
            self.parts: tuple[TreeGroup, ...] = (TreeGroup.whole(model),)
            self.data = self.parts[0].data
            return
        self.parts = tuple(TreeGroup.of(model, joints) for joints in trees)
        self.data = _allocate(model, self.parts)

    @property
    def is_one(self) -> bool:
        """Whether the whole model is one group."""
        return len(self.parts) == 1

    @cached_property
    def views(self) -> JointViews:
        """Views of `data`."""
        return self.parts[0].views if self.is_one else JointViews(self.data)

    def update_masses(self) -> None:
        """Copy the present masses of the model to its groups."""
        for part in self.parts if not self.is_one else ():
            for k, joint in enumerate(range(part.joints.start, part.joints.stop), 1):
                part.model.inertias[k] = self.model.inertias[joint]

    def place(self, q: Array, v: Array | None = None) -> pin.Data:
        """Return the data of the whole model with all placements at q, (nq,), and velocities at v, (nv,)."""
        for part in self.parts:
            state = (q[part.q],) if v is None else (q[part.q], v[part.v])
            pin.forwardKinematics(part.model, part.data, *state)
        if not self.is_one:
            self.gather()
        pin.updateFramePlacements(self.model, self.data)
        return self.data

    def gather(self) -> None:
        """Copy the joint quantities computed by several groups to the data of the whole model."""
        mine = self.views
        for part in self.parts:
            joints, own = part.joints, part.views
            own.refresh()
            mine.poses[joints] = own.poses[1:]
            mine.twists[joints] = own.twists[1:]
            mine.drifts[joints] = own.drifts[1:]
            mine.coms[joints] = own.coms[1:]
            mine.forces[joints] = own.forces[1:]
        mine.publish()


def placement_data(model: pin.Model) -> pin.Data:
    """Return data of a whole model for placements and velocities only, in a memory that is linear in its size.

    Valid for `forwardKinematics`, `updateFramePlacements` and `updateGeometryPlacements`.
    """
    data, n = pin.Data(), model.njoints
    data.joints.extend([joint.createData() for joint in model.joints])
    data.oMi.extend([pin.SE3.Identity() for _ in range(n)])
    data.liMi.extend([pin.SE3.Identity() for _ in range(n)])
    data.oMf.extend([pin.SE3.Identity() for _ in range(model.nframes)])
    data.v.extend([pin.Motion.Zero() for _ in range(n)])
    data.ov.extend([pin.Motion.Zero() for _ in range(n)])
    return data


def place_frames(model: pin.Model, q: Array) -> pin.Data:
    """Return data of a scene's model with joint and frame placements at a configuration, (nq,)."""
    data = placement_data(model)
    pin.framesForwardKinematics(model, data, q)
    return data


def _trees(model: pin.Model) -> list[slice]:
    """Return the joints of each tree; an empty list where the trees' joints are interleaved."""
    roots = [k for k in range(1, model.njoints) if model.parents[k] == 0]
    trees = [slice(a, b) for a, b in zip(roots, [*roots[1:], model.njoints], strict=True)]
    apart = all(model.parents[k] >= tree.start for tree in trees for k in range(tree.start + 1, tree.stop))
    return trees if apart else []


def _allocate(model: pin.Model, parts: tuple[TreeGroup, ...]) -> pin.Data:
    """Return data with buffers for the joint quantities of `KinematicTrees`."""
    data, n = pin.Data(), model.njoints
    data.oMi.extend([pin.SE3.Identity() for _ in range(n)])
    data.oMf.extend([pin.SE3.Identity() for _ in range(model.nframes)])
    data.v.extend([pin.Motion.Zero() for _ in range(n)])
    data.a.extend([pin.Motion.Zero() for _ in range(n)])
    data.a_gf.extend([pin.Motion.Zero() for _ in range(n)])
    data.f.extend([pin.Force.Zero() for _ in range(n)])
    data.oYcrb.extend([pin.Inertia.Zero() for _ in range(n)])
    data.com.extend([np.zeros(3)])
    data.mass.extend([0.0])
    data.J, data.Ag = (np.zeros((6, model.nv), order="F") for _ in range(2))
    data.nle = np.zeros(model.nv)
    for part in parts:  # parent columns of J, for frame Jacobians
        data.parents_fromRow.extend([k if k < 0 else k + part.v.start for k in part.data.parents_fromRow])
    return data
