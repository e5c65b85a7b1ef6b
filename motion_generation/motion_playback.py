"""Motion generator that plays a synthesised motion: contacts, centre of mass, trunk, limbs and postures over time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from contact_invariant.motion import angular_motion, rotations
from contact_invariant.timed_plan import TimedPlan
from motion_generation.body_shift import pressed
from motion_generation.plan_feedback import PlanFeedback
from motion_generation.played_feet import FeetPlan, PlayedFeet
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.motion_generator import (
    GeneratorInput,
    GeneratorOutput,
    MotionGenerator,
    com_reference,
    pose_reference,
    posture_reference,
)
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.generators import MotionPlaybackSpec
from multi_qp_scene.schema.tasks import Axis, CoMTaskSpec, PoseTargetSpec, PoseTaskSpec, PostureTaskSpec

#: Stiffness of the tasks [1/s²].
COM, TRUNK, LIMB, POSTURE, OBJECT = 60.0, 100.0, 900.0, 60.0, 100.0
#: Least vertical component of the normal of a level surface.
LEVEL = 0.95
#: Axes of a limb that ends in a point.
POSITION: list[Axis] = ["x", "y", "z"]
POSE: list[Axis] = [*POSITION, "roll", "pitch", "yaw"]
#: Time between postures of a simplified motion [s]: noise of the inverse kinematics is not differentiated.
POSTURE_STEP = 0.1


class MotionPlayback(MotionGenerator):
    """Plays a timed plan from the start of its state on; afterwards it holds the last posture.

    Feet, the limbs that touch nothing but faces of the environment, land when they touch, and beside their
    places in the plan where a deviation of the body asks for it; the centre of mass moves with them. A refined plan has
    gains instead: tasks follow the accelerations that these ask for, but for limbs that touch an object, and limbs that
    end in an area while the contacts have three points or more, which follow their paths.

    Attributes:
        started_at: time of the start [s].
        plan: contacts, features and postures.
        feet: their contacts and displacements.
    """

    @dataclass
    class Checkpoint:
        """Time of the start, and the feet."""

        started_at: float
        feet: PlayedFeet.Checkpoint

    def __init__(self, name: str, spec: MotionPlaybackSpec, scenario: Scenario) -> None:
        """Read the motion.

        Raises:
            MultiQpError: when the file is no motion of this character, or a contact of it has no name.
        """
        super().__init__(name, spec, scenario)
        self._spec, self.started_at, self._missing = spec, 0.0, tuple[str, ...]()
        path = Path(spec.file)
        plan = TimedPlan.load(path if path.is_absolute() else scenario.path.parent / path)
        try:
            plan = plan.of(spec.subsystem)
        except MultiQpError as error:
            raise MultiQpError(f"generator '{name}': '{path}' is {error}") from None
        body = scenario.scene.subsystems[spec.subsystem]
        if plan.postures.shape[1] != body.q_slice.stop - body.q_slice.start:
            raise MultiQpError(f"generator '{name}': '{path}' is a motion of another character than '{body.name}'")
        model = scenario.scene.model
        couplings = set(scenario.scene.couplings.v_index)
        joints = [
            j
            for j in range(1, model.njoints)
            if body.joint_v_slice.start <= model.joints[j].idx_v < body.joint_v_slice.stop
            and model.joints[j].nv == model.joints[j].nq == 1
            and model.joints[j].idx_v not in couplings
        ]
        self._columns = np.array([model.joints[j].idx_q for j in joints]) - body.q_slice.start
        self._velocities = np.array([model.joints[j].idx_v for j in joints])
        self._limbs, scene = int(plan.limbs), scenario.scene
        surfaces = [scene.surfaces[str(surface)] for surface in plan.surfaces]
        self._frames, self._trunk = [one.frame_id for one in surfaces], scene.frame_id(body.base_link)
        self._points = [np.reshape(one.points, (-1, 3)) for one in surfaces]
        trunk = plan.touched[:, self._limbs :][:, plan.owners[self._limbs :] == body.name]
        self._feedback = PlanFeedback(scene, body.name, plan) if len(plan.gains) else None
        # without gains, one that lies or sits is no pendulum over its feet
        upright = self._feedback is not None or not (trunk != "").any()
        self._feet = feet_of_plan(scene, plan) if upright else []
        self._group = (body.name,)
        heights = plan.x[0, 2] - plan.x[0, [6 * i + 8 for i in self._feet]]
        height = float(np.mean(heights)) if self._feet else 1.0
        gravity = float(np.linalg.norm(model.gravity.linear))
        self.feet = PlayedFeet(self._plan_of_feet(plan), math.sqrt(gravity / max(height, 0.1)), gravity * body.mass)
        self._play(plan)
        here = PoseTargetSpec(frame="entry", position=(0.0, 0.0, 0.0))
        factor = 1.0 if self._feedback is None else 0.0
        self.tasks["com"] = CoMTaskSpec(type="com", subsystems=[body.name], weight=spec.com, stiffness=factor * COM)
        self.tasks["trunk"] = PoseTaskSpec(
            type="pose",
            frame=body.base_link,
            axes=["roll", "pitch", "yaw"],
            target=here,
            weight=spec.trunk,
            stiffness=factor * TRUNK,
        )
        for i in self._tracked_limbs():
            self.tasks[str(plan.effectors[i])] = PoseTaskSpec(
                type="pose",
                frame=str(plan.surfaces[i]),
                axes=POSITION if self._point(i) else POSE,
                target=here,
                weight=spec.limb,
                stiffness=factor * LIMB,
            )
        if str(plan.prop):
            self.tasks["object"] = PoseTaskSpec(
                type="pose",
                frame=scenario.scene.subsystems[str(plan.prop)].base_link,
                axes=POSE,
                target=here,
                weight=spec.object,
                stiffness=OBJECT,
            )
        self.tasks["posture"] = PostureTaskSpec(
            type="posture",
            subsystem=body.name,
            joints=[model.names[j].partition("/")[2] for j in joints],
            weight=spec.posture,
            stiffness=factor * POSTURE,
        )

    def _plan_of_feet(self, plan: TimedPlan) -> FeetPlan:
        """Return contacts and places of the feet; those in contact are on their surface, not a gap above it."""
        places = plan.x[:, 6 : 6 + 6 * self._limbs].reshape(len(plan.knots), self._limbs, 6)[:, self._feet, :3].copy()
        scene, touched = self.scenario.scene, plan.touched[:, self._feet] != ""
        normals = np.full_like(places, (0.0, 0.0, 1.0))
        for k, i in np.argwhere(touched)[::-1]:
            face = scene.model.frames[scene.surfaces[str(plan.touched[k, self._feet[i]])].frame_id].placement
            normals[: k + 1, i] = normal = face.rotation[:, 2]
            places[k, i] -= normal @ (places[k, i] - face.translation) * normal
        return FeetPlan(plan.knots, touched, places, normals, pressed(touched))

    def _play(self, plan: TimedPlan, start: tuple[Array, Array] | None = None) -> None:
        """Play a plan from `started_at` on; `start` are the joint angles and their velocities there, at rest if None.

        Raises:
            MultiQpError: a contact of it has no name.
        """
        self.plan = plan
        self._active = [self._contacts(row) for row in plan.touched]
        #: last phase of each effector with contact, -1 if there is none
        self._last = [
            max((k for k, row in enumerate(self._active) if i in row), default=-1) for i in range(len(plan.surfaces))
        ]
        self._features = CubicHermiteSpline(plan.knots, plan.x, plan.rates)
        self._feet_plan = self._plan_of_feet(plan)
        self.feet.play(self._feet_plan)
        self._angles = _angles(plan, self._columns, start)

    def _tracked_limbs(self) -> list[int]:
        """Return the limbs that have a task; of others only the posture is followed."""
        return [i for i in range(self._limbs) if self._last[i] >= 0]

    def _follows_path(self, i: int, *, held: bool) -> bool:
        """Return whether a limb follows its path whatever the gains ask for: a patch with an area can stop a deviation.

        Where the QP brakes a foot that passes the other one, gains answer with the trunk, and the foot falls behind.
        But on fewer than three points, as two hands, nothing stops a deviation but the limbs in the air.
        """
        return self._reaches(i) or (held and not self._point(i))

    def _reaches(self, i: int) -> bool:
        """Return whether an effector touches the object, whose contacts the gains do not know."""
        prop = str(self.plan.prop)
        return bool(prop) and any(str(other).startswith(f"{prop}/") for other in self.plan.touched[:, i])

    def _point(self, i: int) -> bool:
        """Return whether an effector is a point, about which its link may turn."""
        return self.scenario.scene.surfaces[str(self.plan.surfaces[i])].kind == "point"

    def _contacts(self, touched: Array) -> dict[int, str]:
        """Return the contact of each effector that touches a surface in a phase."""
        found = {}
        for i, surface in enumerate(touched.tolist()):
            if surface:
                key = f"{self.plan.effectors[i]} {surface}"
                if key not in self._spec.contacts:
                    raise MultiQpError(f"generator '{self.name}': `contacts` has no '{key}', which the motion makes")
                found[i] = self._spec.contacts[key]
        return found

    def contact_sets(self) -> Iterable[tuple[str, ...]]:
        """Return the contacts of each phase, and those of early and late landings."""
        sets = [self._names(k, on) for k, on in self._feet_plan.possible()]
        return list(dict.fromkeys([*(tuple(contacts.values()) for contacts in self._active), *sets]))

    def _names(self, phase: int, on: Collection[int]) -> tuple[str, ...]:
        """Return the contacts in a phase with some of the feet in contact."""
        chosen = {self._feet[k]: self._contact(self._feet[k], phase) for k in on}
        others = {i: name for i, name in self._active[phase].items() if i not in self._feet}
        return tuple(name for _, name in sorted((chosen | others).items()))

    def _contact(self, i: int, phase: int) -> str:
        """Return the present, next or last contact of an effector, "" if it has none."""
        rows = [*range(phase, len(self._active)), *range(phase - 1, -1, -1)]
        return next((self._active[k][i] for k in rows if i in self._active[k]), "")

    def start(self, now: GeneratorInput) -> None:
        """Start the motion."""
        self.started_at = now.time
        self.feet.start()

    def missing(self) -> tuple[str, ...]:
        """Return the contacts of feet that should have landed and have not."""
        return self._missing

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return contacts and references at this time of the motion."""
        plan, end = self.plan, float(self.plan.knots[-1])
        elapsed = now.time - self.started_at
        over = elapsed >= end - 1e-9
        t = min(elapsed, end)
        phase = len(plan.touched) - 1 if over else int(np.searchsorted(plan.knots, t + 1e-9, side="right")) - 1
        moving = 0.0 if over else 1.0
        x = self._features(t)
        rate, second = moving * self._features(t, 1), moving * self._features(t, 2)
        beside, drift, change = self._follow_feet(now, t, phase, x, rate)
        references = {"com": com_reference(x[:3] + beside, rate[:3] + drift, second[:3] + change)}
        references["posture"] = posture_reference(
            self._angles(t), moving * self._angles(t, 1), moving * self._angles(t, 2)
        )
        followed = {"trunk": 0}
        on = {i: bool(self.feet.on[k]) for k, i in enumerate(self._feet)}
        for i in range(self._limbs):
            late = i in on and i in self._active[phase]
            if not on.get(i, i in self._active[phase]) and (late or self._returns(i, phase)):
                followed[str(plan.effectors[i])] = i + 1
        if any(str(other).startswith(f"{plan.prop}/") for other in plan.touched[phase]):
            followed["object"] = self._limbs + 1
        rest = [*plan.rest, np.eye(3)]
        for name, k in followed.items():
            place, at = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            omega, alpha = angular_motion(x[None, at], rate[None, at], second[None, at])
            R = rotations(x[None, at])[0] @ rest[k]
            twist, acceleration = np.append(rate[place], omega[0]), np.append(second[place], alpha[0])
            position = x[place]
            if k - 1 in on:
                aside, speed, pull = self.feet.swing(self._feet.index(k - 1), t)
                position, twist[:3], acceleration[:3] = position + aside, twist[:3] + speed, acceleration[:3] + pull
            references[name] = pose_reference(position, R, twist, acceleration)
        if self._feedback is not None:
            touching = [i for i in range(len(plan.effectors)) if on.get(i, i in self._active[phase])]
            self._feedback.update(now.kinematics, t, phase, touching, moving=not over)
            held = sum(len(self._points[i]) for i in touching) >= 3
            self._feed_back(self._feedback, now.kinematics, t, references, held=held)
        names = self._names(phase, [k for k in range(len(self._feet)) if self.feet.on[k]])
        self._missing = tuple(sorted(set(self._active[phase].values()) - set(names)))
        return GeneratorOutput(names, references, done=over)

    def _feed_back(
        self, feedback: PlanFeedback, kinematics: Kinematics, time: float, references: dict[str, Array], *, held: bool
    ) -> None:
        """Write accelerations into the references: of the feedback, and those that return a limb to its path."""
        references["com"][2::3] = feedback.of_com(kinematics)
        references["posture"][2::3] = feedback.acceleration[self._velocities]
        references["trunk"][18:] = feedback.of_frame(kinematics, self._trunk)
        for i, frame in enumerate(self._frames[: self._limbs]):
            reference = references.get(str(self.plan.effectors[i]))
            if reference is None:
                continue
            asked = _returning(kinematics, frame, reference)
            if self._follows_path(i, held=held):
                reference[18:] += asked
                continue
            reference[18:] = feedback.of_frame(kinematics, frame)
            k = self._feet.index(i) if i in self._feet else None
            if k is not None and self.feet.late[k] > 0.0:
                normal = self.feet.normal(k, time)
                reference[18:21] += normal @ (asked[:3] - reference[18:21]) * normal

    def _follow_feet(
        self, now: GeneratorInput, t: float, phase: int, x: Array, rate: Array
    ) -> tuple[Array, Array, Array]:
        """Update the feet; return displacement of the centre of mass, its velocity and acceleration, (3,) each."""
        if not self._feet:
            return np.zeros(3), np.zeros(3), np.zeros(3)
        kinematics, feet, before = now.kinematics, self.feet, self.feet.body.rate
        poses = [kinematics.pose(self._frames[i]) for i in self._feet]
        places = np.array([pose.translation for pose in poses])
        forces = None
        if now.forces is not None:
            forces = [now.forces.get(self._contact(i, phase), 0.0) for i in self._feet]
        feet.update(t, now.dt, places, forces)
        if self._feedback is not None:  # the gains move the body, and the footholds of points
            return np.zeros(3), np.zeros(3), np.zeros(3)
        support = [
            (self._points[i] @ pose.rotation.T + pose.translation)[:, :2]
            for i, pose, on in zip(self._feet, poses, feet.on, strict=True)
            if on
        ]
        feet.correct(t, now.dt, self._divergence(kinematics, x, rate), places, np.vstack(support or [np.zeros((0, 2))]))
        found = np.zeros((3, 3))
        found[:, :2] = feet.body.place, feet.body.rate, (feet.body.rate - before) / now.dt
        return found[0], found[1], found[2]

    def _divergence(self, kinematics: Kinematics, x: Array, rate: Array) -> Array:
        """Return the error of the divergent component of motion against the plan, (2,) [m]."""
        group = kinematics.group(self._group)
        slower = group.com_velocity(kinematics)[:2] - rate[:2]
        return np.asarray(group.com(kinematics)[:2] - x[:2] + slower / self.feet.body.omega)

    def _returns(self, i: int, phase: int) -> bool:
        """Return whether a limb makes contact again after a phase."""
        return phase < self._last[i]


