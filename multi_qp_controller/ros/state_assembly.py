"""Which state of the scene the messages received so far amount to, and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem

Array = NDArray[np.float64]


#: Topics that were of one instant no more than so many stamps ago use to be: their next instant is waited for.
REMEMBERED = 8


class Receipt(Enum):
    """What became of a message: taken; the same stamp as before; older than what is known; from an earlier time."""

    TAKEN = "taken"
    REPEATED = "repeated"
    OUTDATED = "outdated"
    JUMPED_BACK = "jumped back"


@dataclass(frozen=True)
class Joint:
    """Where one joint with one degree of freedom stands in the scene's state.

    Attributes:
        name: without the subsystem.
        q_index: in q; of cos, where the joint is continuous, with sin behind it.
        v_index: in v.
        continuous: whether q holds (cos, sin) of its angle.
    """

    name: str
    q_index: int
    v_index: int
    continuous: bool


def joints_of(scene: Scene, subsystem: Subsystem) -> tuple[Joint, ...]:
    """Return the joints that a subsystem's joint states speak of, in the order of the model.

    Raises:
        MultiQpError: when a joint has more than one degree of freedom; a JointState cannot hold it.
    """
    found = []
    names, joints = list(scene.model.names)[1:], list(scene.model.joints)[1:]
    where = subsystem.joint_v_slice
    for name, joint in zip(names, joints, strict=True):
        if not where.start <= joint.idx_v < where.stop:
            continue
        if joint.nv != 1:
            raise MultiQpError(f"joint '{name}' has {joint.nv} degrees of freedom: a joint state cannot hold it")
        found.append(Joint(name.partition("/")[2], joint.idx_q, joint.idx_v, joint.nq == 2))
    return tuple(found)


@dataclass
class _Part:
    """What one topic tells: its entries of q and v, and the last message's stamp [ns], time [s] and faults."""

    q_index: slice | NDArray[np.intp]
    v_index: slice | NDArray[np.intp]
    stamp: int | None = None
    at: float = 0.0
    faults: list[str] = field(default_factory=list)


class _Order:
    """Where the joints of one subsystem stand in its joint states, whose order seldom changes.

    Attributes:
        rows: of each joint in a message, the last one with one more for what is absent.
        first: entry of q of each joint; of its cosine where it is continuous.
        continuous: which joints are.
        straight: whether a message tells of just these joints, in this order, none of them continuous.
    """

    def __init__(self, joints: tuple[Joint, ...]) -> None:
        self._joints = joints
        self._names: Sequence[str] | None = None
        self._absent: list[str] = []
        self.rows = np.zeros(0, dtype=np.intp)
        self.straight = False
        self.first = np.array([joint.q_index for joint in joints], dtype=np.intp)
        self.continuous = np.flatnonzero([joint.continuous for joint in joints])

    def take_up(self, names: Sequence[str]) -> list[str]:
        """Take note of the names in a message, and return those that are absent."""
        if self._names is not names and self._names != names:
            row = {name: k for k, name in enumerate(names)}
            self._names = names
            self._absent = [joint.name for joint in self._joints if joint.name not in row]
            self.rows = np.array([row.get(joint.name, len(names)) for joint in self._joints], dtype=np.intp)
            self.straight = not len(self.continuous) and list(names) == [joint.name for joint in self._joints]
        return self._absent


