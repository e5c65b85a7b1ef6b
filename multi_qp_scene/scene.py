"""Scene: all subsystems and the environment in one pinocchio model, with surfaces and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pinocchio as pin

import multi_qp_scene.geometry_data  # noqa: F401 - before any distance is computed
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.couplings import Couplings
from multi_qp_scene.loads import Loads
from multi_qp_scene.subsystem import PassiveJoints, Subsystem, SubsystemKind
from multi_qp_scene.surfaces import Surface


@dataclass(frozen=True)
class State:
    """State of the whole scene.

    Attributes:
        q: configuration, (nq,).
        v: velocity, (nv,): free-flyers as twists in their own frame, as pinocchio has them.
    """

    q: Array
    v: Array

    @property
    def is_finite(self) -> bool:
        """Whether no entry is NaN or infinite."""
        # fast check: a finite sum of squares has finite terms; it may also overflow for large entries
        if math.isfinite(self.q.dot(self.q) + self.v.dot(self.v)):
            return True
        return bool(np.isfinite(self.q).all() and np.isfinite(self.v).all())


#: Largest influence distance of the dampers of joint limits [rad].
MAX_INFLUENCE = 0.3
#: Their largest ξ [rad/s]; it limits the deceleration of fast joints.
MAX_DAMPING = 4.0


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints with one degree of freedom that have limits.

    Attributes:
        v_index: index in v, (k,).
        q_index: index in q, (k,).
        lower: [rad], (k,); -inf where there is none.
        upper: [rad], (k,); inf where there is none.
        velocity: [rad/s], (k,); inf where there is none.
    """

    v_index: Indices
    q_index: Indices
    lower: Array
    upper: Array
    velocity: Array

    def dampers(self, *, influence: float, security: float, damping: float) -> tuple[Array, Array, Array]:
        """Return δ_i, δ_s [rad] and ξ [rad/s] of velocity dampers, (k,) each, [Vaillant2015] (31).

        Args:
            influence: δ_i as a fraction of the joint's range.
            security: δ_s as a fraction of the joint's range.
            damping: ξ as a fraction of the joint's velocity limit.
        """
        span = self.upper - self.lower
        # where a limit is missing its distance is infinite, and any finite range will do
        span = np.where(np.isfinite(span), span, MAX_INFLUENCE / influence)
        reach = np.minimum(influence * span, MAX_INFLUENCE)
        speed = np.where(np.isfinite(self.velocity), self.velocity, MAX_DAMPING / damping)
        return reach, reach * security / influence, np.minimum(damping * speed, MAX_DAMPING)


