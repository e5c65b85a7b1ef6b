"""Motion generator of modal-space control: the plan of the rigid modes as the rate of momentum of the QP.

The contact forces of a window are planned at each tick, [Jain2011] (12) to (16). Their sum and moment at present, with
gravity, are the reference of a momentum task; joint angles follow the motion by a posture task. The QP distributes the
contact forces itself, within its constraints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin

from modal_control.rigid_plan import RigidWeights, force_map, plan_window, rigid_axes
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.motion_generator import (
    GeneratorInput,
    GeneratorOutput,
    MotionGenerator,
    momentum_reference,
    posture_reference,
)
from multi_qp_controller.references.joint_motion import JointMotion
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.generators import ModalSpec
from multi_qp_scene.schema.tasks import MomentumTaskSpec, PostureTaskSpec
from multi_qp_scene.surfaces import Surface


class ModalGenerator(MotionGenerator):
    """Follows a reference motion from the start of its state on; afterwards it holds the last pose.

    Attributes:
        started_at: time of the start [s].
        multipliers: of the last plan, the start of the next one, (12,).
        motion: the reference motion.
    """

    @dataclass
    class Checkpoint:
        """Time of the start, and multipliers of the last plan."""

        started_at: float
        multipliers: Annotated[Array, 12]

    def __init__(self, name: str, spec: ModalSpec, scenario: Scenario) -> None:
        """Read the motion.

        Raises:
            MultiQpError: when the motion is of another robot, or its contacts change or are not those of `contacts`.
        """
        super().__init__(name, spec, scenario)
        self._spec, scene = spec, scenario.scene
        self._body = body = scene.subsystems[spec.subsystem]
        self.started_at, self.multipliers = 0.0, np.zeros(12)
        self.motion = motion = ReferenceMotion.beside(spec.motion, scenario.path)
        entries = np.arange(body.joint_v_slice.start, body.joint_v_slice.stop)
        own = [scene.velocity_names[k].partition("/")[2] for k in entries]
        if not body.floating or (scene.angle_index[entries] < 0).any() or set(own) != set(motion.joints):
            raise MultiQpError(f"generator '{name}': the motion '{spec.motion}' is of another robot than '{body.name}'")
        self._check_contacts()
        rows = motion.q[:, [*range(7), *(7 + motion.joints.index(joint) for joint in own)]]
        self._rows = np.array([scene.q0] * len(rows))
        self._rows[:, body.q_slice] = rows
        self._momenta = JointMotion(motion.times, self._centroids())
        tasked = [(k, joint) for k, joint in zip(entries, own, strict=True) if k not in set(scene.couplings.v_index)]
        self._joints = JointMotion(motion.times, rows[:, [7 + own.index(joint) for _, joint in tasked]])
        surfaces = [scene.surfaces[f"{body.name}/{surface}"] for surface in spec.contacts]
        self._surfaces = tuple(surfaces)
        self._weights = RigidWeights(
            position=spec.position,
            rotation=spec.rotation,
            rate=spec.rate,
            force=spec.force,
            friction=min(scenario.spec.contacts[contact].friction for contact in spec.contacts.values()),
            feed_forward=spec.feed_forward,
        )
        self.tasks["momentum"] = MomentumTaskSpec(
            type="momentum", subsystems=[body.name], weight=spec.momentum, stiffness=0.0
        )
        self.tasks["posture"] = PostureTaskSpec(
            type="posture",
            subsystem=body.name,
            joints=[joint for _, joint in tasked],
            weight=spec.posture,
            stiffness=spec.stiffness,
        )

    def _check_contacts(self) -> None:
        """Raise MultiQpError unless the contacts of the motion are constant and those of `contacts`."""
        motion, wanted = self.motion, set(self._spec.contacts)
        planted = {name for name, on in zip(motion.surfaces, motion.contacts.T, strict=True) if on.any()}
        if (motion.contacts != motion.contacts[0]).any():
            raise MultiQpError(
                f"generator '{self.name}': the contacts of the motion change, which it cannot follow yet"
            )
        if planted != wanted:
            raise MultiQpError(
                f"generator '{self.name}': `contacts` names {', '.join(sorted(wanted))}; "
                f"planted in the motion: {', '.join(sorted(planted)) or 'none'}"
            )

    def _centroids(self) -> Array:
        """Return centre of mass and momentum at each sample of the motion, (n, 9); velocities by differences."""
        scene, times = self.scenario.scene, self.motion.times
        kinematics = Kinematics(scene)
        group = kinematics.group((self._body.name,))
        found = np.zeros((len(times), 9))
        for k, q in enumerate(self._rows):
            before, after = max(k - 1, 0), min(k + 1, len(times) - 1)
            steps = [pin.difference(scene.model, q, self._rows[other]) for other in (before, after)]
            kinematics.update(State(q, (steps[1] - steps[0]) / (times[after] - times[before])))
            found[k, :3] = group.com(kinematics)
            found[k, 3:] = group.momentum(kinematics)[1]
        return found

    def contact_sets(self) -> Iterable[tuple[str, ...]]:
        """Return the contacts of the motion."""
        return [tuple(self._spec.contacts.values())]

    def warm_up(self, now: GeneratorInput) -> None:
        """Plan once."""
        self.start(now)
        self.update(now)

    def start(self, now: GeneratorInput) -> None:
        """Start the motion."""
        self.started_at, self.multipliers = now.time, np.zeros(12)

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return contacts, rate of momentum and joint angles of this tick."""
        elapsed = now.time - self.started_at
        references = {
            "momentum": momentum_reference(np.zeros(6), self._momentum_rate(now.kinematics, elapsed)),
            "posture": posture_reference(*self._joints.sample(elapsed)),
        }
        over = elapsed >= self.motion.times[-1] - 1e-9
        return GeneratorOutput(tuple(self._spec.contacts.values()), references, done=bool(over))

    def _momentum_rate(self, kinematics: Kinematics, elapsed: float) -> Array:
        """Return the rate of momentum about the centre of mass by the planned forces of now and gravity, (6,)."""
        spec, body = self._spec, self._body
        ahead = spec.window * spec.step
        group = kinematics.group((body.name,))
        A, h, _ = group.momentum(kinematics)
        com, mass = group.com(kinematics), group.mass(kinematics)
        axes = rigid_axes(kinematics.data.oYcrb[body.root_joints[0]].inertia)
        to_modes = np.zeros((6, 6))  # from momentum to rates of the rigid modes
        to_modes[:3, :3], to_modes[3:, 3:] = np.eye(3) / np.sqrt(mass), axes.T
        goal = self._configuration(elapsed + ahead)
        target, _, _ = self._momenta.sample(elapsed + ahead)
        over = elapsed + ahead >= self.motion.times[-1]
        change = A @ pin.difference(kinematics.model, kinematics.q, goal)[group.columns]
        change[:3] = mass * (target[:3] - com)  # exact instead of linear
        rate = np.zeros(6) if over else target[3:]
        load = np.append(mass * kinematics.gravity, np.zeros(3))
        free = np.concatenate([to_modes @ (ahead * h + 0.5 * ahead**2 * load), to_modes @ (h + ahead * load)])
        missed = free - np.concatenate([to_modes @ change, to_modes @ rate])
        points = np.vstack([self._points(kinematics, surface) for surface in self._surfaces])
        everywhere = np.arange(len(points))
        plan = plan_window(
            force_map(points, com=com, mass=mass, axes=axes),
            [everywhere] * spec.window,
            missed,
            dt=spec.step,
            weight=-float(load[2]),
            weights=self._weights,
            start=self.multipliers,
            held=True,
        )
        self.multipliers = plan.multipliers
        forces = plan.forces[: len(points)]
        return load + np.append(forces.sum(axis=0), np.cross(points - com, forces).sum(axis=0))

    def _configuration(self, time: float) -> Array:
        """Return the configuration of the motion at a time, (nq,)."""
        times = self.motion.times
        k = min(max(int(np.searchsorted(times, time, side="right")), 1), len(times) - 1)
        share = float(np.clip((time - times[k - 1]) / (times[k] - times[k - 1]), 0.0, 1.0))
        return pin.interpolate(self.scenario.scene.model, self._rows[k - 1], self._rows[k], share)

    @staticmethod
    def _points(kinematics: Kinematics, surface: Surface) -> Array:
        """Return the contact points of a surface, world frame, (k, 3)."""
        X = kinematics.pose(surface.frame_id)
        return np.asarray(surface.points @ X.rotation.T + X.translation)
