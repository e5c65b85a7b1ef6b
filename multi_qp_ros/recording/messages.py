"""Standard ROS messages of a recorded tick, serialised without ROS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.command import Command, Status
from multi_qp_ros import topic_names
from multi_qp_ros.recording.cdr import Template, clock_template, encode, encode_string, stamp
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.description import robot_descriptions
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem

Array = NDArray[np.float64]

WORLD = "world"
TF, TF_STATIC = "/tf", "/tf_static"
_LEVEL = {Status.OK: 0, Status.REDUCED: 1, Status.RELAXED: 1, Status.FALLBACK: 2}


@dataclass(frozen=True)
class SentMessages:
    """One serialised message: topic, type and bytes, and whether the topic is latched (transient local)."""

    topic: str
    kind: str
    data: bytes
    latched: bool = False


class SceneMessages:
    """Serialiser of the messages of a scene, tick by tick.

    Attributes:
        q0: initial configuration, (nq,).
    """

    def __init__(self, scenario: Scenario) -> None:
        scene = scenario.scene
        self._scenario, self._scene = scenario, scene
        self._trees = KinematicTrees(scene.model)
        self._joints = [_Joints(scene, s) for s in scene.subsystems.values() if _has_joints(scene, s)]
        self._roots = [(s, _odometry(s)) for s in scene.subsystems.values() if s.floating]
        self._motors = [_Motors(scene, s) for s in scene.subsystems.values() if len(s.actuated)]
        self._wrenches = {name: _Wrench(scenario, name) for name in scenario.spec.contacts}
        self._previous_wrenches: set[str] = set()
        self._frames = _Frames(scene)
        self.q0 = scene.q0

    def first(self) -> Iterator[SentMessages]:
        """Return the messages of the start of a run: robot descriptions."""
        try:
            for name, text in robot_descriptions(self._scenario).items():
                yield SentMessages(
                    f"/{topic_names.robot_description(name)}", "std_msgs/String", encode_string(text), latched=True
                )
        except MultiQpError:  # a file was deleted meanwhile; the recording does not need it
            return

    def frames(self, q: Array, time: int, *, fixed: bool) -> Iterator[SentMessages]:
        """Return the transforms at a configuration, (nq,), and a time [ns]."""
        self._trees.place(q)
        if fixed:
            yield SentMessages(
                TF_STATIC,
                self._frames.fixed.kind,
                self._frames.fixed.fill(time, self._frames.numbers(True, self._trees.data)),
                latched=True,
            )
        yield SentMessages(
            TF, self._frames.moving.kind, self._frames.moving.fill(time, self._frames.numbers(False, self._trees.data))
        )

    def tick(self, state: State, command: Command, time: int) -> Iterator[SentMessages]:
        """Return the messages of a state and its command at a time [ns]."""
        yield SentMessages(topic_names.CLOCK, clock_template().kind, clock_template().fill(time, np.zeros(0)))
        for joints in self._joints:
            yield SentMessages(joints.topic, joints.template.kind, joints.template.fill(time, joints.numbers(state)))
        for subsystem, template in self._roots:
            numbers = np.concatenate([state.q[subsystem.q_slice][:7], state.v[subsystem.v_slice][:6]])
            yield SentMessages(f"/{topic_names.odom(subsystem.name)}", template.kind, template.fill(time, numbers))
        for motors in self._motors:
            efforts = command.tau[motors.actuated]
            yield SentMessages(motors.topic, motors.named.kind, motors.named.fill(time, efforts))
            yield SentMessages(motors.bare_topic, motors.bare.kind, motors.bare.fill(time, efforts))
        yield from self._contacts(state.q, command, time)

    def _contacts(self, q: Array, command: Command, time: int) -> Iterator[SentMessages]:
        on = command.wrenches
        if on or self._previous_wrenches:
            self._trees.place(q)
        zero = np.zeros(6)
        for name in sorted(self._previous_wrenches - on.keys()):  # zeros once after a contact is removed
            yield from self._wrenches[name].messages(zero, zero, time)
        self._previous_wrenches = set(on)
        for name, wrench in on.items():
            sides = self._wrenches[name]
            yield from sides.messages(wrench, sides.reaction(wrench, self._trees.data), time)

    def diagnostics(self, command: Command, time: int, counts: dict[str, int]) -> SentMessages:
        """Return the diagnostics of the controller at a time [ns], with counts of ticks."""
        d = command.diagnostics
        values = {
            "state": d.state,
            "solver": d.solver_status,
            "iterations": d.iterations,
            "tick_ms": f"{d.tick_ms:.3g}",
        }
        status = {
            "level": _LEVEL[d.status],
            "name": "multi_qp_controller",
            "message": d.message or f"in state '{d.state}'",
            "hardware_id": "multi_qp",
            "values": [{"key": key, "value": str(value)} for key, value in {**values, **counts}.items()],
        }
        message = {"header": {"stamp": stamp(time)}, "status": [status]}
        kind = "diagnostic_msgs/DiagnosticArray"
        return SentMessages(topic_names.DIAGNOSTICS, kind, encode(kind, message))


def _has_joints(scene: Scene, subsystem: Subsystem) -> bool:
    where = subsystem.joint_v_slice
    return where.stop > where.start


class _Joints:
    """JointState template of one subsystem."""

    def __init__(self, scene: Scene, subsystem: Subsystem) -> None:
        joints = joints_of(scene, subsystem)
        self.topic = f"/{topic_names.joint_states(subsystem.name)}"
        self._v = np.array([joint.v_index for joint in joints], dtype=np.intp)
        self._q = np.array([joint.q_index for joint in joints], dtype=np.intp)
        self._turning = np.array([joint.continuous for joint in joints], dtype=bool)
        names, n = [joint.name for joint in joints], len(joints)
        self.template = Template(
            "sensor_msgs/JointState",
            lambda time, x: {"header": {"stamp": time}, "name": names, "position": x[:n], "velocity": x[n:]},
            2 * n,
        )

    def numbers(self, state: State) -> Array:
        angles = state.q[self._q]
        if self._turning.any():
            at = self._q[self._turning]
            angles[self._turning] = np.arctan2(state.q[at + 1], state.q[at])
        return np.concatenate([angles, state.v[self._v]])


class _Motors:
    """Command templates of one robot."""

    def __init__(self, scene: Scene, subsystem: Subsystem) -> None:
        self.actuated = subsystem.actuated
        self.topic = f"/{topic_names.joint_commands(subsystem.name)}"
        self.bare_topic = f"/{topic_names.effort_commands(subsystem.name)}"
        names = [scene.actuated_joint_names[k].partition("/")[2] for k in subsystem.actuated]
        self.named = Template(
            "sensor_msgs/JointState",
            lambda time, x: {"header": {"stamp": time}, "name": names, "effort": x},
            len(names),
        )
        self.bare = Template("std_msgs/Float64MultiArray", lambda _, x: {"data": x}, len(names))


def _odometry(subsystem: Subsystem) -> Template:
    def make(time: dict[str, int], x: list[float]) -> dict[str, object]:
        pose = {"position": _vector(x[:3]), "orientation": {**_vector(x[3:6]), "w": x[6]}}
        twist = {"linear": _vector(x[7:10]), "angular": _vector(x[10:13])}
        return {
            "header": {"stamp": time, "frame_id": WORLD},
            "child_frame_id": subsystem.base_link,
            "pose": {"pose": pose},
            "twist": {"twist": twist},
        }

    return Template("nav_msgs/Odometry", make, 13)


class _Wrench:
    """Wrench of one contact on each of its two bodies, at the origin and in the frame of that body's surface."""

    def __init__(self, scenario: Scenario, contact: str) -> None:
        surfaces = scenario.spec.contacts[contact].surfaces
        self._first, self._second = (scenario.scene.surfaces[name].frame_id for name in surfaces)
        self._sides = [(f"/{topic_names.wrench(contact, name)}", _wrench_template(name)) for name in surfaces]

    def reaction(self, wrench: Array, data: pin.Data) -> Array:
        X_second_first = data.oMf[self._second].actInv(data.oMf[self._first])
        return np.asarray(-X_second_first.act(pin.Force(wrench)).vector)

    def messages(self, on_first: Array, on_second: Array, time: int) -> Iterator[SentMessages]:
        for (topic, template), wrench in zip(self._sides, (on_first, on_second), strict=True):
            yield SentMessages(topic, template.kind, template.fill(time, wrench))