@dataclass(frozen=True)
class Scene:
    """All subsystems and the environment as one model.

    Attributes:
        model: pinocchio model of all subsystems and the environment; names are "<subsystem>/<name>".
        collision_model: collision geometry of all, in the same order of names.
        visual_model: visual geometry of all, tinted.
        subsystems: the moving ones by name, in the order of the scenario.
        environment: the fixed models by name.
        surfaces: by full name.
        q0: initial configuration, (nq,).
        actuated_joint_names: full names, in the order of the URDF files; the order of τ.
        actuated_v: index in v of each motor, (na,).
        torque_limits: [N m], (na,).
        limits: position and velocity limits.
        passive: springs, dampers and friction.
        couplings: couplings of mimicking joints.
        loads: variable masses.
        self_collisions: pairs of links given by the model files, by subsystem.
        disabled_by_srdf: subsystems whose pairs are all those that an SRDF does not disable.
    """

    model: pin.Model
    collision_model: pin.GeometryModel
    visual_model: pin.GeometryModel
    subsystems: dict[str, Subsystem]
    environment: dict[str, Subsystem]
    surfaces: dict[str, Surface]
    q0: Array
    actuated_joint_names: tuple[str, ...]
    actuated_v: Indices
    torque_limits: Array
    limits: JointLimits
    passive: PassiveJoints
    couplings: Couplings
    loads: Loads
    self_collisions: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    disabled_by_srdf: frozenset[str] = frozenset()

    @cached_property
    def nq(self) -> int:
        """Size of q."""
        return int(self.model.nq)

    @cached_property
    def nv(self) -> int:
        """Degrees of freedom of the whole scene."""
        return int(self.model.nv)

    @cached_property
    def na(self) -> int:
        """Number of motors."""
        return len(self.actuated_v)

    @cached_property
    def characters(self) -> tuple[Subsystem, ...]:
        """The actuated subsystems."""
        return tuple(s for s in self.subsystems.values() if s.kind is SubsystemKind.CHARACTER)

    @cached_property
    def branches(self) -> tuple[Indices, Indices]:
        """Offsets, (nv + 1,), and concatenated index lists: the entries of v that move the joint of each entry of v."""
        model = self.model
        joints = [joint for joint in range(1, model.njoints) for _ in range(model.joints[joint].nv)]
        lists = [columns_above(model, joint) for joint in joints]
        starts = np.cumsum([0, *map(len, lists)]).astype(np.intp)
        return starts, np.concatenate([*lists, np.zeros(0, dtype=np.intp)]).astype(np.intp)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Full names of all joints of the model except the universe."""
        return tuple(self.model.names)[1:]

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """A name for each entry of v: the joint's, with the axis where the joint has several."""
        names: list[str] = []
        for joint_id in range(1, self.model.njoints):
            joint, name = self.model.joints[joint_id], self.model.names[joint_id]
            if joint.nv == 1:
                names.append(name)
            elif joint.nv == 6:
                names.extend(f"{name} {axis}" for axis in ("x", "y", "z", "roll", "pitch", "yaw"))
            else:
                names.extend(f"{name} [{k}]" for k in range(joint.nv))
        return tuple(names)

    def frame_id(self, name: str) -> int:
        """Return the index of a frame by its full name.

        Raises:
            KeyError: when there is none.
        """
        if name not in self._frames:
            raise KeyError(f"no frame '{name}' in the scene")
        return self._frames[name]

    @cached_property
    def _frames(self) -> dict[str, int]:
        """Index of the first frame of each name, the one that pinocchio's `getFrameId` returns."""
        found: dict[str, int] = {}
        for number, frame in enumerate(self.model.frames):
            found.setdefault(frame.name, number)
        return found

    @cached_property
    def angle_index(self) -> Indices:
        """The entry of q that each entry of v changes, -1 where a joint's configuration is not one number, (nv,)."""
        found = np.full(self.nv, -1, dtype=np.intp)
        for joint in list(self.model.joints)[1:]:
            if joint.nv == joint.nq == 1:
                found[joint.idx_v] = joint.idx_q
        return found

    def moving(self, *frames: int | None) -> Indices:
        """Return the entries of v that move any of these frames, by index; None is the world."""
        if frames not in self._moved:
            model = self.model
            joints = (model.frames[k].parentJoint for k in frames if k is not None)
            self._moved[frames] = columns_above(model, *joints)
        return self._moved[frames]

    @cached_property
    def _moved(self) -> dict[tuple[int | None, ...], Indices]:
        return {}

    def with_initial_configuration(self, q: Array) -> Scene:
        """Return the scene with another initial configuration, (nq,), also in the postures "initial"."""
        subsystems = {
            name: replace(part, postures={**part.postures, "initial": q[part.q_slice].copy()})
            for name, part in self.subsystems.items()
            if not np.array_equal(q[part.q_slice], self.q0[part.q_slice])
        }
        return replace(self, q0=q.copy(), subsystems={**self.subsystems, **subsystems})

    def initial_state(self) -> State:
        """Return the initial configuration, at rest."""
        return State(self.q0.copy(), np.zeros(self.nv))


def columns_above(model: pin.Model, *joints: int) -> Indices:
    """Return the entries of v that move any of these joints, by index."""
    columns = {
        column
        for joint_id in joints
        for above in model.supports[joint_id]
        if above
        for column in range(model.joints[above].idx_v, model.joints[above].idx_v + model.joints[above].nv)
    }
    return np.array(sorted(columns), dtype=np.intp)