class StateAssembler:
    """Puts joint states and odometry together to the state of the whole scene.

    What a message lacks is NaN in the state, and so is the velocity of whatever is too old: the controller then holds,
    and damps those joints whose speed it knows. Messages are seldom measured at the same instant: what is older than
    the newest of all is moved on by its velocity, or a floating base and its joints would not fit together. Messages of
    one stamp were.

    Attributes:
        joints: that each subsystem's joint states speak of.
        topics: that a state is put together from.
        missing: the topics that nothing was ever heard from.
        newest: the newest stamp of all [ns]; 0 before the first.
        measured: when the newest message of all was measured [s].
    """

    def __init__(self, scene: Scene, *, max_age: float, period: float) -> None:
        """Wait for every subsystem.

        Args:
            scene: whose state it is.
            max_age: from when on a message is too old [s].
            period: from one state to the next [s].
        """
        self._max_age, self._period, self._rounds = max_age, period, 0
        self._q, self._v = scene.q0.copy(), np.zeros(scene.nv)
        self.joints = {name: joints_of(scene, subsystem) for name, subsystem in scene.subsystems.items()}
        self._orders = {name: _Order(joints) for name, joints in self.joints.items()}
        self._parts: dict[str, _Part] = {}
        self._model, self._behind = scene.model, np.zeros(scene.nv)
        for name, subsystem in scene.subsystems.items():
            joints = self.joints[name]
            if joints:
                q_index = [k for joint in joints for k in range(joint.q_index, joint.q_index + 1 + joint.continuous)]
                self._parts[f"{name}/joint_states"] = _Part(entries(q_index), entries([j.v_index for j in joints]))
            if subsystem.floating:
                q, v = subsystem.q_slice.start, subsystem.v_slice.start
                self._parts[f"{name}/odom"] = _Part(slice(q, q + 7), slice(v, v + 6))
        self.topics = self.missing = tuple(self._parts)
        self.newest, self.measured, self._newest_at = 0, 0.0, 0.0
        self._silent = set(self._parts)
        self._met = -REMEMBERED - 1  # the round in which all were last of one instant

    @property
    def fresh(self) -> bool:
        """Whether all topics have told something new since the last `state`."""
        return not self._silent

    @property
    def heard(self) -> bool:
        """Whether any topic has told something new since the last `state`."""
        return len(self._silent) < len(self._parts)

    @property
    def together(self) -> bool:
        """Whether all topics have told of the newest stamp."""
        return all(part.stamp == self.newest for part in self._parts.values())

    @property
    def of_one_clock(self) -> bool:
        """Whether topics use to tell of the same instants."""
        return self._rounds - self._met <= REMEMBERED

    @property
    def clock(self) -> float:
        """A time that goes on by one period with each new stamp [s]: in lock-step, a world that waits ages nothing."""
        return self._rounds * self._period

    def settled(self, now: float) -> bool:
        """Return whether all topics have told of the newest stamp, but for those that are too old."""
        newest = self.newest
        return not self.missing and all(
            part.stamp == newest or self._is_old(part, now) for part in self._parts.values()
        )

    def put_joints(
        self,
        subsystem: str,
        stamp: int,
        at: float | None,
        names: Sequence[str],
        q: Array | Sequence[float],
        v: Array | Sequence[float],
    ) -> Receipt:
        """Take in a joint state: stamp [ns], time of measurement [s] (or `clock`), angles [rad], speeds [rad/s]."""
        topic = f"{subsystem}/joint_states"
        receipt = self._receive(topic, stamp, at)
        if receipt is not Receipt.TAKEN:
            return receipt
        part = self._parts[topic]
        if not len(names) == len(q) == len(v):
            part.faults = [f"{topic} has {len(names)} names, {len(q)} positions and {len(v)} velocities"]
            self._q[part.q_index], self._v[part.v_index] = np.nan, np.nan
            return receipt
        order = self._orders[subsystem]
        absent = order.take_up(names)
        part.faults = [f"{topic} lacks {', '.join(absent[:5])}"] if absent else []
        if order.straight:
            self._q[part.q_index], self._v[part.v_index] = q, v
            return receipt
        # a joint that is not there is one that is not known
        angles, self._v[part.v_index] = np.append(q, np.nan)[order.rows], np.append(v, np.nan)[order.rows]
        self._q[order.first] = angles
        if len(order.continuous):
            turned, first = angles[order.continuous], order.first[order.continuous]
            self._q[first], self._q[first + 1] = np.cos(turned), np.sin(turned)
        return receipt

    def put_root(self, subsystem: str, stamp: int, at: float | None, pose: Array, twist: Array) -> Receipt:
        """Take in odometry.

        Args:
            subsystem: whose.
            stamp: [ns].
            at: when it was measured [s]; `clock` if None.
            pose: position [m] and quaternion (x, y, z, w) in the world, (7,); the quaternion is normalised.
            twist: in the base's own frame: linear [m/s], angular [rad/s], (6,).
        """
        topic = f"{subsystem}/odom"
        receipt = self._receive(topic, stamp, at)
        if receipt is not Receipt.TAKEN:
            return receipt
        part, q = self._parts[topic], pose.tolist()
        norm = math.hypot(*q[3:])
        good = abs(norm - 1.0) < 1e-3
        part.faults = [] if good or not math.isfinite(norm) else [f"{topic} has a quaternion of norm {norm:.3g}"]
        q[3:] = [number / norm if good else math.nan for number in q[3:]]
        self._q[part.q_index], self._v[part.v_index] = q, twist
        return receipt

    def _receive(self, topic: str, stamp: int, at: float | None) -> Receipt:
        part = self._parts[topic]
        if part.stamp is not None and stamp <= part.stamp:
            if stamp == part.stamp:
                return Receipt.REPEATED
            return Receipt.JUMPED_BACK if (part.stamp - stamp) * 1e-9 > self._max_age else Receipt.OUTDATED
        if part.stamp is None:
            self.missing = tuple(other for other in self.missing if other != topic)
        if stamp != self.newest:
            if stamp > self.newest:
                self._rounds += 1
            at = self.clock if at is None else at
            self.measured = max(self.measured, at)
            if stamp > self.newest:
                self.newest, self._newest_at = stamp, at
        else:  # however long each was on its way
            at = self._newest_at
        part.stamp, part.at = stamp, at
        self._silent.discard(topic)
        if stamp == self.newest and self.together:
            self._met = self._rounds
        return Receipt.TAKEN

    def outdated(self, now: float) -> bool:
        """Return whether everything that is known is too old."""
        return now - self.measured > self._max_age + 1e-9

    def _is_old(self, part: _Part, now: float) -> bool:
        return now - part.at > self._max_age + 1e-9

    def state(self, now: float) -> tuple[State, list[str]]:
        """Return the state at `now` [s] and what is wrong with it; the arrays are the caller's to keep."""
        q, v, faults = self._q.copy(), self._v.copy(), []
        newest, together = self.measured, True
        self._silent.update(self._parts)
        for topic, part in self._parts.items():
            faults += part.faults
            if self._is_old(part, now):
                faults.append(f"{topic} is {(now - part.at) * 1e3:.0f} ms old")
                v[part.v_index] = np.nan
            elif part.at < newest:
                if together:
                    together = False
                    self._behind[:] = 0.0
                self._behind[part.v_index] = newest - part.at
        if not together:
            q = pin.integrate(self._model, q, np.nan_to_num(v * self._behind))
        return State(q, v), faults


def entries(index: list[int]) -> slice | NDArray[np.intp]:
    """Return entries of a vector as a slice where they are consecutive, else as an array."""
    first, n = index[0], len(index)
    return slice(first, first + n) if index == list(range(first, first + n)) else np.array(index, dtype=np.intp)
