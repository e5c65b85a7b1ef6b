"""Walking as a motion generator: the steps of a gait as contacts and task references."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatch

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.motion_generator import (
    GaitChange,
    GeneratorInput,
    GeneratorOutput,
    MotionGenerator,
    com_reference,
    heading_reference,
    posture_reference,
)
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import CoMTaskSpec, PoseTargetSpec, PoseTaskSpec, PostureTaskSpec, TaskSpec
from multi_qp_scene.schema.walking import ArmSwingSpec, WalkingSpec
from multi_qp_scene.surfaces import Surface
from walking.gait import GRAVITY, Gait, WalkingRobot, largest_velocity
from walking.gait_state import STAND, Measured, Walk
from walking.ground_height import ground_heights
from walking.stepper import Stepper
from walking.swing import write_pose
from walking.terrain import Terrain, outline_of, patch_of
from walking.velocity import VelocityCommand, random_schedule

#: Height of the centre of mass relative to the initial one, where it is not given.
CROUCH = 0.9
#: Room between the least and the nominal distance of the feet aside, where it is not given [m].
ROOM = 0.03
#: Normal force from which a foot has landed, where it is not given, relative to what it bears in the stance.
TOUCH_SHARE = 0.065
#: Simulated time of the warm-up, in which the robot starts to walk [s].
WARM_UP_TIME = 1.0


class WalkingGenerator(MotionGenerator):
    """Walks by a velocity command, see docs/walking.md.

    Attributes:
        subsystem: the robot.
        velocity: the velocity command.
        stepper: phases of the gait and preview.
        started_at: time of the start [s].
        gait_change: by another generator, for the next update; None for none.
    """

    @dataclass
    class Checkpoint:
        """States of command and gait."""

        started_at: float
        velocity: VelocityCommand.Checkpoint
        stepper: Walk
        gait_change: GaitChange | None

    def __init__(self, name: str, spec: WalkingSpec, scenario: Scenario) -> None:
        """Create it; nominal places of the feet and the posture are those of the initial configuration.

        Raises:
            MultiQpError: when a foot is a grasp, or not a surface of the subsystem.
        """
        super().__init__(name, spec, scenario)
        self._spec, scene = spec, scenario.scene
        self.subsystem = spec.subsystem
        self._feet = list(spec.feet)
        self._contacts = [[foot, *spec.treads.get(foot, [])] for foot in self._feet]  # by patch of the terrain
        surfaces = [scene.surfaces[scenario.spec.contacts[foot].surfaces[0]] for foot in self._feet]
        for foot, surface in zip(self._feet, surfaces, strict=True):
            if surface.kind == "grasp" or surface.name.split("/")[0] != spec.subsystem:
                raise MultiQpError(
                    f"generator '{name}': the first surface of contact '{foot}' must be a foot of '{spec.subsystem}'"
                )
        self._frames = [surface.frame_id for surface in surfaces]
        self._grounds = [scene.surfaces[scenario.spec.contacts[foot].surfaces[1]].frame_id for foot in self._feet]
        self._flat = [surface.kind != "point" for surface in surfaces]
        self._group_name = (spec.subsystem,)
        self._base = scene.subsystems[spec.subsystem].root_joints[0]
        kinematics = Kinematics(scene)
        kinematics.update(scene.initial_state())
        random = spec.random
        schedule = spec.velocity
        if random is not None and random.duration > 0.0:
            schedule = random_schedule(random, spec.limits)
        self._gait = _gait(spec)
        self._robot, self._heading, self._level = self._measure(kinematics, surfaces)
        limits = spec.limits
        possible = largest_velocity(self._robot, self._gait, stride=limits.stride, step_turn=limits.step_turn)
        self.velocity = VelocityCommand(schedule, limits, spec.route, possible=possible)
        self.stepper = Stepper(
            self._robot,
            self._gait,
            dt=scenario.spec.dt,
            limits=np.array([limits.ahead, limits.aside, limits.turn]),
            touch_force=self._touch_force(scene),
            swing_speed=spec.swing_speed,
            height_stiffness=spec.weights.height,
            terrain=self._terrain(kinematics, surfaces),
            rise=spec.rise,
        )
        self._joints = self._posture_joints()
        self._angles = np.array([joint.angle(scene.q0) for joint in self._joints.values()])
        self._arms = self._arm_swings()
        self.tasks = self._task_specs()
        self.started_at = 0.0
        self.gait_change: GaitChange | None = None

    def _touch_force(self, scene: Scene) -> float:
        """Return the normal force from which a swing foot has landed [N]."""
        if self._spec.touch_force is not None:
            return self._spec.touch_force
        mass = scene.subsystems[self._spec.subsystem].mass
        return TOUCH_SHARE * mass * GRAVITY / (len(self._spec.feet) / 2)

    def _measure(self, kinematics: Kinematics, surfaces: list[Surface]) -> tuple[WalkingRobot, float, list[Array]]:
        """Return the figures of the robot, its heading, and the rotation of each sole without heading."""
        spec = self._spec
        poses = [kinematics.pose(frame) for frame in self._frames]
        heading = float(self._base_place(kinematics)[2])
        to_body = pin.utils.rotate("z", -heading)
        feet = np.array([to_body @ pose.translation for pose in poses])
        places = feet[:, :2] - feet[:, :2].mean(axis=0)
        if spec.width is not None:
            places[:, 1] = np.sign(places[:, 1]) * spec.width / 2.0
        width = float(np.ptp(places[:, 1]))
        com = kinematics.group(self._group_name).com(kinematics)
        half = [
            self._half_sole(surface) if flat else np.zeros(2)
            for surface, flat in zip(surfaces, self._flat, strict=True)
        ]
        robot = WalkingRobot(
            places=places,
            half_soles=np.array(half),
            com_height=spec.height or CROUCH * float(com[2] - feet[:, 2].mean()),
            reach=spec.reach,
            least_width=max(0.0, width - ROOM) if spec.least_width is None else spec.least_width,
        )
        return robot, heading, [to_body @ pose.rotation for pose in poses]

    def _base_place(self, kinematics: Kinematics) -> Array:
        """Return x, y [m] and heading [rad] of the base, (3,)."""
        placement = kinematics.data.oMi[self._base]
        x, y, _ = placement.translation
        return np.array([x, y, math.atan2(placement.rotation[1, 0], placement.rotation[0, 0])])

    def _terrain(self, kinematics: Kinematics, surfaces: list[Surface]) -> Terrain | None:
        """Return the patches that the feet may step on; None where there is only the ground.

        Raises:
            MultiQpError: when a contact in `treads` is not one of this foot with a level surface of the environment, or
                when the feet have other surfaces to step on.
        """
        if not self._spec.treads:
            return None
        where, scene = f"generator '{self.name}': `treads`", self.scenario.scene
        onto = [[self.scenario.spec.contacts[contact].surfaces for contact in own] for own in self._contacts]
        for foot, own in zip(self._feet, onto, strict=True):
            if any(first != own[0][0] for first, _ in own):
                raise MultiQpError(f"{where} of '{foot}' must be contacts of the surface '{own[0][0]}'")
            if [second for _, second in own] != [second for _, second in onto[0]]:
                raise MultiQpError(f"{where} of '{foot}' must be with the same surfaces as those of '{self._feet[0]}'")
        outlines, heights = [], []
        for _, name in onto[0]:
            surface = scene.surfaces[name]
            level = surface.kind == "planar" and surface.joint_id == 0
            patch = patch_of(surface.points, kinematics.pose(surface.frame_id)) if level else None
            if patch is None:
                raise MultiQpError(f"{where}: '{name}' must be a level planar surface of the environment")
            outlines.append(patch[0])
            heights.append(patch[1])
        soles = [(R @ s.points.T).T[:, :2] for R, s in zip(self._level, surfaces, strict=True)]
        feet = [outline_of(scene, s, R) for R, s in zip(self._level, surfaces, strict=True)]
        return Terrain(outlines, heights, soles, feet)

    def _half_sole(self, surface: Surface) -> Array:
        """Return half length and half width of a sole without the margin, (2,) [m]."""
        extent = np.ptp(np.asarray(surface.points)[:, :2], axis=0) / 2.0
        return np.maximum(extent - self._spec.margin, 0.0)

    def _posture_joints(self) -> dict[str, ScalarJoint]:
        """Return the joints of the posture in the order of v."""
        model = self.scenario.scene.model
        subsystem = self.scenario.scene.subsystems[self._spec.subsystem]
        dependent = set(self.scenario.scene.couplings.v_index)
        found = {}
        for joint_id in range(1, model.njoints):
            v = model.joints[joint_id].idx_v
            inside = subsystem.joint_v_slice.start <= v < subsystem.joint_v_slice.stop
            own = model.names[joint_id].removeprefix(f"{self.subsystem}/")
            if any(fnmatch(own, pattern) for pattern in self._spec.excluded_joints):
                continue
            if inside and model.joints[joint_id].nv == 1 and v not in dependent:
                found[model.names[joint_id]] = ScalarJoint.of(model, model.names[joint_id])
        return found

    def _arm_swings(self) -> list[tuple[int, int, ArmSwingSpec]]:
        """Return index in the posture, index of the foot and figures of each joint that swings with a foot."""
        names = list(self._joints)
        return [(names.index(joint), self._feet.index(arm.foot), arm) for joint, arm in self._spec.arms.items()]

    def _task_specs(self) -> dict[str, TaskSpec]:
        spec, weights, contacts = self._spec, self._spec.weights, self.scenario.spec.contacts
        here = PoseTargetSpec(frame="entry", position=(0.0, 0.0, 0.0))
        # None is ever given up: conflicts are shorter than the time until a task is resumed.
        tasks: dict[str, TaskSpec] = {
            "com": CoMTaskSpec(type="com", subsystems=[spec.subsystem], weight=weights.com, stiffness=weights.height)
        }
        for foot, flat in zip(self._feet, self._flat, strict=True):
            tasks[foot] = PoseTaskSpec(
                importance=None,
                type="pose",
                frame=contacts[foot].surfaces[0],
                axes=["x", "y", "z", "roll", "pitch", "yaw"] if flat else ["x", "y", "z"],
                target=here,
                weight=weights.foot,
                stiffness=weights.foot_stiffness,
            )
        for link in spec.upright:
            tasks[f"upright {link}"] = PoseTaskSpec(
                importance=None,
                type="pose",
                frame=link,
                axes=["roll", "pitch", "yaw"],
                target=here,
                weight=weights.upright,
                stiffness=weights.upright_stiffness,
            )
        prefix = f"{spec.subsystem}/"
        tasks["posture"] = PostureTaskSpec(
            type="posture",
            subsystem=spec.subsystem,
            joints=[joint.removeprefix(prefix) for joint in self._joints],
            joint_weights={joint.removeprefix(prefix): weights.legs for joint in self._leg_joints()},
            weight=weights.posture,
            stiffness=weights.posture_stiffness,
        )
        return tasks

    def _leg_joints(self) -> list[str]:
        """Return the joints between the root and the feet."""
        model = self.scenario.scene.model
        above = {int(j) for frame in self._frames for j in model.supports[model.frames[frame].parentJoint]}
        return [model.names[j] for j in sorted(above) if model.names[j] in self._joints]

    def command(self, vx: float, vy: float, wz: float) -> None:
        """Command a body velocity in its heading [m/s, m/s, rad/s]; zero after the time-out of the limits.

        Raises:
            ArgumentError: when a component is not finite or absurd.
        """
        self.velocity.command(vx, vy, wz)

    def apply(self, change: GaitChange) -> None:
        """Walk slower, in another direction, lower or leaning at the next update."""
        self.gait_change = change

    def contact_sets(self) -> Iterable[tuple[str, ...]]:
        """Return all feet, and all without those of a group that swings, on neighbouring patches of the terrain."""
        terrain, spec = self.stepper.terrain, self._spec
        patches = [(0, 0)] if terrain is None else terrain.neighbours(spec.rise, spec.reach[0])
        sets: dict[tuple[str, ...], None] = {}
        for pair in patches:
            of_foot = {k: pair[g] for g, group in enumerate(self._gait.groups) for k in group}
            names = [self._contacts[k][of_foot[k]] for k in range(len(self._feet))]
            sets[tuple(names)] = None
            for group in self._gait.groups:
                landed = [()] if len(group) == 1 else [(), *((k,) for k in group)]
                for early in landed:
                    sets[tuple(name for k, name in enumerate(names) if k not in group or k in early)] = None
        return sets

    def start(self, now: GeneratorInput) -> None:
        """Stand on all feet."""
        self.started_at = now.time
        self.stepper.start(now.dt)
        if self.velocity.route is not None:
            self.velocity.route.start()

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Advance the gait by one tick."""
        kinematics, stepper = now.kinematics, self.stepper
        group, poses = kinematics.group(self._group_name), [kinematics.pose(frame) for frame in self._frames]
        measured = Measured(
            time=now.time,
            com=group.com(kinematics),
            velocity=group.com_velocity(kinematics),
            base=self._base_place(kinematics),
            feet=np.array([pose.translation for pose in poses]),
            yaws=np.array([self._yaw(k, pose) for k, pose in enumerate(poses)]),
            foot_rates=np.array([kinematics.velocity(frame) for frame in self._frames])[:, [0, 1, 2, 5]],
            forces=None,
        )
        if now.forces is not None:
            forces = np.array([[now.forces.get(contact, 0.0) for contact in own] for own in self._contacts])
            measured.forces, measured.patches = forces.max(axis=1), forces.argmax(axis=1).tolist()
        elif stepper.terrain is None:
            measured.ground = ground_heights(kinematics, self._grounds, measured.feet)
        elapsed = now.time - self.started_at
        # between the feet, as the centre of mass sways from foot to foot
        place = np.array([*measured.feet[:, :2].mean(axis=0), stepper.heading(measured)])
        change, self.gait_change = self.gait_change or GaitChange(), None
        velocity = self.velocity.update(now.time, elapsed, now.dt, place, factor=change.speed, added=change.velocity)
        stepper.lower(change.lower, now.dt)
        stepper.lean(change.lean, now.dt)
        stepper.update(measured, velocity)
        done = stepper.walk.phase == STAND and self.velocity.is_over(elapsed)
        walk = stepper.walk
        active = tuple(self._contacts[k][walk.patches[k]] for k, on in enumerate(walk.in_contact) if on)
        return GeneratorOutput(active, self._references(measured), done)

    def warm_up(self, now: GeneratorInput) -> None:
        """Update the gait as if the robot, at rest, were commanded to walk."""
        self.start(now)
        for k in range(round(WARM_UP_TIME / now.dt)):
            self.command(self.velocity.limits.ahead, 0.0, 0.0)
            self.update(replace(now, time=now.time + k * now.dt))

    def _yaw(self, k: int, pose: pin.SE3) -> float:
        if not self._flat[k]:
            return 0.0
        R = pose.rotation @ self._level[k].T
        return math.atan2(R[1, 0], R[0, 0])

    def _references(self, now: Measured) -> dict[str, Array]:
        stepper, walk = self.stepper, self.stepper.walk
        position, velocity, acceleration = now.com.copy(), now.velocity.copy(), np.zeros(3)
        position[2], velocity[2], acceleration[2] = stepper.com_height()
        acceleration[:2] = stepper.acceleration
        references = {"com": com_reference(position, velocity, acceleration)}
        for k, foot in enumerate(self._feet):
            if not walk.in_contact[k]:
                references[foot] = np.empty(24)
                write_pose(walk.swings[k], self._level[k], references[foot])
        yaw, rate = stepper.body_heading(now)
        pitch = float(walk.leaned[0]), float(walk.leaned[1]), float(walk.leaned[2])
        upright = heading_reference(yaw, rate, pitch=pitch)
        references |= {f"upright {link}": upright for link in self._spec.upright}
        references["posture"] = self._posture(now, yaw)
        return references

    def _posture(self, now: Measured, yaw: float) -> Array:
        """Return the reference of the posture; arms swing with the feet."""
        angles, rates = self._angles.copy(), np.zeros(len(self._angles))
        ahead = np.array([math.cos(yaw), math.sin(yaw)])
        for joint, foot, arm in self._arms:
            place, speed = self.stepper.foot_motion(foot, now)
            angle = arm.gain * float(ahead @ (place - now.com[:2]))
            if abs(angle) < arm.limit:
                rates[joint] += arm.gain * float(ahead @ (speed - now.velocity[:2]))
            angles[joint] += min(max(angle, -arm.limit), arm.limit)
        return posture_reference(angles, rates)


def _gait(spec: WalkingSpec) -> Gait:
    offsets, gait = np.array(spec.offsets) % 1.0, spec.gait
    first = offsets[0]
    groups = [tuple(np.flatnonzero(np.abs(offsets - phase) < 1e-6).tolist()) for phase in sorted({*offsets.tolist()})]
    if abs(first - min(offsets)) > 1e-6:
        groups.reverse()
    return Gait(groups=(groups[0], groups[1]), **dict(gait))
