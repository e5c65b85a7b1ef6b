"""Reference motion that is edited as it is followed: footholds, body and speed, as in the generator of the QP."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from modal_control.character import ModalCharacter, displacement
from modal_control.footholds import Footholds
from modal_control.pace import Pace
from modal_control.push_detection import PUSHED, PushDetection
from modal_control.reference import StepReference
from modal_control.tracked_motion import TrackedMotion
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.modal import ModalSpec
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

#: Weight of the soles against that of the base, and largest number of iterations of the inverse kinematics.
SOLES, ITERATIONS = 10.0, 6


class MovingReference(StepReference):
    """States of a motion at the steps of a control, whose feet stand where those of the robot have landed.

    Footholds, the displacement of the body that belongs to them, and the speed are those of the generator `modal`;
    inverse kinematics puts the soles into their places, as [Jain2011] section 6 edits its motions.
    """

    def __init__(self, name: str, spec: ModalSpec, scenario: Scenario, character: ModalCharacter) -> None:
        """Create it at the begin of the motion.

        Args:
            name: of the generator.
            spec: its motion, edits and window.
            scenario: with the robot alone.
            character: the robot, with the surfaces of the specification in their order.
        """
        self._spec, self._character = spec, character
        self._tracked = tracked = TrackedMotion(name, spec, scenario)
        self._footholds = Footholds(
            tracked.surfaces, by_force=spec.landing == "touch", touch_force=spec.touch_force, omega=tracked.omega
        )
        self._pace, self._push = Pace(spec.speed, spec.slow_down), PushDetection()
        self._ik, scene = WholeBodyIk(scenario.scene, spec.subsystem), scenario.scene
        self._soles = [scene.surfaces[f"{spec.subsystem}/{surface}"].frame_id for surface in spec.contacts]
        root = scene.subsystems[spec.subsystem].root_joints[0]
        self._base, self._data = scene.model.getFrameId(scene.model.names[root]), scene.model.createData()
        self._gravity = float(np.linalg.norm(scene.model.gravity.linear))
        self.start()

    def start(self) -> None:
        """Begin at the first state."""
        self._time, self._step = self._spec.begin, 0
        self._footholds.start(self._time)
        self._pace.start()
        self._push.start()
        self._prepare()

    def __len__(self) -> int:
        """Return the number of steps to the end of the motion at its first speed, if it is slowed down once."""
        spec, slow = self._spec, self._spec.slow_down
        speed = spec.speed[0].factor if spec.speed else 1.0
        later = 0.0 if slow is None else slow.duration * (1.0 - slow.factor)
        return int(((self._tracked.duration - spec.begin) / speed + later) / spec.step + 1e-9) + 1

    def follow(self, step: int, q: Array, v: Array, forces: Array, *, blind: bool) -> None:
        """Process the state at a step.

        Args:
            step: index.
            q: configuration, (nq,).
            v: velocity in the coordinates of `character`, (nv,).
            forces: of the last step on each surface, world frame, (surfaces, 3) [N].
            blind: whether a push is not yet sensed.
        """
        if step == 0:
            self.start()
            return
        spec, dt, footholds, tracked = self._spec, self._spec.step, self._footholds, self._tracked
        self._time += self._pace.speed * dt
        self._step, time = step, self._time
        dynamics = self._character.linearise(q)
        com_rate = (dynamics.M[:3] @ v / dynamics.mass)[:2]
        _, target, momentum = tracked.goal(time)
        slower = com_rate - self._pace.speed * momentum[:2] / dynamics.mass
        disturbance = 0.0 if blind else float(np.linalg.norm(slower - footholds.body.rate))
        speed = self._pace.update(step * dt, dt, disturbance, None)
        pin.framesForwardKinematics(self._character.model, self._data, q)
        places = [self._data.oMf[sole].translation for sole in self._soles]
        normal = [float(force @ self._character.ground[:, 2]) for force in forces]
        footholds.update(time, dt, places, normal, stride=spec.stride, ahead=spec.window * dt, speed=speed)
        if spec.correct_steps:
            pushed = self._push.update(com_rate, dt) > PUSHED and not blind
            height = dynamics.com[2] - np.mean([p[2] for p, on in zip(places, footholds.on, strict=True) if on] or 0.0)
            omega = float(np.sqrt(self._gravity / max(float(height), 0.1)))
            error = dynamics.com[:2] - target[:2] + slower / omega
            footholds.correct(time, dt, error, omega=omega, speed=speed, pushed=pushed)
            self._push.plan(com_rate, forces.sum(axis=0)[:2] / dynamics.mass, dt)
        self._prepare()

    def _prepare(self) -> None:
        """Compute the contacts to come; states are computed when they are asked for."""
        dt, n = self._spec.step, self._spec.window
        times: Array = self._time + self._pace.speed * dt * np.arange(n + 2, dtype=float)
        self._schedule = self._footholds.schedule(times)
        self._poses: dict[int, Array] = {}

    def planted(self, step: int) -> NDArray[np.bool_]:
        """Return which surfaces are expected to be in contact at a step, (surfaces,)."""
        return np.asarray(self._schedule[min(max(step - self._step, 0), len(self._schedule) - 1)])

    def state(self, step: int) -> tuple[Array, Array]:
        """Return configuration and velocity at a step from the present one to the end of the window."""
        k, dt = step - self._step, self._spec.step
        return self._pose(k), displacement(self._pose(k - 1), self._pose(k + 1)) / (2.0 * dt)

    def configuration(self, step: int) -> Array:
        """Return the configuration at a step, (nq,)."""
        return self._pose(step - self._step)

    def _pose(self, k: int) -> Array:
        """Return the configuration in k steps, (nq,)."""
        if k not in self._poses:
            self._poses[k] = self._edited(k)
        return self._poses[k]

    def _edited(self, k: int) -> Array:
        tracked, footholds, dt = self._tracked, self._footholds, self._spec.step
        time = self._time + self._pace.speed * dt * k
        shift = self._shift(k)
        q = tracked.pose(time, shift)
        if not (tracked.rise.any() or shift.any() or footholds.late.any() or np.any(footholds.offsets)):
            return q
        pin.framesForwardKinematics(self._character.model, self._data, q)
        base = Placement(self._base, self._data.oMf[self._base].copy())
        soles = [Placement(frame, self._sole(i, k, time), weight=SOLES) for i, frame in enumerate(self._soles)]
        return self._ik.solve(q, [base, *soles], iterations=ITERATIONS, tolerance=1e-5).q

    def _shift(self, k: int) -> Array:
        """Return the displacement of the body in k steps, (2,) [m]: a cubic from the present one to that ahead."""
        body, n = self._footholds.body, self._spec.window
        x, duration = k / n, n * self._spec.step
        way = body.ahead - body.place
        first, last = duration * body.rate - way, way - duration * body.ahead_rate
        return np.asarray(body.place + x * way + x * (1.0 - x) * ((1.0 - x) * first + x * last))

    def _sole(self, i: int, k: int, time: float) -> pin.SE3:
        """Return the pose of a sole in k steps."""
        footholds, paths = self._footholds, self._tracked.surfaces
        planted = bool(self._schedule[min(max(k, 0), len(self._schedule) - 1), i])
        at, offset = time, np.append(footholds.offsets[i], 0.0)
        if planted and not paths.planted(time)[i]:  # it lands before the motion does
            at = paths.next_change(i, time)
        elif not planted and not footholds.on[i]:
            offset = footholds.swing(i, time, self._pace.speed)[0]
        elif not footholds.on[i]:
            offset[2] = -footholds.late[i]
        pose = paths.pose(i, at)
        offset[2] += float(self._tracked.rise @ offset[:2])
        return pin.SE3(pose.rotation, pose.translation + offset)
