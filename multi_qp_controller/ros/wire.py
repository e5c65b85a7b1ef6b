"""The messages of the loop as bytes, read and written in place: no Python object for each of their fields.

Making an object of a JointState of 30 joints takes a tenth of a millisecond, of an Odometry with its covariances more;
a tick at 200 Hz may take three milliseconds in all.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from multi_qp_controller.ros import conversions

Array = NDArray[np.float64]

#: What comes before the fields: plain CDR, little-endian. Other encodings are left to ROS.
_HEADER = b"\x00\x01"
_BODY = 4
_STAMP = struct.Struct("<iI")
_COUNT = struct.Struct("<I")
#: Numbers of an Odometry's pose and twist, each with its covariance behind it.
_POSE, _TWIST, _COVARIANCE = 7, 6, 36
#: A stamp that no message has by chance.
_MARK = Time(sec=0x4EC0_FFEE, nanosec=123_456_789)


class Joints(NamedTuple):
    """What a JointState says: its stamp [ns], and of each joint what it says of it, arrays of any length."""

    stamp: int
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


class JointReader:
    """Reads the JointStates of one publisher, whose names seldom change: the tuple of names is then the same object."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._head, self._begin = b"", 0

    def read(self, data: bytes) -> Joints:
        """Return what a serialised JointState says; its arrays lie in `data`."""
        if data[:2] != _HEADER:
            message = deserialize_message(data, JointState)
            numbers = [np.array(values) for values in (message.position, message.velocity, message.effort)]
            return Joints(conversions.from_stamp(message.header.stamp), tuple(message.name), *numbers)
        if not self._begin or data[_BODY + _STAMP.size : self._begin] != self._head:
            self._read_names(data)
        position, at = _doubles(data, self._begin)
        velocity, at = _doubles(data, at)
        effort, _ = _doubles(data, at)
        return Joints(_stamp(data), self._names, position, velocity, effort)

    def _read_names(self, data: bytes) -> None:
        at = _after_string(data, _BODY + _STAMP.size)
        at += -(at - _BODY) % 4
        names, (count,) = [], _COUNT.unpack_from(data, at)
        at += 4
        for _ in range(count):
            begin = at + -(at - _BODY) % 4
            at = _after_string(data, begin)
            names.append(data[begin + 4 : at - 1].decode(errors="replace"))
        # bytes between strings may be anything, so they may be read again and be the same
        self._names = self._names if list(self._names) == names else tuple(names)
        self._begin, self._head = at, data[_BODY + _STAMP.size : at]


def read_odometry(data: bytes) -> tuple[int, Array, Array]:
    """Return stamp [ns], pose, (7,), and twist, (6,), of a serialised Odometry; see `conversions.pose_array`."""
    if data[:2] != _HEADER:
        message = deserialize_message(data, Odometry)
        pose, twist = conversions.pose_array(message.pose.pose), conversions.twist_array(message.twist.twist)
        return conversions.from_stamp(message.header.stamp), pose, twist
    at = _after_string(data, _BODY + _STAMP.size)
    at = _after_string(data, at + -(at - _BODY) % 4)
    at += -(at - _BODY) % 8
    numbers = np.frombuffer(data, np.float64, _POSE + _COVARIANCE + _TWIST, at)
    return _stamp(data), numbers[:_POSE], numbers[-_TWIST:]


def _stamp(data: bytes) -> int:
    seconds, nanoseconds = _STAMP.unpack_from(data, _BODY)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def _after_string(data: bytes, at: int) -> int:
    """Return where a string ends that begins with its length at a place."""
    return at + 4 + int(_COUNT.unpack_from(data, at)[0])


def _doubles(data: bytes, at: int) -> tuple[Array, int]:
    """Return the numbers of a sequence that begins with its count at or after a place, and where it ends."""
    at += -(at - _BODY) % 4
    (count,) = _COUNT.unpack_from(data, at)
    at += 4
    if count:
        at += -(at - _BODY) % 8
    return np.frombuffer(data, np.float64, count, at), at + 8 * count


class Template:
    """A message of which only stamps and some numbers change: a publisher sends what `fill` returns as it is."""

    def __init__(self, make: Callable[[list[float]], Any], size: int) -> None:
        """Write the message once.

        Args:
            make: makes the message of so many numbers; its `header`, if it has one, is filled in here.
            size: how many numbers.
        """
        marks = -1.0e300 - 1.0e290 * np.arange(size)
        message = make(marks.tolist())
        if hasattr(message, "header"):
            message.header.stamp = _MARK
        data = serialize_message(message)
        self._make, self._plain = make, data[:2] == _HEADER
        if not self._plain:  # a middleware of another kind gets the message itself
            return
        # fields are aligned from behind the header on
        self._bytes = bytearray(8 - _BODY) + bytearray(data) + bytearray(-(len(data) - _BODY) % 8)
        self._numbers = np.frombuffer(self._bytes, np.float64)
        # the first ones: behind the message there may be what is left of another
        places = {value: k for k, value in reversed([*enumerate(self._numbers.tolist())])}
        self._runs = _runs([places[mark] for mark in marks.tolist()])
        words = np.frombuffer(self._bytes, np.uint32)
        found = np.flatnonzero((words[:-1] == _MARK.sec) & (words[1:] == _MARK.nanosec))
        self._stamps = (4 * found).tolist()
        begin = 8 - _BODY
        self._message = memoryview(self._bytes)[begin : begin + len(data)]

    def fill(self, nanoseconds: int, numbers: Array) -> Any:
        """Return the message with this stamp [ns] and these numbers, as a publisher takes it."""
        if not self._plain:
            message = self._make(numbers.tolist())
            if hasattr(message, "header"):
                message.header.stamp = conversions.to_stamp(nanoseconds)
            return message
        for at in self._stamps:
            _STAMP.pack_into(self._bytes, at, *divmod(nanoseconds, 1_000_000_000))
        for there, here in self._runs:
            self._numbers[there] = numbers[here]
        return bytes(self._message)


def _runs(places: list[int]) -> list[tuple[slice, slice]]:
    """Return where numbers go whose places follow each other, and which these are, run by run."""
    breaks = [0, *(k for k in range(1, len(places)) if places[k] != places[k - 1] + 1), len(places)]
    return [(slice(places[a], places[a] + b - a), slice(a, b)) for a, b in pairwise(breaks) if b > a]
