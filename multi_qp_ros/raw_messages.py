"""Serialised messages of the control loop, read and written in place without a Python object for each field.

Deserialising a JointState of 30 joints takes 0.1 ms, an Odometry with its covariances more; a tick at 200 Hz may take
3 ms in all.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from multi_qp_ros import conversions
from multi_qp_scene.arrays import Array

#: Encapsulation header: plain CDR, little-endian. Other encodings are deserialised by rclpy.
_HEADER = b"\x00\x01"
_BODY = 4
_STAMP = struct.Struct("<iI")
_COUNT = struct.Struct("<I")
#: Encapsulation identifiers of plain CDR, versions 1 and 2, big- and little-endian.
_PLAIN_CDR = (b"\x00\x00", _HEADER, b"\x00\x06", b"\x00\x07")
#: Sizes of an Odometry's pose and twist, each followed by its covariance.
_POSE, _TWIST, _COVARIANCE = 7, 6, 36
#: Stamp that marks the place of a stamp in a template.
_MARK = Time(sec=0x4EC0_FFEE, nanosec=123_456_789)


def read_message(message_type: Any, data: bytes) -> Any:
    """Return a deserialised message.

    Raises:
        ValueError: when the bytes are not a message of this type, or its stamp is not a time.
    """
    if data[:2] not in _PLAIN_CDR:
        raise ValueError(f"its encapsulation is 0x{data[:2].hex()}, expected plain CDR")
    try:
        message = deserialize_message(data, message_type)
    except RuntimeError:  # RMWError
        raise not_a(message_type, data) from None
    if hasattr(message, "header"):
        conversions.from_stamp(message.header.stamp)
    return message


def not_a(message_type: Any, data: bytes) -> ValueError:
    """Return the error for bytes that are not a message of a type."""
    return ValueError(f"its {len(data)} bytes are not a {message_type.__name__}")


class Joints(NamedTuple):
    """Content of a JointState: its stamp [ns], names, and arrays of any length."""

    stamp: int
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


class Root(NamedTuple):
    """Content of an Odometry: its stamp [ns], pose, (7,), and twist, (6,); see `conversions.pose_array`."""

    stamp: int
    pose: Array
    twist: Array


class JointReader:
    """Reader of the JointStates of one publisher; while the names are unchanged, their tuple is the same object."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._head, self._begin = b"", 0

    def read(self, data: bytes) -> Joints:
        """Return the content of a serialised JointState; its arrays are views of `data`.

        Raises:
            ValueError: when it is not a JointState, or its stamp is not a time.
        """
        if data[:2] != _HEADER:
            message = read_message(JointState, data)
            numbers = [np.array(values) for values in (message.position, message.velocity, message.effort)]
            return Joints(conversions.from_stamp(message.header.stamp), tuple(message.name), *numbers)
        try:
            if not self._begin or data[_BODY + _STAMP.size : self._begin] != self._head:
                self._read_names(data)
            position, at = _doubles(data, self._begin)
            velocity, at = _doubles(data, at)
            effort, _ = _doubles(data, at)
            stamp = _STAMP.unpack_from(data, _BODY)
        except (struct.error, ValueError):  # truncated
            raise not_a(JointState, data) from None
        return Joints(conversions.nanoseconds(*stamp), self._names, position, velocity, effort)

    def _read_names(self, data: bytes) -> None:
        at = _after_string(data, _BODY + _STAMP.size)
        at += -(at - _BODY) % 4
        names, (count,) = [], _COUNT.unpack_from(data, at)
        at += 4
        for _ in range(count):
            name, at = _string(data, at)
            names.append(name)
        # padding bytes are arbitrary, so the names may be unchanged although the bytes differ
        self._names = self._names if list(self._names) == names else tuple(names)
        self._begin, self._head = at, data[_BODY + _STAMP.size : at]


class OdometryReader:
    """Reader of the Odometry of one subsystem, whose frame names seldom change."""

    def __init__(self, root_links: tuple[str, ...] = ()) -> None:
        """Create a reader that expects a pose in the world frame.

        Args:
            root_links: accepted names of the frame of the twist; any if empty.
        """
        self._root_links = root_links
        self._frames = "", ""
        self._head, self._begin = b"", 0

    def read(self, data: bytes) -> Root:
        """Return the content of a serialised Odometry.

        Raises:
            ValueError: when it is not an Odometry, its stamp is not a time, or it is in other frames.
        """
        if data[:2] != _HEADER:
            message = read_message(Odometry, data)
            self._check(message.header.frame_id, message.child_frame_id)
            pose, twist = conversions.pose_array(message.pose.pose), conversions.twist_array(message.twist.twist)
            return Root(conversions.from_stamp(message.header.stamp), pose, twist)
        try:
            if not self._begin or data[_BODY + _STAMP.size : self._begin] != self._head:
                self._read_frames(data)
            at = self._begin + -(self._begin - _BODY) % 8
            numbers = np.frombuffer(data, np.float64, _POSE + _COVARIANCE + _TWIST, at)
            stamp = _STAMP.unpack_from(data, _BODY)
        except (struct.error, ValueError):
            raise not_a(Odometry, data) from None
        self._check(*self._frames)
        return Root(conversions.nanoseconds(*stamp), numbers[:_POSE], numbers[-_TWIST:])

    def _read_frames(self, data: bytes) -> None:
        frame, at = _string(data, _BODY + _STAMP.size)
        child, at = _string(data, at)
        self._frames = frame, child
        self._begin, self._head = at, data[_BODY + _STAMP.size : at]

    def _check(self, frame: str, child: str) -> None:
        if not self._root_links:
            return
        if frame not in ("", conversions.WORLD):
            raise ValueError(f"its pose is in the frame {frame[:60]!r}, expected {conversions.WORLD!r}")
        if child not in ("", *self._root_links):
            raise ValueError(
                f"its twist is in the frame {child[:60]!r}, expected the root link {self._root_links[0]!r}"
            )


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return the string whose length is at the next aligned offset, and the offset of its end."""
    begin = at + -(at - _BODY) % 4
    end = _after_string(data, begin)
    return data[begin + 4 : end - 1].decode(errors="replace"), end


def _after_string(data: bytes, at: int) -> int:
    """Return the offset of the end of the string whose length is at an offset."""
    return at + 4 + int(_COUNT.unpack_from(data, at)[0])


def _doubles(data: bytes, at: int) -> tuple[Array, int]:
    """Return the sequence of doubles whose count is at the next aligned offset, and the offset of its end."""
    at += -(at - _BODY) % 4
    (count,) = _COUNT.unpack_from(data, at)
    at += 4
    if count:
        at += -(at - _BODY) % 8
    return np.frombuffer(data, np.float64, count, at), at + 8 * count