def _wrench_template(frame: str) -> Template:
    return Template(
        "geometry_msgs/WrenchStamped",
        lambda time, x: {
            "header": {"stamp": time, "frame_id": frame},
            "wrench": {"force": _vector(x[:3]), "torque": _vector(x[3:])},
        },
        6,
    )


class _Frames:
    """Transform templates of the links and surfaces of a scene: moving and fixed relative to the parent."""

    def __init__(self, scene: Scene) -> None:
        frames = scene.model.frames
        surfaces = {surface.frame_id for surface in scene.surfaces.values()}
        self._edges: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for child in range(1, scene.model.nframes):
            if frames[child].type != pin.FrameType.BODY and child not in surfaces:
                continue
            parent = int(frames[child].parentFrame)
            while parent and frames[parent].type != pin.FrameType.BODY:
                parent = int(frames[parent].parentFrame)
            self._edges[frames[child].parentJoint == frames[parent].parentJoint].append((parent, child))
        self.fixed, self.moving = (self._template(scene.model, fixed) for fixed in (True, False))

    def _template(self, model: pin.Model, fixed: bool) -> Template:
        names = [(model.frames[a].name if a else WORLD, model.frames[b].name) for a, b in self._edges[fixed]]

        def make(time: dict[str, int], x: list[float]) -> dict[str, object]:
            return {
                "transforms": [
                    {
                        "header": {"stamp": time, "frame_id": parent},
                        "child_frame_id": child,
                        "transform": {
                            "translation": _vector(x[7 * k : 7 * k + 3]),
                            "rotation": {**_vector(x[7 * k + 3 : 7 * k + 6]), "w": x[7 * k + 6]},
                        },
                    }
                    for k, (parent, child) in enumerate(names)
                ]
            }

        return Template("tf2_msgs/TFMessage", make, 7 * len(names))

    def numbers(self, fixed: bool, data: pin.Data) -> Array:
        poses = data.oMf
        edges = self._edges[fixed]
        found = [pin.SE3ToXYZQUAT(poses[b] if a == 0 else poses[a].actInv(poses[b])) for a, b in edges]
        return np.concatenate([*found, np.zeros(0)])


def _vector(x: list[float]) -> dict[str, float]:
    return dict(zip("xyz", x, strict=True))
