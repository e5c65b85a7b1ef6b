"""The reference motion of a robot in a scene: joint angles, momentum and surfaces over time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from modal_control.surface_paths import SurfacePaths
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.references.joint_motion import JointMotion
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.cycle import repeated
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.modal import ModalSpec

#: Distance from which on a motion travels [m].
FAR = 0.3
#: Largest depth of a surface under the ground in a motion, and largest height at which one is planted [m].
DEEP, HIGH = 0.02, 0.03


class TrackedMotion:
    """A motion with its cycle, as a robot of a scene is to follow it; afterwards the last pose is held.

    Attributes:
        motion: the motion.
        duration: its duration [s].
        joints: names of the joints that a posture task can follow, without the robot's.
        angles: their angles.
        surfaces: paths of the surfaces of `contacts`.
        lifted: indices of those that leave the ground.
        rise: height of the ground for a horizontal displacement, (2,).
        v_index: indices of `joints` in the velocity of the scene.
        place: displacement of the motion on the ground.
        omega: natural frequency of the pendulum of the mean height of the centre of mass over the surfaces [1/s].
    """

    def __init__(self, name: str, spec: ModalSpec, scenario: Scenario) -> None:
        """Read the motion of a generator.

        Raises:
            MultiQpError: when the motion is of another robot, its contacts are not those of `contacts`, or it passes
                through the ground.
        """
        self._scenario, scene = scenario, scenario.scene
        self._body = body = scene.subsystems[spec.subsystem]
        motion = ReferenceMotion.beside(spec.motion, scenario.path)
        if spec.cycle is not None:
            motion = repeated(motion, spec.cycle.start, spec.cycle.end, spec.cycle.count)
        self._data = scene.model.createData()
        self.motion, self.duration = motion, float(motion.times[-1])
        entries = np.arange(body.joint_v_slice.start, body.joint_v_slice.stop)
        own = [scene.velocity_names[k].partition("/")[2] for k in entries]
        if not body.floating or (scene.angle_index[entries] < 0).any() or set(own) != set(motion.joints):
            raise MultiQpError(f"generator '{name}': the motion '{spec.motion}' is of another robot than '{body.name}'")
        planted = {one for one, on in zip(motion.surfaces, motion.contacts.T, strict=True) if on.any()}
        if planted != set(spec.contacts):
            raise MultiQpError(
                f"generator '{name}': `contacts` names {', '.join(sorted(spec.contacts))}; "
                f"planted in the motion: {', '.join(sorted(planted)) or 'none'}"
            )
        rows = motion.q[:, [*range(7), *(7 + motion.joints.index(joint) for joint in own)]]
        self._rows = np.array([scene.q0] * len(rows))
        self._rows[:, body.q_slice] = rows
        tasked = [joint for k, joint in zip(entries, own, strict=True) if k not in set(scene.couplings.v_index)]
        self.joints, self.place = tasked, pin.SE3.Identity()
        self.v_index = np.array([k for k in entries if k not in set(scene.couplings.v_index)])
        self.angles = JointMotion(motion.times, rows[:, [7 + own.index(joint) for joint in tasked]])
        self._contacts = motion.contacts[:, [motion.surfaces.index(surface) for surface in spec.contacts]]
        self.lifted = [int(i) for i in np.flatnonzero(~self._contacts.all(axis=0))]
        centroids, poses = self._sample([f"{body.name}/{surface}" for surface in spec.contacts])
        height = np.mean(centroids[:, 2]) - np.mean([X.translation[2] for path in poses for X in path])
        self.omega = math.sqrt(float(np.linalg.norm(scene.model.gravity.linear)) / max(float(height), 0.1))
        self.rise = math.tan(spec.slope) * _heading(centroids[:, :3])
        self._momenta = JointMotion(motion.times, _on_slope(centroids, self.rise))
        poses = [[_pose_on_slope(X, self.rise) for X in path] for path in poses]
        self.surfaces = SurfacePaths(motion.times, poses, self._contacts)
        for k, contact in enumerate(spec.contacts.values()):
            self._check_ground(name, spec, contact, poses[k], self._contacts[:, k])

    def _check_ground(
        self, name: str, spec: ModalSpec, contact: str, path: list[pin.SE3], planted: NDArray[np.bool_]
    ) -> None:
        """Check that a surface does not pass through the one that it is planted on, nor is planted above it.

        Raises:
            MultiQpError: when it does.
        """
        scene = self._scenario.scene
        ground = scene.surfaces[self._scenario.spec.contacts[contact].surfaces[1]]
        if ground.kind != "planar" or ground.joint_id != 0:
            return
        X = scene.model.frames[ground.frame_id].placement
        heights = np.array([X.actInv(pose).translation[2] for pose in path])
        for wrong, what in ((heights < -DEEP, "below"), (planted & (heights > HIGH), "above")):
            if wrong.any():
                k = int(np.argmax(np.where(wrong, np.abs(heights), 0.0)))
                raise MultiQpError(
                    f"generator '{name}': in the motion '{spec.motion}' the surface of '{contact}' is "
                    f"{100.0 * abs(heights[k]):.0f} cm {what} '{ground.name}' at {self.motion.times[k]:.2f} s"
                    f"{', where it is planted' if what == 'above' else ''}"
                )

    def contact_sets(self) -> list[tuple[int, ...]]:
        """Return the sets of surfaces that may be in contact: those of the motion, with early and late landings."""
        found: dict[tuple[int, ...], None] = {}
        rows = list(dict.fromkeys(tuple(row) for row in self._contacts.tolist()))
        for row in rows:
            found[tuple(int(i) for i in np.flatnonzero(row))] = None
        for row, other in itertools.permutations(rows, 2):
            found[tuple(int(i) for i in np.flatnonzero(np.array(row) & np.array(other)))] = None
        return list(found)

    def goal(self, time: float) -> tuple[Array, Array, Array]:
        """Return configuration, (nq,), centre of mass, (3,) [m], and momentum about it, (6,), at a time [s]."""
        target, _, _ = self._momenta.sample(time)
        R = self.place.rotation
        rate = np.concatenate([R @ target[3:6], R @ target[6:]]) if time < self.duration else np.zeros(6)
        return self._configuration(time), R @ target[:3] + self.place.translation, rate

    def put(self, place: pin.SE3) -> None:
        """Displace the motion on the ground."""
        self.place = self.surfaces.place = place

    def velocity(self, time: float) -> Array:
        """Return the velocity of the robot at a time [s], by differences, (nv,)."""
        times, model = self.motion.times, self._scenario.scene.model
        if not 0.0 <= time < self.duration:
            return np.zeros(model.nv)
        k = min(max(int(np.searchsorted(times, time, side="right")), 1), len(times) - 1)
        step = pin.difference(model, self._rows[k - 1], self._rows[k])
        return np.asarray(step / (times[k] - times[k - 1]))

    def com(self, q: Array) -> Array:
        """Return the centre of mass of the robot in a configuration of the scene, (3,) [m]."""
        pin.centerOfMass(self._scenario.scene.model, self._data, q, True)
        root = self._body.root_joints[0]
        return np.asarray(self._data.oMi[root].act(self._data.com[root]))

    def pose(self, time: float, shift: Array) -> Array:
        """Return the configuration of the robot at a time [s], moved on the ground by (2,) [m], (nq,)."""
        q = self._configuration(time)[self._body.q_slice].copy()
        q[:2] += shift
        q[2] += float(self.rise @ q[:2])
        return q

    def _configuration(self, time: float) -> Array:
        times = self.motion.times
        k = min(max(int(np.searchsorted(times, time, side="right")), 1), len(times) - 1)
        share = float(np.clip((time - times[k - 1]) / (times[k] - times[k - 1]), 0.0, 1.0))
        q = np.asarray(pin.interpolate(self._scenario.scene.model, self._rows[k - 1], self._rows[k], share))
        base = slice(self._body.q_slice.start, self._body.q_slice.start + 7)
        q[base] = pin.SE3ToXYZQUAT(self.place * pin.XYZQUATToSE3(q[base]))
        return q

    def _sample(self, surfaces: list[str]) -> tuple[Array, list[list[pin.SE3]]]:
        """Return centre of mass and momentum over time, (n, 9), and the poses of surfaces; rates are differences."""
        scene, times = self._scenario.scene, self.motion.times
        kinematics = Kinematics(scene)
        group = kinematics.group((self._body.name,))
        found, poses = np.zeros((len(times), 9)), [list[pin.SE3]() for _ in surfaces]
        for k, q in enumerate(self._rows):
            before, after = max(k - 1, 0), min(k + 1, len(times) - 1)
            steps = [pin.difference(scene.model, q, self._rows[other]) for other in (before, after)]
            kinematics.update(State(q, (steps[1] - steps[0]) / (times[after] - times[before])))
            found[k, :3] = group.com(kinematics)
            found[k, 3:] = group.momentum(kinematics)[1]
            for path, surface in zip(poses, surfaces, strict=True):
                path.append(kinematics.pose(scene.surfaces[surface].frame_id).copy())
        return found, poses


def _heading(path: Array) -> Array:
    """Return the direction in which a centre of mass travels, or x where it remains at its place, (2,)."""
    way = path[-1, :2] - path[0, :2]
    distance = float(np.linalg.norm(way))
    return np.asarray(way / distance) if distance > FAR else np.array([1.0, 0.0])


def _on_slope(centroids: Array, rise: Array) -> Array:
    """Return centre of mass and momentum sheared along the vertical, (n, 9).

    The height over the ground, and with it the zero-moment point of the motion, remain.
    """
    found = centroids.copy()
    found[:, 2] += centroids[:, :2] @ rise
    found[:, 5] += centroids[:, 3:5] @ rise
    return found


def _pose_on_slope(X: pin.SE3, rise: Array) -> pin.SE3:
    """Return a pose that was over level ground over a slope through the origin."""
    if not rise.any():
        return X
    up = np.append(-rise, 1.0)
    tilt = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), up / np.linalg.norm(up)).matrix()
    return pin.SE3(tilt @ X.rotation, X.translation + [0.0, 0.0, float(rise @ X.translation[:2])])
