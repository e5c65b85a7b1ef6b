"""Audit of a refined motion with the full model, by inverse dynamics on a fine grid, without the solver's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.optimize import nnls

from contact_invariant.audit import STEP, UNLOADED, Audit, Auditor, Finding, _Path, cone_edges
from contact_invariant.character import GRAVITY, Character
from contact_invariant.postures import Postures
from contact_invariant.whole_body import WholeBodyMotion, com_shifts, features_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Bounds: root force and moment [body weights, body weights · m], torque and joint speed relative to their limits,
#: distance of joints beyond their limits [rad].
RESIDUAL, RATIO, BEYOND = 0.01, 1.0, float(np.radians(2.0))
#: Weight of the root's rows relative to torques at their limits, and of forces in body weights.
FIRM, FORCE = 1e3, 1e-3

Features = Callable[[list[tuple[Array, ...]]], list[tuple[str, str, float]]]
"""Name, unit and value of each task feature, from (x, ẋ, shift) at the end of each phase, see `TaskTerms.values`."""


@dataclass(frozen=True)
class Dynamics:
    """Inverse dynamics on a grid.

    Attributes:
        forces: force [N] and moment [N m] of each patch in the world's axes, about its origin, (m, N, 6).
        torques: of the motors in the order of the scene, (m, na) [N m].
        residual: force [N] at the root of each body, and moment about its centre of mass [N m], that no contact
            explains, (m, bodies, 6).
    """

    forces: Array
    torques: Array
    residual: Array


@dataclass(frozen=True)
class RefinedAudit:
    """Findings about a motion of the full model.

    Attributes:
        findings: figures with their bounds.
        effort: mean over time of the sum of squared torques relative to their limits.
        postures: on the grid.
        velocities: on the grid, (m, nv).
        dynamics: on the grid.
    """

    findings: tuple[Finding, ...]
    effort: float
    postures: Postures
    velocities: Array
    dynamics: Dynamics

    @property
    def passed(self) -> bool:
        """Whether all bounds are met."""
        return all(finding.met for finding in self.findings)

    @property
    def missed(self) -> int:
        """Number of bounds that are not met."""
        return sum(not finding.met for finding in self.findings)

    def as_dict(self) -> dict[str, dict[str, float | str | bool]]:
        """Return the findings by name, for JSON."""
        return Audit(self.findings, self.postures).as_dict()


class RefinedAuditor(Auditor):
    """Audit of whole-body motions; figures on contacts, penetration, clearance and flight are those of `Auditor`."""

    def audit_refined(self, motion: WholeBodyMotion, knots: Array, features: Features) -> RefinedAudit:
        """Measure a motion.

        Args:
            motion: the motion.
            knots: ends of the phases, (K + 1,) [s].
            features: evaluates the task features.
        """
        count = round(float(motion.times[-1]) / STEP)
        times: Array = (np.arange(count, dtype=np.float64) + 0.5) * STEP
        q, v, a = motion.at(times)
        path = _WholeBodyPath(self._scene, self._character, motion, times, q, v)
        postures = Postures(times, q, np.zeros((count, 0)), np.zeros((count, 0)))
        dynamics = self._inverse_dynamics(path, q, v, a)
        findings = [
            *self._task(features(phase_ends(self._scene, self._character, motion, knots))),
            *self._roots(dynamics, times),
            *self._joints(dynamics, times, q, v),
            *self._contacts(path),
            *self._penetration(postures),
            self._clearance(path),
            self._flight(path, self._bearing(path, dynamics)),
        ]
        effort = float(((dynamics.torques / self._scene.torque_limits) ** 2).sum(axis=1).mean())
        return RefinedAudit(tuple(findings), effort, postures, v, dynamics)

    def _bearing(self, path: _WholeBodyPath, dynamics: Dynamics) -> NDArray[np.bool_]:
        """Return which patches are in contact and bear load, (m, N)."""
        forces = np.linalg.norm(dynamics.forces[..., :3], axis=2)
        weights = GRAVITY * np.array([self._character.bodies[e.body].mass for e in self._character.effectors])
        return path.in_contact & (forces > UNLOADED * weights)

    def _inverse_dynamics(self, path: _WholeBodyPath, q: Array, v: Array, a: Array) -> Dynamics:
        """Return forces inside the friction cones, at corners that touch, with which the torques are least."""
        scene, count = self._scene, len(q)
        model, data = scene.model, scene.model.createData()
        weight = self._character.mass * GRAVITY
        forces = np.zeros((count, len(self._character.effectors), 6))
        bodies, torques = self._character.bodies, np.zeros((count, scene.na))
        roots = [slice(first, first + 6) for first in (int(model.joints[body.root].idx_v) for body in bodies)]
        residual, scale = np.zeros((count, len(bodies), 6)), np.zeros(scene.nv)
        scale[scene.actuated_v] = 1.0 / scene.torque_limits
        for body, root in zip(bodies, roots, strict=True):
            scale[root] = FIRM / (body.mass * weight)
        for m in range(count):
            needed = np.asarray(pin.rnea(model, data, q[m], v[m], a[m])).copy()
            pin.computeJointJacobians(model, data, q[m])
            pin.updateFramePlacements(model, data)
            pushes, explained = self._pushes(path, m, data), np.zeros(scene.nv)
            if pushes:
                A = np.vstack([columns for _, _, columns in pushes]).T
                rows = np.vstack([A * scale[:, None] * weight, np.eye(A.shape[1]) * FORCE])
                effectors = self._character.effectors
                least = np.concatenate([np.full(len(w), -effectors[i].grip / len(w)) for i, w, _ in pushes])
                wanted = np.append(needed * scale, np.zeros(A.shape[1])) - rows @ least
                amounts = weight * (least + nnls(rows, wanted)[0])
                explained = A @ amounts
                ends = np.cumsum([len(wrenches) for _, wrenches, _ in pushes])
                for (i, wrenches, _), own in zip(pushes, np.split(amounts, ends[:-1]), strict=True):
                    forces[m, i] = own @ wrenches
            rest = needed - explained
            torques[m] = rest[scene.actuated_v]
            pin.centerOfMass(model, data, q[m], True)
            for k, (body, root) in enumerate(zip(bodies, roots, strict=True)):
                R = data.oMi[body.root].rotation
                force, moment = R @ rest[root][:3], R @ rest[root][3:]
                residual[m, k] = np.concatenate([force, moment - np.cross(R @ data.com[body.root], force)])
        return Dynamics(forces, torques, residual)

    def _pushes(self, path: _WholeBodyPath, m: int, data: pin.Data) -> list[tuple[int, Array, Array]]:
        """Return each effector with forces, their wrenches and generalised forces, (e, 6) and (e, nv).

        They are those of the edges of the friction cones, of unit normal force.
        """
        found = []
        for i, effector in enumerate(self._character.effectors):
            if not path.in_contact[m, i]:
                continue
            frame = self._scene.surfaces[effector.surface].frame_id
            J = pin.getFrameJacobian(self._scene.model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            surroundings, at, R = path.frame(self._surroundings, i, m)
            if path.names[m, i] in [face.name for face in surroundings.faces]:  # at an edge another one is as near
                surroundings = surroundings.only(path.names[m, i])
            corners, edges = cone_edges(surroundings, self._friction, (path.corners[m, i] - at) @ R)
            places, f = at + corners @ R.T, edges @ R.T
            wrenches = np.hstack([f, np.cross(places - data.oMf[frame].translation, f)])
            columns, body = wrenches @ J, int(path.touched[m, i])
            if body >= 0:
                link = path.links[body]
                J_link = pin.getJointJacobian(self._scene.model, data, link, pin.LOCAL_WORLD_ALIGNED)
                columns -= np.hstack([f, np.cross(places - data.oMi[link].translation, f)]) @ J_link
            if len(f):
                found.append((i, wrenches, columns))
        return found

    def _roots(self, dynamics: Dynamics, times: Array) -> list[Finding]:
        found = []
        for k, body in enumerate(self._character.bodies):
            weight = body.mass * self._character.mass * GRAVITY
            unit = "body weights" if k < len(self._character.names) else "its weight"
            for figure, first in (("force", 0), ("moment", 3)):
                e = np.linalg.norm(dynamics.residual[:, k, first : first + 3], axis=1) / weight
                value, where = float(np.sqrt((e**2).mean())), f"largest {e.max():.3f}, t = {times[e.argmax()]:.2f} s"
                name, of = f"{self._character.label(k)} {figure}", unit + (" · m" if first else "")
                found.append(Finding(name, value, RESIDUAL, of, where, value <= RESIDUAL))
        return found

    def _joints(self, dynamics: Dynamics, times: Array, q: Array, v: Array) -> list[Finding]:
        scene, limits = self._scene, self._scene.limits
        angles = q[:, limits.q_index]
        beyond = np.maximum(limits.lower - angles, angles - limits.upper)
        names = [scene.velocity_names[k] for k in limits.v_index]
        figures = (
            (
                "torque",
                np.abs(dynamics.torques) / scene.torque_limits,
                RATIO,
                "of the limit",
                scene.actuated_joint_names,
            ),
            ("joint speed", np.abs(v[:, limits.v_index]) / limits.velocity, RATIO, "of the limit", names),
            ("joint limits", np.maximum(beyond, 0.0), BEYOND, "rad", names),
        )
        found = []
        for name, values, bound, unit, joints in figures:
            m, j = np.unravel_index(int(values.argmax()), values.shape)
            value = float(values[m, j])
            found.append(Finding(name, value, bound, unit, f"{joints[j]}, t = {times[m]:.2f} s", value <= bound))
        return found


class _WholeBodyPath(_Path):
    """Patches of the full model on a grid, as the audit of simplified motions has them.

    `names` are those of the surfaces in contact, (m, N); `links` are the joints of what patches may touch of each body;
    `bodies` is where these are.
    """

    def __init__(
        self, scene: Scene, character: Character, motion: WholeBodyMotion, times: Array, q: Array, v: Array
    ) -> None:
        names = motion.contacts(times)
        self.times, self.names, self.in_contact, self._character = times, names, names != "", character
        limbs = len(character.limbs)
        self.corners = np.zeros((len(times), len(character.effectors), 4, 3))
        self.speeds = np.zeros((len(times), limbs, 3))
        data = scene.model.createData()
        on_prop = [effector.on_prop for effector in character.effectors]
        self.touched = np.tile(np.where(on_prop, len(character.bodies) - 1, -1), (len(times), 1))
        self.links = [body.root for body in character.bodies]
        for body, surfaces in enumerate(character.touchable):
            self.touched[np.isin(names, surfaces)] = body
            if surfaces:
                self.links[body] = scene.surfaces[surfaces[0]].joint_id
        pin.forwardKinematics(scene.model, data, character.nominal)
        offsets = [
            data.oMi[link].actInv(data.oMi[body.root]) * pin.SE3(np.eye(3), body.com)
            for link, body in zip(self.links, character.bodies, strict=True)
        ]
        self.bodies = [(np.zeros((len(times), 3)), np.zeros((len(times), 3, 3))) for _ in character.bodies]
        for m in range(len(times)):
            pin.forwardKinematics(scene.model, data, q[m], v[m])
            pin.updateFramePlacements(scene.model, data)
            for link, offset, (p, R) in zip(self.links, offsets, self.bodies, strict=True):
                X_body = data.oMi[link] * offset
                p[m], R[m] = X_body.translation, X_body.rotation
            for i, effector in enumerate(character.effectors):
                frame = scene.surfaces[effector.surface].frame_id
                X = data.oMf[frame]
                self.corners[m, i] = effector.corners @ X.rotation.T + X.translation
                if i < limbs:
                    twist = pin.getFrameVelocity(scene.model, data, frame, pin.LOCAL_WORLD_ALIGNED)
                    self.speeds[m, i] = twist.linear


def phase_ends(scene: Scene, character: Character, motion: WholeBodyMotion, knots: Array) -> list[tuple[Array, ...]]:
    """Return features, their rates, and the shift of the centre of mass at the end of each phase, see `TaskTerms`."""
    step, found = 1e-3, list[tuple[Array, ...]]()
    for t in knots[1:]:
        around = np.clip([t - step, t, t + step], 0.0, motion.times[-1])
        q = motion.at(around)[0]
        x = features_of(scene, character, q)
        found.append((x[1], (x[2] - x[0]) / (around[2] - around[0]), com_shifts(scene, character, q[1], x[1])))
    return found