def _returning(kinematics: Kinematics, frame: int, reference: Array) -> Array:
    """Return the acceleration that returns a frame to a pose reference, critically damped, (6,) [m/s²], [rad/s²]."""
    pose, change = kinematics.pose(frame), reference[12:18] - kinematics.velocity(frame)
    turned = pin.log3(reference[3:12].reshape(3, 3) @ pose.rotation.T)
    away = np.append(reference[:3] - pose.translation, turned)
    return np.asarray(LIMB * away + 2.0 * math.sqrt(LIMB) * change)


def feet_of_plan(scene: Scene, plan: TimedPlan) -> list[int]:
    """Return the limbs that touch faces of the environment alone, and no other patch of whose link touches.

    Without gains, faces are level: feet move with the body, which is a pendulum over them. The contact force of a link
    does not tell whether its toes or its sole have landed.
    """
    links = [scene.surfaces[str(name)].joint_id for name in plan.surfaces]
    touching = [link for link, touched in zip(links, plan.touched.T, strict=True) if (touched != "").any()]
    limbs = range(int(plan.limbs))
    least = -1.0 if len(plan.gains) else LEVEL
    return [i for i in limbs if touching.count(links[i]) == 1 and _stands(scene, plan.touched[:, i], least)]


def _stands(scene: Scene, touched: NDArray[np.str_], least: float) -> bool:
    """Return whether all that an effector touches are faces whose normals have at least this vertical component."""
    surfaces = [scene.surfaces[str(name)] for name in np.unique(touched) if name]
    return bool(surfaces) and all(
        surface.joint_id == 0 and scene.model.frames[surface.frame_id].placement.rotation[2, 2] >= least
        for surface in surfaces
    )


def _angles(plan: TimedPlan, columns: Array, start: tuple[Array, Array] | None) -> CubicSpline:
    """Return joint angles over time, from columns of the postures, and angles and velocities of the start."""
    times, angles = plan.times, plan.postures[:, columns]
    if not plan.refined:
        end = float(plan.knots[-1])
        times = np.linspace(0.0, end, max(2, round(end / POSTURE_STEP) + 1))
        angles = np.array([np.interp(times, plan.times, column) for column in angles.T]).T
    if start is None:
        return CubicSpline(times, angles, bc_type="clamped")
    angles[0] = start[0]
    return CubicSpline(times, angles, bc_type=((1, start[1]), (1, np.zeros(len(columns)))))
