"""Serialised standard messages of a scene: joint states, odometry, commands, wrenches, transforms; without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from multi_qp_ros.cdr import Template
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem

if TYPE_CHECKING:
    from multi_qp_ros.footprint import Footprint


WORLD = "world"


class JointStateTemplate:
    """JointState of one subsystem: positions and velocities."""

    def __init__(self, scene: Scene, subsystem: Subsystem) -> None:
        joints = joints_of(scene, subsystem)
        self._v = np.array([joint.v_index for joint in joints], dtype=np.intp)
        self._q = np.array([joint.q_index for joint in joints], dtype=np.intp)
        self._continuous = np.array([joint.continuous for joint in joints], dtype=bool)
        names, n = [joint.name for joint in joints], len(joints)
        self._template = Template(
            "sensor_msgs/JointState",
            lambda time, x: {"header": {"stamp": time}, "name": names, "position": x[:n], "velocity": x[n:]},
            2 * n,
        )

    def fill(self, state: State, stamp: int) -> bytes:
        """Return the message of a state at a time [ns]."""
        angles = state.q[self._q]
        if self._continuous.any():
            at = self._q[self._continuous]
            angles[self._continuous] = np.arctan2(state.q[at + 1], state.q[at])
        return self._template.fill(stamp, np.concatenate([angles, state.v[self._v]]))


def command_template(names: list[str]) -> Template:
    """Return the template of efforts with joint names."""
    return Template(
        "sensor_msgs/JointState", lambda time, x: {"header": {"stamp": time}, "name": names, "effort": x}, len(names)
    )


def effort_template(count: int) -> Template:
    """Return the template of efforts for ros2_control's ForwardCommandController."""
    return Template("std_msgs/Float64MultiArray", lambda _, x: {"data": x}, count)


def motor_names(scene: Scene, subsystem: Subsystem) -> list[str]:
    """Return the names of a subsystem's actuated joints, without prefix, in the order of its commands."""
    return [scene.actuated_joint_names[k].partition("/")[2] for k in subsystem.actuated]


class OdometryTemplate:
    """Odometry of one floating subsystem: pose in the world, twist in the body frame (REP 105)."""

    def __init__(self, subsystem: Subsystem) -> None:
        q, v = subsystem.q_slice.start, subsystem.v_slice.start
        self._q, self._v = slice(q, q + 7), slice(v, v + 6)
        self._template = Template("nav_msgs/Odometry", partial(odometry, subsystem.base_link), 13)

    def fill(self, state: State, stamp: int) -> bytes:
        """Return the message of a state at a time [ns]."""
        return self._template.fill(stamp, np.concatenate([state.q[self._q], state.v[self._v]]))


def odometry(base_link: str, time: dict[str, int], x: list[float]) -> dict[str, object]:
    """Return an Odometry as nested mappings, of 13 numbers: pose in the world, twist in the frame `base_link`."""
    return {
        "header": {"stamp": time, "frame_id": WORLD},
        "child_frame_id": base_link,
        "pose": {"pose": {"position": _vector(x[:3]), "orientation": _quaternion(x[3:7])}},
        "twist": {"twist": {"linear": _vector(x[7:10]), "angular": _vector(x[10:13])}},
    }


def wrench_template(frame: str) -> Template:
    """Return the template of a wrench in a frame: force [N], then moment [N m]."""
    return Template(
        "geometry_msgs/WrenchStamped",
        lambda time, x: {
            "header": {"stamp": time, "frame_id": frame},
            "wrench": {"force": _vector(x[:3]), "torque": _vector(x[3:])},
        },
        6,
    )


class FrameTemplates:
    """Transforms of all links and surfaces relative to their parent links: `world` -> link -> surface.

    They are separated into fixed ones, published once, and moving ones, published with every state. Footprints of
    walking robots are further children of `world`.
    """

    def __init__(self, scene: Scene, footprints: Sequence[Footprint] = ()) -> None:
        self._footprints = {False: tuple(footprints), True: ()}
        frames = scene.model.frames
        surfaces = {surface.frame_id for surface in scene.surfaces.values()}
        self._edges: dict[bool, list[tuple[int, int]]] = {True: [], False: []}  # parent and child, by fixed
        for child in range(1, scene.model.nframes):
            if frames[child].type != pin.FrameType.BODY and child not in surfaces:
                continue
            parent = int(frames[child].parentFrame)
            while parent and frames[parent].type != pin.FrameType.BODY:
                parent = int(frames[parent].parentFrame)
            self._edges[frames[child].parentJoint == frames[parent].parentJoint].append((parent, child))
        self._templates = {fixed: self._template(scene.model, fixed) for fixed in (True, False)}

    def _template(self, model: pin.Model, fixed: bool) -> Template:
        names = [(model.frames[a].name if a else WORLD, model.frames[b].name) for a, b in self._edges[fixed]]
        names += [(WORLD, footprint.frame) for footprint in self._footprints[fixed]]

        def make(time: dict[str, int], x: list[float]) -> dict[str, object]:
            poses = np.reshape(x, (-1, 7)).tolist()
            return {
                "transforms": [
                    {
                        "header": {"stamp": time, "frame_id": parent},
                        "child_frame_id": child,
                        "transform": {"translation": _vector(pose[:3]), "rotation": _quaternion(pose[3:])},
                    }
                    for (parent, child), pose in zip(names, poses, strict=True)
                ]
            }

        return Template("tf2_msgs/TFMessage", make, 7 * len(names))

    def fill(self, data: pin.Data, stamp: int, *, fixed: bool) -> bytes:
        """Return the fixed or the moving transforms for placed frames at a time [ns]."""
        poses = data.oMf
        edges = self._edges[fixed]
        found = [pin.SE3ToXYZQUAT(poses[b] if a == 0 else poses[a].actInv(poses[b])) for a, b in edges]
        found += [pin.SE3ToXYZQUAT(footprint.pose(data)) for footprint in self._footprints[fixed]]
        return self._templates[fixed].fill(stamp, np.concatenate([*found, np.zeros(0)]))


def _vector(x: list[float]) -> dict[str, float]:
    return dict(zip("xyz", x, strict=True))


def _quaternion(x: list[float]) -> dict[str, float]:
    return dict(zip("xyzw", x, strict=True))
