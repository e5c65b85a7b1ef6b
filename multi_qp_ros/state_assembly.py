"""Assembly of the scene's state from joint states and odometry, with its faults."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.subsystem import Subsystem

#: Number of instants: topics that had one in common among the last so many are synchronised; their next is waited for.
SYNCHRONISATION_WINDOW = 8
#: Largest difference of stamps of different topics that belong to one instant [periods].
SAME_INSTANT = 0.5


class MessageStatus(Enum):
    """Result of a message; only TAKEN changes the state.

    TAKEN: new data. REPEATED: the stamp and the data of the message before. CONTRADICTORY: its stamp with other data.
    OUTDATED: an older stamp. JUMPED_BACK: older by more than the largest age of a state. AHEAD: newer than the stamps
    of the other topics by more than that.
    """

    TAKEN = "taken"
    REPEATED = "repeated"
    CONTRADICTORY = "contradictory"
    OUTDATED = "outdated"
    JUMPED_BACK = "jumped back"
    AHEAD = "ahead"


@dataclass(frozen=True)
class NamedJoint(ScalarJoint):
    """Joint with one degree of freedom, and its name without the subsystem."""

    name: str = ""


def joints_of(scene: Scene, subsystem: Subsystem) -> tuple[NamedJoint, ...]:
    """Return the joints in a subsystem's joint states, in the order of the model.

    Raises:
        MultiQpError: when a joint has more than one degree of freedom; a JointState cannot represent it.
    """
    found = []
    names, joints = list(scene.model.names)[1:], list(scene.model.joints)[1:]
    where = subsystem.joint_v_slice
    for name, joint in zip(names, joints, strict=True):
        if not where.start <= joint.idx_v < where.stop:
            continue
        if joint.nv != 1:
            raise MultiQpError(f"joint '{name}' has {joint.nv} degrees of freedom: a joint state cannot hold it")
        found.append(NamedJoint(joint.idx_q, joint.idx_v, joint.nq == 2, name.partition("/")[2]))
    return tuple(found)


@dataclass
class _Part:
    """Last message of one topic: its entries of q and v, stamp [ns], time of measurement [s], data and faults.

    `instant` is the instant that the message belongs to, -1 where it is older; `ahead` is the stamp of the last message
    if that was rejected because it was ahead of the other topics.
    """

    q_index: slice | NDArray[np.intp]
    v_index: slice | NDArray[np.intp]
    stamp: int | None = None
    at: float = 0.0
    instant: int = -1
    ahead: int | None = None
    data: tuple[Any, Any] = ((), ())
    faults: list[str] = field(default_factory=list)


class _Order:
    """Order of the joints of one subsystem in its joint states; it is recomputed only when the names change.

    Attributes:
        rows: index of each joint in a message; the message's length for an absent joint.
        first: index in q of each joint; of its cosine where it is continuous.
        continuous: indices of the continuous joints.
        straight: whether a message has exactly these joints, in this order, none of them continuous.
        faults: joints that are absent or named twice.
        unknown: names that are no joints of the subsystem.
    """

    def __init__(self, joints: tuple[NamedJoint, ...]) -> None:
        self._joints = joints
        self._names: Sequence[str] | None = None
        self.faults: list[str] = []
        self.unknown: list[str] = []
        self.rows = np.zeros(0, dtype=np.intp)
        self.straight = False
        self.first = np.array([joint.q_index for joint in joints], dtype=np.intp)
        self.continuous = np.flatnonzero([joint.continuous for joint in joints])

    def update(self, names: Sequence[str]) -> None:
        """Update the order from the names in a message; a joint that is named twice counts as absent."""
        if self._names is names or self._names == names:
            return
        self._names = names
        own, counts = [joint.name for joint in self._joints], Counter(names)
        row = {name: k for k, name in enumerate(names) if counts[name] == 1}
        self.rows = np.array([row.get(name, len(names)) for name in own], dtype=np.intp)
        self.straight = not len(self.continuous) and list(names) == own
        self.unknown = sorted(set(names).difference(own))
        absent, twice = [name for name in own if not counts[name]], [name for name in own if counts[name] > 1]
        self.faults = [f"lacks {_listed(absent)}"] if absent else []
        self.faults += [f"names {_listed(twice)} more than once"] if twice else []
        if absent and self.unknown:
            self.faults += [f"names {_listed(self.unknown)} instead"]


class StateAssembler:
    """Assembles joint states and odometry to the state of the whole scene.

    Values absent from a message are NaN in the state, and so are velocities of messages that are too old: the
    controller then holds, and damps the joints whose velocity is known. Messages are seldom measured at the same time:
    values older than the newest message are extrapolated by their velocity, as a floating base and its joints would
    otherwise be inconsistent. Messages with one stamp were measured together.

    Stamps of different topics that differ by no more than half a period belong to one instant. An instant has at most
    one message of each topic: the second message of a topic begins the next instant.

    Attributes:
        joints: joints in each subsystem's joint states.
        topics: topics that a state is assembled from.
        missing: topics without any message so far.
        newest: newest stamp of all topics [ns]; 0 before the first.
        instant: number of instants so far; 0 before the first.
        measured: time of measurement of the newest message [s].
        agreed_ahead: whether the last message was accepted because all topics agreed that time had advanced.
        excluded: reasons why topics are not used, by topic; their part of the state counts as unknown.
    """

    def __init__(self, scene: Scene, *, max_age: float, period: float, one_clock: bool = False) -> None:
        """Begin without any message.

        Args:
            scene: scene whose state is assembled.
            max_age: age from which on a message is too old [s].
            period: time between two states [s].
            one_clock: whether all stamps are of one simulated clock, so that one topic's cannot be ahead of the
                others'. In lock-step they always are.
        """
        self._max_age, self._period, self._one_clock = max_age, period, one_clock
        self._tolerance = round(SAME_INSTANT * period * 1e9)
        self.instant, self._began = 0, 0
        self.agreed_ahead = False
        self.excluded: dict[str, str] = {}
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
        self.newest, self.measured, self._began_at = 0, 0.0, 0.0
        self._pending = set(self._parts)
        self._last_common = -SYNCHRONISATION_WINDOW - 1  # last instant that all topics had a message of

    @property
    def fresh(self) -> bool:
        """Whether all topics have received a new message since the last `state`."""
        return not self._pending

    @property
    def updated(self) -> bool:
        """Whether any topic has received a new message since the last `state`."""
        return len(self._pending) < len(self._parts)

    @property
    def together(self) -> bool:
        """Whether all topics have a message of the present instant."""
        return all(part.instant == self.instant for part in self._parts.values())

    @property
    def of_one_clock(self) -> bool:
        """Whether the topics are synchronised: they had a common instant recently."""
        return self.instant - self._last_common <= SYNCHRONISATION_WINDOW

    @property
    def clock(self) -> float:
        """Time that advances by one period with each instant [s]: in lock-step states do not age while waiting."""
        return self.instant * self._period

    def complete(self, now: float) -> bool:
        """Return whether all topics have a message of the present instant, except those that are too old."""
        return not self.missing and not self.behind(now)

    def behind(self, now: float) -> list[str]:
        """Return the topics that have no message of the present instant and are not too old."""
        return [
            topic for topic, part in self._parts.items() if part.instant != self.instant and not self._is_old(part, now)
        ]

    def stamp(self, topic: str) -> int | None:
        """Return the stamp of a topic's last accepted message [ns]."""
        return self._parts[topic].stamp

    def unknown_names(self, subsystem: str) -> list[str]:
        """Return the names in a subsystem's joint states that are not joints of it; they are not used."""
        return self._orders[subsystem].unknown

    def put_joints(
        self,
        subsystem: str,
        stamp: int,
        at: float | None,
        names: Sequence[str],
        q: Array | Sequence[float],
        v: Array | Sequence[float],
    ) -> MessageStatus:
        """Process a joint state: stamp [ns], time of measurement [s] (or `clock`), angles [rad], velocities [rad/s]."""
        topic = f"{subsystem}/joint_states"
        message_status = self._receive(topic, stamp, at, (q, v))
        if message_status is not MessageStatus.TAKEN:
            return message_status
        part = self._parts[topic]
        if not len(names) == len(q) == len(v):
            part.faults = [f"{topic} has {len(names)} names, {len(q)} positions and {len(v)} velocities"]
            self._q[part.q_index], self._v[part.v_index] = np.nan, np.nan
            return message_status
        order = self._orders[subsystem]
        order.update(names)
        part.faults = [f"{topic} {fault}" for fault in order.faults]
        if order.straight:
            self._q[part.q_index], self._v[part.v_index] = q, v
            return message_status
        # absent joints are NaN
        angles, self._v[part.v_index] = np.append(q, np.nan)[order.rows], np.append(v, np.nan)[order.rows]
        self._q[order.first] = angles
        if len(order.continuous):
            turned, first = angles[order.continuous], order.first[order.continuous]
            self._q[first], self._q[first + 1] = np.cos(turned), np.sin(turned)
        return message_status

    def put_root(self, subsystem: str, stamp: int, at: float | None, pose: Array, twist: Array) -> MessageStatus:
        """Process odometry.

        Args:
            subsystem: its name.
            stamp: [ns].
            at: time of measurement [s]; `clock` if None.
            pose: position [m] and quaternion (x, y, z, w) in the world, (7,); the quaternion is normalised.
            twist: in the base frame: linear [m/s], angular [rad/s], (6,).
        """
        topic = f"{subsystem}/odom"
        message_status = self._receive(topic, stamp, at, (pose, twist))
        if message_status is not MessageStatus.TAKEN:
            return message_status
        part, q = self._parts[topic], pose.tolist()
        norm = math.hypot(*q[3:])
        good = abs(norm - 1.0) < 1e-3
        part.faults = [] if good or not math.isfinite(norm) else [f"{topic} has a quaternion of norm {norm:.3g}"]
        q[3:] = [number / norm if good else math.nan for number in q[3:]]
        self._q[part.q_index], self._v[part.v_index] = q, twist
        return message_status

    def _receive(self, topic: str, stamp: int, at: float | None, data: tuple[Any, Any]) -> MessageStatus:
        part = self._parts[topic]
        if part.stamp is not None and stamp <= part.stamp:
            if stamp == part.stamp:
                return MessageStatus.REPEATED if _same(data, part.data) else MessageStatus.CONTRADICTORY
            return MessageStatus.JUMPED_BACK if (part.stamp - stamp) * 1e-9 > self._max_age else MessageStatus.OUTDATED
        if (at is None or self._one_clock) and not self._agrees(part, stamp):
            return MessageStatus.AHEAD
        if part.stamp is None:
            self.missing = tuple(other for other in self.missing if other != topic)
        if not self.instant or stamp > self._began + self._tolerance or part.instant == self.instant:
            self.instant += 1
            self._began = stamp
            self._began_at = at = self.clock if at is None else at
            for other, last in self._parts.items():  # new messages with a slightly different stamp belong to it
                if other not in self._pending and last.stamp is not None and abs(last.stamp - stamp) <= self._tolerance:
                    last.instant = self.instant
        elif stamp >= self._began - self._tolerance:  # measured together, whatever the latency of each
            at = self._began_at + (stamp - self._began) * 1e-9
        elif at is None:
            at = self.clock
        self.newest, self.measured = max(self.newest, stamp), max(self.measured, at)
        part.stamp, part.at, part.data = stamp, at, data
        part.instant = self.instant if stamp >= self._began - self._tolerance else -1
        self._pending.discard(topic)
        if self.together:
            self._last_common = self.instant
        return MessageStatus.TAKEN

    def _agrees(self, part: _Part, stamp: int) -> bool:
        """Return whether a stamp is not ahead of the others, or all topics agree on it by two or more messages."""
        longest = self._max_age * 1e9
        self.agreed_ahead = False
        if not self.instant or stamp - self.newest <= longest:
            part.ahead = None
            return True
        before, part.ahead = part.ahead, stamp
        parts = self._parts.values()
        stamps = [other.ahead for other in parts if other.ahead is not None]
        if len(stamps) < len(parts) or (len(parts) == 1 and before is None) or max(stamps) - min(stamps) > longest:
            return False
        for other in parts:
            other.ahead = None
        self.agreed_ahead = True
        self.newest = min(stamps)  # so that the next messages of the other topics are not ahead
        return True

    def outdated(self, now: float) -> bool:
        """Return whether all messages are too old."""
        return now - self.measured > self._max_age + 1e-9

    def _is_old(self, part: _Part, now: float) -> bool:
        return now - part.at > self._max_age + 1e-9

    def state(self, now: float) -> tuple[State, list[str]]:
        """Return the state at `now` [s], in new arrays, and its faults."""
        q, v, faults = self._q.copy(), self._v.copy(), []
        newest, together = self.measured, True
        self._pending.update(self._parts)
        for topic, part in self._parts.items():
            faults += part.faults
            if topic in self.excluded:
                faults.append(self.excluded[topic])
                v[part.v_index] = np.nan
            elif self._is_old(part, now):
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
    """Return indices into a vector as a slice where they are consecutive, else as an array."""
    first, n = index[0], len(index)
    return slice(first, first + n) if index == list(range(first, first + n)) else np.array(index, dtype=np.intp)


def _same(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
    """Return whether two messages hold the same numbers; NaN equals NaN."""
    return all(np.array_equal(one, other, equal_nan=True) for one, other in zip(a, b, strict=True))


def _listed(names: Sequence[str]) -> str:
    """Return the first few names of a message, shortened."""
    return ", ".join(name[:60] for name in names[:5]) + (" …" if len(names) > 5 else "")
