"""CDR serialisation of ROS 2 messages, with templates in which only numbers and stamps are overwritten."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType
from mcap_ros2.writer import Writer

from multi_qp_ros.schemas import schema
from multi_qp_scene.arrays import Array

#: Encapsulation header that precedes the fields: little-endian CDR.
_HEADER = b"\x00\x01\x00\x00"
_NANOSECONDS = 1_000_000_000
#: Sentinel stamp by which the position of stamps in a serialised message is found.
_MARK = {"sec": 0x5EC0_FFEE - 0x1000_0000, "nanosec": 123_456_789}


def full_name(kind: str) -> str:
    """Return "std_msgs/msg/String" for "std_msgs/String"."""
    package, _, name = kind.partition("/")
    return f"{package}/msg/{name}"


def encode(kind: str, message: dict[str, Any]) -> bytes:
    """Return a message, given as nested mappings, as CDR; omitted fields are 0 or empty."""
    file = BytesIO()
    writer = Writer(file, compression=CompressionType.NONE)
    writer.write_message("/", writer.register_msgdef(full_name(kind), schema(kind)), message, log_time=0)
    writer.finish()
    file.seek(0)
    _, _, found = next(iter(make_reader(file).iter_messages()))
    return found.data


def encode_string(text: str) -> bytes:
    """Return a std_msgs/String as CDR."""
    data = text.encode()
    return b"".join((_HEADER, struct.pack("<I", len(data) + 1), data, b"\0"))


def stamp(nanoseconds: int) -> dict[str, int]:
    """Return a time as the fields of builtin_interfaces/Time."""
    return {"sec": nanoseconds // _NANOSECONDS, "nanosec": nanoseconds % _NANOSECONDS}


class Template:
    """A serialised message in which only stamps and some numbers change.

    Args:
        kind: message type.
        make: returns the message, given a stamp as mapping of its two fields and a list of the numbers.
        size: number of numbers.
    """

    def __init__(self, kind: str, make: Callable[[dict[str, int], list[float]], dict[str, Any]], size: int) -> None:
        self.kind = kind
        marks = -1.0e300 - 1.0e290 * np.arange(size)
        data = encode(kind, make(_MARK, marks.tolist()))
        body = data[len(_HEADER) :]
        self._length = len(body)
        self._bytes = bytearray(body + b"\0" * (-len(body) % 8))
        self._numbers = np.frombuffer(self._bytes, dtype=np.float64)
        self._words = np.frombuffer(self._bytes, dtype=np.uint32)
        places = {value: k for k, value in enumerate(self._numbers.tolist())}
        self._places = np.array([places[mark] for mark in marks.tolist()], dtype=np.intp)
        mark = np.array([_MARK["sec"], _MARK["nanosec"]], dtype=np.uint32)
        found = np.flatnonzero((self._words[:-1] == mark[0]) & (self._words[1:] == mark[1]))
        self._seconds, self._nanoseconds = found, found + 1

    def fill(self, nanoseconds: int, numbers: Array) -> bytes:
        """Return the message with this stamp [ns] and these numbers."""
        self._words[self._seconds] = nanoseconds // _NANOSECONDS
        self._words[self._nanoseconds] = nanoseconds % _NANOSECONDS
        self._numbers[self._places] = numbers
        return _HEADER + bytes(memoryview(self._bytes)[: self._length])


@cache
def clock_template() -> Template:
    """Return the template of /clock."""
    return Template("rosgraph_msgs/Clock", lambda time, _: {"clock": time}, 0)
