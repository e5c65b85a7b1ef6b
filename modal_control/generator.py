"""Motion generator of modal-space control: the plan of the rigid modes as the rate of momentum of the QP.

The contact forces of a window are planned at each tick, [Jain2011] (12) to (16), at the present and the coming
footholds. Their sum and moment at present, with gravity, are the reference of a momentum task; joint angles and
surfaces in the air follow the motion. The QP distributes the contact forces itself, within its constraints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from modal_control.blend import Blend
from modal_control.character import force_points
from modal_control.footholds import Footholds
from modal_control.pace import Pace
from modal_control.placement import displacement_of, numbers_of, placement_on
from modal_control.push_detection import PUSHED, PushDetection
from modal_control.rigid_plan import RigidWeights, force_map, plan_window, rigid_axes
from modal_control.surface_paths import SurfacePaths
from modal_control.tracked_motion import TrackedMotion
from modal_control.window_length import WindowLengths
from multi_qp_controller.contacts.contact_gap import contact_gap, within_tolerance
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.motion_generator import (
    GeneratorInput,
    GeneratorOutput,
    MotionGenerator,
    momentum_reference,
    pose_reference,
    posture_reference,
)
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.modal import ModalSpec
from multi_qp_scene.schema.tasks import MomentumTaskSpec, PoseTargetSpec, PoseTaskSpec, PostureTaskSpec

#: Part of the weight of the rotation while footholds are corrected after a push: the moment that sets the trunk upright
#: at once drives the centre of mass off the feet.
LEANING = 0.3
#: Largest velocity of a hand against its handle at which it closes [m/s].
CLOSING = 0.2


class ModalGenerator(MotionGenerator):
    """Follows a reference motion from the start of its state on; afterwards it holds the last pose.

    Attributes:
        time: of the motion [s].
        multipliers: of the last plan, the start of the next one, (12,).
        tracked: the reference motion.
        started_at: time of the start [s].
        footholds: present contacts, and displacements from the motion.
        pace: speed of the motion.
        blend: displacement from the motion at the start.
        place: displacement of the motion on the ground: x, y [m] and heading [rad], (3,).
        window: present length of the window [steps].
        push: detection of pushes.
    """

    @dataclass
    class Checkpoint:
        """Time of the motion, contacts, and multipliers of the last plan."""

        time: float
        multipliers: Annotated[Array, 12]
        started_at: float
        footholds: Footholds.Checkpoint
        pace: Pace.Checkpoint
        blend: Blend.Checkpoint
        place: Annotated[Array, 3]
        window: int
        push: PushDetection.Checkpoint

    def __init__(self, name: str, spec: ModalSpec, scenario: Scenario) -> None:
        """Read the motion.

        Raises:
            MultiQpError: when the motion is of another robot, or its contacts are not those of `contacts`.
        """
        super().__init__(name, spec, scenario)
        self._spec, self._scenario, scene = spec, scenario, scenario.scene
        self._body = body = scene.subsystems[spec.subsystem]
        self.time, self.multipliers, self.started_at, self._missing = 0.0, np.zeros(12), 0.0, tuple[str, ...]()
        self.pace, self.blend, self.place = Pace(spec.speed, spec.slow_down), Blend(spec.blend, scene.nv), np.zeros(3)
        self.tracked = TrackedMotion(name, spec, scenario)
        self._lengths = None
        if not spec.window:
            self._lengths = WindowLengths(scene.model, body, self.tracked, step=spec.step, bound=spec.prediction_error)
        self.window, self.push = spec.window, PushDetection()
        self._surfaces = [scene.surfaces[f"{body.name}/{surface}"] for surface in spec.contacts]
        self._points = [force_points(surface) for surface in self._surfaces]
        self._contacts = list(spec.contacts.values())
        # in longer or shorter steps their angles are beside the motion, for which the trunk must not turn to make up
        soles = [self._surfaces[i] for i in self.tracked.lifted if self._surfaces[i].kind == "planar"]
        joints = {int(joint) for sole in soles for joint in scene.model.supports[sole.joint_id]}
        moved = [scene.model.joints[joint] for joint in sorted(joints - {0, *body.root_joints})]
        self._legs = np.array([k for joint in moved for k in range(joint.idx_v, joint.idx_v + joint.nv)], dtype=np.intp)
        self._paths: SurfacePaths = self.tracked.surfaces
        touched = [scene.surfaces[scenario.spec.contacts[contact].surfaces[1]] for contact in self._contacts]
        self._touched = [surface.frame_id for surface in touched]
        self._handles = {i: self._touched[i] for i, own in enumerate(self._surfaces) if own.kind == "grasp"}
        self.footholds = Footholds(
            self._paths,
            by_force=spec.landing == "touch",
            touch_force=spec.touch_force,
            omega=self.tracked.omega,
            grasps=self._handles,
        )
        self._weights = RigidWeights(
            position=spec.position,
            rotation=spec.rotation,
            rate=spec.rate,
            force=spec.force,
            friction=min(scenario.spec.contacts[contact].friction for contact in self._contacts),
            feed_forward=spec.feed_forward,
        )
        self._leaning = replace(self._weights, rotation=LEANING * self._weights.rotation)
        self.tasks["momentum"] = MomentumTaskSpec(
            type="momentum", subsystems=[body.name], weight=spec.momentum, stiffness=0.0
        )
        self.tasks["posture"] = PostureTaskSpec(
            type="posture",
            subsystem=body.name,
            joints=self.tracked.joints,
            weight=spec.posture,
            stiffness=spec.stiffness,
        )
        here = PoseTargetSpec(frame="entry", position=(0.0, 0.0, 0.0))
        for i in self.tracked.lifted:
            self.tasks[self._contacts[i]] = PoseTaskSpec(
                type="pose",
                frame=self._surfaces[i].name,
                axes=["x", "y", "z", "roll", "pitch", "yaw"],
                target=here,
                weight=spec.swing,
                stiffness=spec.swing_stiffness,
            )

    def contact_sets(self) -> Iterable[tuple[str, ...]]:
        """Return the sets of contacts of the motion, and those of early and late landings."""
        return [tuple(self._contacts[i] for i in own) for own in self.tracked.contact_sets()]

    def warm_up(self, now: GeneratorInput) -> None:
        """Plan once."""
        self.start(now)
        self.update(now)

    def start(self, now: GeneratorInput) -> None:
        """Start the motion, where the robot is if the specification says so."""
        spec, kinematics, tracked = self._spec, now.kinematics, self.tracked
        self.time, self.multipliers = spec.begin, np.zeros(12)
        self.started_at = now.time
        self.window = spec.window if self._lengths is None else self._lengths.at(spec.begin)
        self.pace.start()
        self.push.start()
        here = spec.place == "entry"
        places = [kinematics.pose(surface.frame_id) for surface in self._surfaces]
        if here:
            tracked.put(pin.SE3.Identity())
            on = np.flatnonzero(self._paths.planted(spec.begin))
            recorded = [self._paths.at(int(i), spec.begin) for i in on]
            poses = [pin.SE3(one.rotation, one.position) for one in recorded]
            tracked.put(placement_on(poses, [places[i] for i in on]))
            self.place = numbers_of(tracked.place)
        self.footholds.start(spec.begin, [X.translation for X in places] if here else None)
        if spec.blend:
            goal, _, _ = tracked.goal(spec.begin)
            own, model = self._body.v_slice, kinematics.model
            place, rate = np.zeros(model.nv), np.zeros(model.nv)
            rate[own] = (kinematics.v - self.pace.speed * tracked.velocity(spec.begin))[own]
            place[own] = pin.difference(model, goal, kinematics.q)[own]
            self.blend.start(place, rate)

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state."""
        super().set_state(saved)
        self.tracked.put(displacement_of(self.place))

    def missing(self) -> tuple[str, ...]:
        """Return the contacts that the motion has planted, and that have not landed."""
        return self._missing

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return contacts, rate of momentum, joint angles, and poses of surfaces in the air of this tick."""
        kinematics, footholds, time = now.kinematics, self.footholds, self.time
        chosen = self.changed.get("speed")
        places = [kinematics.pose(surface.frame_id).translation for surface in self._surfaces]
        forces = None if now.forces is None else [now.forces.get(contact, 0.0) for contact in self._contacts]
        speed = self.pace.update(
            now.time - self.started_at, now.dt, self._disturbance(kinematics), chosen, hurried=footholds.hurried
        )
        if self._lengths is not None:  # by one step a tick, so that the forces are continuous
            self.window += int(np.clip(self._lengths.at(time) - self.window, -1, 1))
        ahead = self.window * self._spec.step
        footholds.update(
            time,
            now.dt,
            places,
            forces,
            stride=self.setting("stride"),
            ahead=ahead,
            speed=speed,
            reached=[self._reaches(i, kinematics) for i in range(len(places))] if self._handles else None,
            above=[self._above(i, kinematics) for i in range(len(places))] if forces is None else (),
        )
        if self._spec.correct_steps:
            error, omega = self._divergence(kinematics)
            pushed = self.push.update(self._com_velocity(kinematics), now.dt) > PUSHED
            footholds.correct(time, now.dt, error, omega=omega, speed=speed, pushed=pushed)
        angles, rates, accelerations = self.tracked.angles.sample(time)
        angles, rates, accelerations = angles.copy(), speed * rates, speed**2 * accelerations
        elapsed, own = now.time - self.started_at, self.tracked.v_index
        for value, beside in zip((angles, rates, accelerations), self.blend.at(elapsed), strict=True):
            value += beside[own]
        rate = self._momentum_rate(kinematics, elapsed)
        mass = kinematics.group((self._body.name,)).mass(kinematics)
        self.push.plan(self._com_velocity(kinematics), rate[:2] / mass, now.dt)
        references = {
            "momentum": momentum_reference(np.zeros(6), rate),
            "posture": posture_reference(angles, rates, accelerations),
        }
        for i in self.tracked.lifted:
            if not footholds.on[i]:
                one, (offset, beside) = self._paths.at(i, time), footholds.swing(i, time, speed)
                rise = self.tracked.rise  # the ground beside the motion
                offset[2], beside[2] = offset[2] + rise @ offset[:2], beside[2] + rise @ beside[:2]
                twist = speed * one.twist + np.append(beside, np.zeros(3))
                references[self._contacts[i]] = pose_reference(
                    one.position + offset, one.rotation, twist, speed**2 * one.acceleration
                )
        active = tuple(contact for contact, on in zip(self._contacts, footholds.on, strict=True) if on)
        planted = zip(self._contacts, self._paths.planted(time), strict=True)
        self._missing = tuple(contact for contact, on in planted if on and contact not in active)
        self.time = time + speed * now.dt
        return GeneratorOutput(active, references, done=bool(time >= self.tracked.duration - 1e-9))

    def _reaches(self, i: int, kinematics: Kinematics) -> bool | None:
        """Return whether a hand is at its handle, slow enough to close; None for a surface that is no grasp."""
        if i not in self._handles:
            return None
        hand, handle = self._surfaces[i].frame_id, self._handles[i]
        if np.linalg.norm((kinematics.velocity(hand) - kinematics.velocity(handle))[:3]) > CLOSING:
            return False
        contact = self._contacts[i]
        surfaces = [self._scenario.scene.surfaces[name] for name in self._scenario.spec.contacts[contact].surfaces]
        gap = contact_gap(surfaces[0], surfaces[1], kinematics.pose(handle).actInv(kinematics.pose(hand)))
        return within_tolerance(self._scenario, contact, gap)

    def _above(self, i: int, kinematics: Kinematics) -> float:
        """Return the height of a surface above the one that it touches, along its normal [m]."""
        X = kinematics.pose(self._touched[i])
        return float(X.rotation[:, 2] @ (kinematics.pose(self._surfaces[i].frame_id).translation - X.translation))

    def followed(self) -> dict[str, Array]:
        """Return the configuration of the robot in the motion, beside which its footholds may be."""
        return {self._body.name: self.tracked.pose(self.time, self.footholds.body.place)}

    def _com_velocity(self, kinematics: Kinematics) -> Array:
        """Return the horizontal velocity of the centre of mass, (2,) [m/s]."""
        return kinematics.group((self._body.name,)).com_velocity(kinematics)[:2].copy()

    def _disturbance(self, kinematics: Kinematics) -> float:
        """Return the error of the velocity of the centre of mass [m/s]."""
        group = kinematics.group((self._body.name,))
        _, _, momentum = self.tracked.goal(self.time)
        wanted = self.pace.speed * momentum[:2] / group.mass(kinematics) + self.footholds.body.rate
        return float(np.linalg.norm(group.com_velocity(kinematics)[:2] - wanted))

    def _divergence(self, kinematics: Kinematics) -> tuple[Array, float]:
        """Return the error of the divergent component of motion, (2,) [m], and the frequency of the pendulum [1/s]."""
        group = kinematics.group((self._body.name,))
        com, places = group.com(kinematics), [kinematics.pose(one.frame_id).translation for one in self._surfaces]
        height = com[2] - np.mean([place[2] for place, on in zip(places, self.footholds.on, strict=True) if on] or 0.0)
        omega = math.sqrt(float(np.linalg.norm(kinematics.gravity)) / max(float(height), 0.1))
        _, target, momentum = self.tracked.goal(self.time)
        slower = self._com_velocity(kinematics) - self.pace.speed * momentum[:2] / group.mass(kinematics)
        return com[:2] - target[:2] + slower / omega, omega

    def _momentum_rate(self, kinematics: Kinematics, elapsed: float) -> Array:
        """Return the rate of momentum about the centre of mass by the planned forces of now and gravity, (6,)."""
        spec, body, time = self._spec, self._body, self.time
        ahead, speed = self.window * spec.step, self.pace.speed
        group = kinematics.group((body.name,))
        A, h, _ = group.momentum(kinematics)
        com, mass = group.com(kinematics), group.mass(kinematics)
        axes = rigid_axes(kinematics.data.oYcrb[body.root_joints[0]].inertia)
        to_modes = np.zeros((6, 6))  # from momentum to rates of the rigid modes
        to_modes[:3, :3], to_modes[3:, 3:] = np.eye(3) / math.sqrt(mass), axes.T
        goal, target, rate = self.tracked.goal(time + speed * ahead)
        moved_body = self.footholds.body
        rate = speed * rate + mass * np.append(moved_body.ahead_rate, np.zeros(4))
        if not self.blend.is_over(elapsed + ahead):
            beside, moved, _ = self.blend.at(elapsed + ahead)
            blended = pin.integrate(kinematics.model, goal, beside)
            target = target + self.tracked.com(blended) - self.tracked.com(goal)
            goal, rate = blended, rate + A @ moved[group.columns]
        beside_goal = pin.difference(kinematics.model, kinematics.q, goal)
        if self.setting("stride"):
            beside_goal[self._legs] = 0.0
        change = A @ beside_goal[group.columns]
        # exact instead of linear
        change[:3] = mass * (target + np.append(moved_body.ahead, self.tracked.rise @ moved_body.ahead) - com)
        load = np.append(mass * kinematics.gravity, np.zeros(3))
        free = np.concatenate([to_modes @ (ahead * h + 0.5 * ahead**2 * load), to_modes @ (h + ahead * load)])
        missed = free - np.concatenate([to_modes @ change, to_modes @ rate])
        points, bilateral, active = self._window(kinematics)
        plan = plan_window(
            force_map(points, com=com, mass=mass, axes=axes),
            active,
            missed,
            dt=spec.step,
            weight=-float(load[2]),
            weights=self._leaning if self.tracked.lifted and self.footholds.correcting else self._weights,
            start=self.multipliers,
            held=True,
            bilateral=bilateral,
        )
        self.multipliers = plan.multipliers
        own, forces = points[active[0]], plan.forces[: len(active[0])]
        return load + np.append(forces.sum(axis=0), np.cross(own - com, forces).sum(axis=0))

    def _window(self, kinematics: Kinematics) -> tuple[Array, NDArray[np.bool_], list[Indices]]:
        """Return the points of the window, (k, 3) [m], which are of grasps, and which are in contact at each step."""
        times: Array = self.time + self.pace.speed * self._spec.step * np.arange(self.window, dtype=float)
        schedule = self.footholds.schedule(times)
        places, owners = [], []
        for i, surface in enumerate(self._surfaces):
            lifted = int(np.argmin(schedule[:, i])) if not schedule[:, i].all() else len(times)
            if lifted:
                X = kinematics.pose(surface.frame_id)
                places.append(self._points[i] @ X.rotation.T + X.translation)
                owners.append((i, 0, lifted))
            if schedule[lifted:, i].any():
                next_one = self._paths.at(i, float(times[lifted + int(np.argmax(schedule[lifted:, i]))]))
                offset = self.footholds.offsets[i]
                place = next_one.position + np.append(offset, self.tracked.rise @ offset)
                places.append(self._points[i] @ next_one.rotation.T + place)
                owners.append((i, lifted, len(times)))
        active: list[list[int]] = [[] for _ in times]
        first = 0
        for i, begin, end in owners:
            count = len(self._points[i])
            for n in range(begin, end):
                if schedule[n, i]:
                    active[n] += range(first, first + count)
            first += count
        points = np.vstack(places) if places else np.zeros((0, 3))
        kinds = [self._surfaces[i].kind for i, _, _ in owners for _ in self._points[i]]
        grasps = np.array([kind == "grasp" for kind in kinds], dtype=bool)
        return points, grasps, [np.array(own, dtype=np.intp) for own in active]
