"""Standard ROS messages of a recorded tick, serialised without ROS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from multi_qp_controller.command import Command, Status
from multi_qp_ros import topics
from multi_qp_ros.cdr import clock_template, encode, encode_string, stamp
from multi_qp_ros.footprint import footprints
from multi_qp_ros.scene_templates import (
    FrameTemplates,
    JointStateTemplate,
    OdometryTemplate,
    command_template,
    effort_template,
    motor_names,
    wrench_template,
)
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.description import robot_descriptions
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

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
        subsystems = scene.subsystems.values()
        self._joints = [
            (f"/{topics.joint_states(s.name)}", JointStateTemplate(scene, s)) for s in subsystems if joints_of(scene, s)
        ]
        self._roots = [(f"/{topics.odom(s.name)}", OdometryTemplate(s)) for s in subsystems if s.floating]
        self._commands = [
            (topic, subsystem.actuated, template)
            for subsystem in subsystems
            if len(subsystem.actuated)
            for topic, template in (
                (f"/{topics.joint_commands(subsystem.name)}", command_template(motor_names(scene, subsystem))),
                (f"/{topics.effort_commands(subsystem.name)}", effort_template(len(subsystem.actuated))),
            )
        ]
        self._wrenches = {name: _Wrench(scenario, name) for name in scenario.spec.contacts}
        self._previous_wrenches: set[str] = set()
        self._frames = FrameTemplates(scene, tuple(footprints(scenario).values()))
        self.q0 = scene.q0

    def first(self) -> Iterator[SentMessages]:
        """Return the messages of the start of a run: robot descriptions."""
        try:
            for name, text in robot_descriptions(self._scenario).items():
                yield SentMessages(
                    f"/{topics.robot_description(name)}", "std_msgs/String", encode_string(text), latched=True
                )
        except MultiQpError:  # a file was deleted meanwhile; the recording does not need it
            return

    def frames(self, q: Array, time: int, *, fixed: bool) -> Iterator[SentMessages]:
        """Return the transforms at a configuration, (nq,), and a time [ns]."""
        data, kind = self._trees.place(q), "tf2_msgs/TFMessage"
        if fixed:
            yield SentMessages(TF_STATIC, kind, self._frames.fill(data, time, fixed=True), latched=True)
        yield SentMessages(TF, kind, self._frames.fill(data, time, fixed=False))

    def tick(self, state: State, command: Command, time: int) -> Iterator[SentMessages]:
        """Return the messages of a state and its command at a time [ns]."""
        yield SentMessages(topics.CLOCK, clock_template().kind, clock_template().fill(time, np.zeros(0)))
        for topic, joints in self._joints:
            yield SentMessages(topic, "sensor_msgs/JointState", joints.fill(state, time))
        for topic, root in self._roots:
            yield SentMessages(topic, "nav_msgs/Odometry", root.fill(state, time))
        for topic, actuated, template in self._commands:
            yield SentMessages(topic, template.kind, template.fill(time, command.tau[actuated]))
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
            "name": "multi_qp_controller: status",
            "message": d.message or f"in state '{d.state}'",
            "hardware_id": "multi_qp_controller",
            "values": [{"key": key, "value": str(value)} for key, value in {**values, **counts}.items()],
        }
        message = {"header": {"stamp": stamp(time)}, "status": [status]}
        kind = "diagnostic_msgs/DiagnosticArray"
        return SentMessages(topics.DIAGNOSTICS, kind, encode(kind, message))


class _Wrench:
    """Wrench of one contact on each of its two bodies, at the origin and in the frame of that body's surface."""

    def __init__(self, scenario: Scenario, contact: str) -> None:
        surfaces = scenario.spec.contacts[contact].surfaces
        self._first, self._second = (scenario.scene.surfaces[name].frame_id for name in surfaces)
        self._sides = [(f"/{topics.wrench(contact, name)}", wrench_template(name)) for name in surfaces]

    def reaction(self, wrench: Array, data: pin.Data) -> Array:
        X_second_first = data.oMf[self._second].actInv(data.oMf[self._first])
        return np.asarray(-X_second_first.act(pin.Force(wrench)).vector)

    def messages(self, on_first: Array, on_second: Array, time: int) -> Iterator[SentMessages]:
        for (topic, template), wrench in zip(self._sides, (on_first, on_second), strict=True):
            yield SentMessages(topic, template.kind, template.fill(time, wrench))
