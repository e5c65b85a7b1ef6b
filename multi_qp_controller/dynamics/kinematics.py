"""Kinematics and dynamics of the scene, computed once per tick."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.dynamics.dynamics_kernel import CentroidData, NonlinearData, centroid, nonlinear_effects
from multi_qp_controller.dynamics.motion_table import FixedFrame, MotionTable, Pair
from multi_qp_controller.dynamics.tree_dynamics import PartDynamics, gather_dynamics
from multi_qp_controller.tsid_compat import tsid
from multi_qp_controller.vectors import cross
from multi_qp_scene.arrays import Array
from multi_qp_scene.kernel_data import KernelData
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem
from multi_qp_scene.surfaces import Surface


class Kinematics:
    """Dynamics and kinematics of the whole scene at one state.

    Attributes:
        scene: the scene.
        model: its pinocchio model.
        data: pinocchio data, filled by `update`; its accelerations are those at zero q̈, i.e. drifts. Read-only, and
            incomplete if the scene is computed in parts; see `KinematicTrees`.
        views: array views of `data`.
        q: configuration, (nq,).
        v: velocity, (nv,).
        M: joint-space inertia, block diagonal, (nv, nv).
        N: nonlinear effects, gravity and passive joint forces of (12), less `disturbance`, (nv,).
        disturbance: observed generalised force of what the model does not contain, (nv,) [N, N m].
        motions: table of relative motions that are computed together, or None.
        J: Jacobians of all joints in the data, (6, nv).
        Ag: the centroidal map of the data, (6, nv).
        gravity: world frame, (3,) [m/s²].
        watched: pairs of frames of that table.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model = scene.model
        self._centroids: dict[tuple[int, ...], Array] = {}
        self.gravity = np.array(scene.model.gravity.linear)
        self.q = scene.q0.copy()
        self.v = np.zeros(scene.nv)
        self.N = np.zeros(scene.nv)
        self.disturbance = np.zeros(scene.nv)
        self._allocate(KinematicTrees(scene.model))
        self.motions: MotionTable | None = None
        self._frames: dict[int, FixedFrame] = {}
        self._groups: dict[tuple[str, ...], Group] = {}
        self._points: dict[tuple[int, ...], tuple[NDArray[np.intp], Array]] = {}
        self.watched: tuple[Pair, ...] = ()

    def _allocate(self, trees: KinematicTrees) -> None:
        """Use this partition of the scene; allocate all arrays that depend on it."""
        self._trees, self.data, self.views = trees, trees.data, trees.views
        self._placements = self.data.oMf  # of frames; each access to the attribute makes a new wrapper
        self._tables: dict[tuple[Pair, ...], MotionTable] = {}
        self._parts = [PartDynamics(part) for part in trees.parts]
        self._single_part = self._parts[0] if trees.is_one else None
        nv = self.scene.nv
        self.M = self._parts[0].M if trees.is_one else np.zeros((nv, nv))
        Ag = self.data.Ag  # a view of the data
        J = self.data.J
        self.J = J if J.ndim == 2 else J[:, None]  # pinocchio returns a single column as a vector
        self.Ag = Ag if Ag.ndim == 2 else Ag[:, None]
        passive = self.scene.passive
        self._nonlinear = KernelData(
            NonlinearData(
                gravity_and_speed=self.data.nle,
                q_index=passive.q_index,
                v_index=passive.v_index,
                stiffness=passive.stiffness,
                rest=passive.rest,
                damping=passive.damping,
                friction=passive.friction,
                continuous=passive.continuous,
                smoothing=passive.SMOOTHING,
                N=self.N,
            )
        )
        self._masses: dict[tuple[int, ...], Array] = {}
        self._groups_data: dict[tuple[int, ...], KernelData] = {}

    def watch(self, pairs: Iterable[Pair]) -> None:
        """Compute the relative motions of these pairs of frames together, now and at every `update`."""
        watched = self.watched = tuple(pairs)
        self.motions = self._table(watched) if watched else None
        if self.motions is not None:
            self.motions.update()

    def _table(self, pairs: tuple[Pair, ...]) -> MotionTable:
        """Return the table of these pairs, cached for states that are entered again."""
        if pairs not in self._tables:
            self._tables[pairs] = MotionTable(self.model, self.views, self.data, pairs, self._frames)
        return self._tables[pairs]

    def update(self, state: State) -> None:
        """Compute all terms at `state`."""
        self.q, self.v = state.q, state.v
        trees = self._trees
        if self.scene.loads.joint_ids:
            trees.update_masses()
            self._masses.clear()
        if self._single_part is not None:
            self._single_part.update(state.q, state.v)
            self.views.refresh()
        else:
            for dynamics in self._parts:
                dynamics.update(state.q[dynamics.part.q], state.v[dynamics.part.v])
            gather_dynamics(trees, self._parts, self.M)
        pin.updateFramePlacements(self.model, self.data)
        self._centroids.clear()
        nonlinear_effects(state.q, state.v, self._nonlinear.table)
        if self.motions is not None:
            self.motions.update()

    @cached_property
    def robot(self) -> Any:
        """Tsid's wrapper of the model, for tsid's tasks; from now on `data` is computed completely."""
        if not self._trees.is_one:
            self._allocate(KinematicTrees(self.model, largest=np.inf))
            self.update(State(self.q, self.v))
            self.watch(self.watched)
        self._parts[0].all_terms = True
        return tsid.RobotWrapper(self.model, tsid.FIXED_BASE_SYSTEM, False)

    def fixed_frame(self, frame_id: int) -> FixedFrame:
        """Return joint, placement and columns of a frame."""
        if frame_id not in self._frames:
            self._frames[frame_id] = FixedFrame.of(self.model, frame_id)
        return self._frames[frame_id]

    def pose(self, frame_id: int) -> pin.SE3:
        """Return X_world_frame."""
        return self._placements[frame_id]

    def jacobian(self, frame_id: int) -> Array:
        """Return the Jacobian of a frame's twist, in that frame: linear rows, then angular, (6, nv)."""
        return pin.getFrameJacobian(self.model, self.data, frame_id, pin.LOCAL)

    def twist(self, frame_id: int) -> Array:
        """Return a frame's twist, in that frame, (6,) [m/s, rad/s]."""
        return pin.getFrameVelocity(self.model, self.data, frame_id, pin.LOCAL).vector

    def velocity(self, frame_id: int) -> Array:
        """Return the velocity of a frame's origin and its angular velocity, along the axes of the world, (6,)."""
        return pin.getFrameVelocity(self.model, self.data, frame_id, pin.LOCAL_WORLD_ALIGNED).vector

    def drift(self, frame_id: int) -> Array:
        """Return J̇v of a frame's spatial acceleration, in that frame, (6,)."""
        return pin.getFrameAcceleration(self.model, self.data, frame_id, pin.LOCAL).vector

    def point_motion(self, frame_id: int) -> tuple[Array, Array, Array]:
        """Return Jacobian (3, nv), velocity (3,) and drift (3,) of a frame's origin, along the axes of the world."""
        aligned = pin.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(self.model, self.data, frame_id, aligned)[:3]
        velocity = pin.getFrameVelocity(self.model, self.data, frame_id, aligned).linear
        drift = pin.getFrameClassicalAcceleration(self.model, self.data, frame_id, aligned).linear
        return J, velocity, drift

    def group(self, names: tuple[str, ...]) -> Group:
        """Return the group of these subsystems."""
        if names not in self._groups:
            self._groups[names] = Group.of(self.scene, list(names))
        return self._groups[names]

    def centroid(self, group: Group) -> Array:
        """Return centre of mass [m], velocity [m/s], drift [m/s²] and mass [kg] of a group, world frame, (10,)."""
        out = self._centroids.get(group.roots)
        if out is None:
            out = self._centroids[group.roots] = np.empty(10)
            centroid(self._root_masses(group), self.v, out, self._group_data(group).table)
        return out

    def _group_data(self, group: Group) -> KernelData:
        """Return the kernel data of a group."""
        data = self._groups_data.get(group.roots)
        if data is None:
            views = self.views
            data = self._groups_data[group.roots] = KernelData(
                CentroidData(
                    roots=group.root_array,
                    poses=views.poses,
                    coms=views.coms,
                    forces=views.forces,
                    gravity=self.gravity,
                    columns=group.columns,
                    Ag=self.Ag,
                )
            )
        return data

    def _root_masses(self, group: Group) -> Array:
        """Return the mass on each root joint of a group with the present loads, (k,) [kg]."""
        carried = self._masses.get(group.roots)
        if carried is None:
            bodies = self.data.oYcrb
            carried = self._masses[group.roots] = np.array([bodies[joint_id].mass for joint_id in group.roots])
        return carried

    def points_on(self, surfaces: tuple[Surface, ...]) -> tuple[NDArray[np.intp], Array]:
        """Return the joints that carry the contact points of surfaces, (k,), and the points in their frames, (k, 3)."""
        key = tuple([surface.frame_id for surface in surfaces])
        if key not in self._points:
            joints, points = [], []
            for surface in surfaces:
                frame = self.model.frames[surface.frame_id]
                joints += [frame.parentJoint] * len(surface.points)
                points += [frame.placement.act(point) for point in surface.points]
            self._points[key] = np.array(joints, dtype=np.intp), np.array(points).reshape(-1, 3)
        return self._points[key]

    def com(self, subsystem: Subsystem) -> Array:
        """Return the centre of mass of one subsystem, world frame, (3,) [m]."""
        total = np.zeros(3)
        for joint_id in subsystem.root_joints:
            total += self.data.oYcrb[joint_id].mass * self.data.oYcrb[joint_id].lever
        return total / self.mass(subsystem)

    def mass(self, subsystem: Subsystem) -> float:
        """Return the mass of one subsystem with its present loads [kg]."""
        return float(sum(self.data.oYcrb[joint_id].mass for joint_id in subsystem.root_joints))


