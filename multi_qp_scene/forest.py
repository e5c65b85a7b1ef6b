"""A scene's kinematic trees, computed by pinocchio in parts: its `Data` of a whole crowd would not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.pinocchio_views import JointViews

Array = NDArray[np.float64]

#: Up to so many degrees of freedom a scene is one part. A `pinocchio.Data` holds four tensors of nv³ numbers, which
#: nothing here uses: 70 MB of them at this size, 49 GB for 32 humanoids; and it does not exist without.
LARGEST_PART = 128


@dataclass(frozen=True)
class Part:
    """Some consecutive trees of a model, as a model of their own.

    Attributes:
        model: of them alone, without frames unless it is the whole model.
        data: of `model`, with all that pinocchio's algorithms want.
        joints: its joints in the whole model; in its own they begin at 1.
        q: its entries of q.
        v: its entries of v.
    """

    model: pin.Model
    data: pin.Data
    joints: slice
    q: slice
    v: slice

    @classmethod
    def of(cls, model: pin.Model, joints: slice) -> Part:
        """Make the part of these joints, whole trees."""
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
    def whole(cls, model: pin.Model) -> Part:
        """Take the whole model for a part."""
        return cls(model, model.createData(), slice(1, model.njoints), slice(0, model.nq), slice(0, model.nv))

    @cached_property
    def views(self) -> JointViews:
        """Views of `data`."""
        return JointViews(self.data)


class Forest:
    """The parts of a model, and what is known of all of them together.

    A scene up to `LARGEST_PART` is one part, a larger one has a part for each of its trees, that is for each subsystem.

    Attributes:
        model: of all.
        parts: in their order in q and v.
        data: of all. Where there are several parts it holds placements, velocities and accelerations of joints, the
            forces on them and what they carry, with room for placements of frames, for Jacobians and for the centroidal
            map; nothing else.
            Functions that read these may be given it (`getFrameJacobian`), algorithms may not (`crba`): they would
            write beyond its arrays.
    """

    def __init__(self, model: pin.Model, *, largest: float | None = None) -> None:
        """Make the parts; `largest`: degrees of freedom up to which there is only one, else `LARGEST_PART`."""
        self.model = model
        trees = [] if model.nv <= (LARGEST_PART if largest is None else largest) else _trees(model)
        if len(trees) < 2:
            self.parts: tuple[Part, ...] = (Part.whole(model),)
            self.data = self.parts[0].data
            return
        self.parts = tuple(Part.of(model, joints) for joints in trees)
        self.data = _room_for(model, self.parts)

    @property
    def is_one(self) -> bool:
        """Whether the whole model is one part."""
        return len(self.parts) == 1

    @cached_property
    def views(self) -> JointViews:
        """Views of `data`."""
        return self.parts[0].views if self.is_one else JointViews(self.data)

    def take_masses(self) -> None:
        """Take the masses that the model has now."""
        for part in self.parts if not self.is_one else ():
            for k, joint in enumerate(range(part.joints.start, part.joints.stop), 1):
                part.model.inertias[k] = self.model.inertias[joint]

    def place(self, q: Array, v: Array | None = None) -> pin.Data:
        """Return the data of all with the placements of joints and frames at q, (nq,), and velocities at v, (nv,)."""
        for part in self.parts:
            state = (q[part.q],) if v is None else (q[part.q], v[part.v])
            pin.forwardKinematics(part.model, part.data, *state)
        if not self.is_one:
            self.gather()
        pin.updateFramePlacements(self.model, self.data)
        return self.data

    def gather(self) -> None:
        """Take over from several parts what was computed of their joints."""
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


def place_frames(model: pin.Model, q: Array) -> pin.Data:
    """Return data of a scene's model with the the placements of joints and frames at a configuration, (nq,)."""
    return Forest(model).place(q)


def _trees(model: pin.Model) -> list[slice]:
    """Return the joints of each tree; nothing where trees are interwoven."""
    roots = [k for k in range(1, model.njoints) if model.parents[k] == 0]
    trees = [slice(a, b) for a, b in zip(roots, [*roots[1:], model.njoints], strict=True)]
    apart = all(model.parents[k] >= tree.start for tree in trees for k in range(tree.start + 1, tree.stop))
    return trees if apart else []


def _room_for(model: pin.Model, parts: tuple[Part, ...]) -> pin.Data:
    """Return data with room for what `Forest` keeps of all joints."""
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
    for part in parts:  # which column of J is above each, for the Jacobians of frames
        data.parents_fromRow.extend([k if k < 0 else k + part.v.start for k in part.data.parents_fromRow])
    return data