@dataclass(frozen=True)
class Group:
    """Subsystems with a common centre of mass and centroidal momentum.

    Attributes:
        subsystems: its members.
        columns: their entries of v, (k,).
    """

    subsystems: tuple[Subsystem, ...]
    columns: NDArray[np.intp]

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Root joints of its members."""
        return tuple(joint_id for subsystem in self.subsystems for joint_id in subsystem.root_joints)

    @cached_property
    def root_array(self) -> NDArray[np.intp]:
        """The same as an array."""
        return np.array(self.roots, dtype=np.intp)

    @cached_property
    def where(self) -> slice | NDArray[np.intp]:
        """Its entries of v: a slice if they are consecutive in any order, else `columns`."""
        columns = np.sort(self.columns)
        consecutive = len(columns) > 0 and bool((np.diff(columns) == 1).all())
        return slice(int(columns[0]), int(columns[-1]) + 1) if consecutive else self.columns

    @classmethod
    def of(cls, scene: Scene, names: list[str]) -> Group:
        """Create the group of these subsystems."""
        members = tuple(scene.subsystems[name] for name in names)
        columns = np.concatenate([np.arange(s.v_slice.start, s.v_slice.stop) for s in members])
        return cls(members, columns)

    def mass(self, kinematics: Kinematics) -> float:
        """Return its mass with its present loads [kg]."""
        return float(kinematics.centroid(self)[9])

    def com(self, kinematics: Kinematics) -> Array:
        """Return its centre of mass, world frame, (3,) [m]."""
        return kinematics.centroid(self)[:3]

    def com_velocity(self, kinematics: Kinematics) -> Array:
        """Return the velocity of its centre of mass, world frame, (3,) [m/s]."""
        return kinematics.centroid(self)[3:6]

    def com_jacobian(self, kinematics: Kinematics, out: Array) -> None:
        """Write the Jacobian of its centre of mass into `out`, (3, nv); other subsystems' columns stay as they are."""
        out[:, self.where] = kinematics.Ag[:3, self.where] / self.mass(kinematics)

    def com_drift(self, kinematics: Kinematics) -> Array:
        """Return J̇v of its centre of mass, world frame, (3,) [m/s²]."""
        return kinematics.centroid(self)[6:9]

    def momentum(self, kinematics: Kinematics) -> tuple[Array, Array, Array]:
        """Return its momentum about its own centre of mass: map (6, k), momentum (6,), drift (6,).

        Rows are linear [N s], then angular [N m s], world axes. pinocchio's map is about the centre of mass c of the
        whole scene; moving the reference point to the group's c_g adds (c - c_g) × p to the angular part. The drift is
        the wrench on its root joints at q̈ = 0, and gravity, which has no moment about c_g.
        """
        data, com = kinematics.data, self.com(kinematics)
        A = kinematics.Ag[:, self.columns].copy()
        h = A @ kinematics.v[self.columns]
        lever, drift = data.com[0] - com, np.zeros(6)
        for joint_id in self.roots:
            wrench = data.oMi[joint_id].act(data.f[joint_id])
            drift += np.concatenate([wrench.linear, wrench.angular - cross(com, wrench.linear)])
        drift[:3] += self.mass(kinematics) * kinematics.gravity
        A[3:] += pin.skew(lever) @ A[:3]
        h[3:] += cross(lever, h[:3])
        return A, h, drift
