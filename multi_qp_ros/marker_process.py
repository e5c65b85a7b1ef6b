"""Generation of markers in a separate process, as it takes some milliseconds, which would delay the control loop."""

from __future__ import annotations

import os
import pickle
import select
import struct
import sys
from contextlib import suppress
from typing import IO, Any

from multi_qp_controller.snapshot import Snapshot
from multi_qp_ros.helper_process import start_helper

_LENGTH = struct.Struct("<I")
#: Size of a read from a pipe [B].
_PIECE = 1 << 16


class MarkerProcess:
    """Client of the marker process, which is started with the first snapshot and processes the newest one."""

    def __init__(self) -> None:
        self._process: Any = None
        self._buffer = bytearray()
        self._busy = False
        self._next: tuple[Snapshot | None, int] | None = None

    def request(self, snapshot: Snapshot | None, stamp: int) -> None:
        """Request the markers of a snapshot at a time [ns], or the deletion of all markers: None.

        It replaces a pending request.
        """
        if self._process is None:
            if snapshot is None:
                return
            program = "import sys; from multi_qp_ros.marker_process import main; sys.exit(main())"
            self._process = start_helper(program, stdin=-1, stdout=-1)
            os.set_blocking(self._process.stdout.fileno(), False)
        self._next = snapshot, stamp
        self._send_next()

    def _send_next(self) -> None:
        if self._busy or self._next is None:
            return
        data, self._next = pickle.dumps(self._next, pickle.HIGHEST_PROTOCOL), None
        try:
            self._process.stdin.write(_LENGTH.pack(len(data)) + data)
            self._process.stdin.flush()
            self._busy = True
        except BrokenPipeError:  # the process was killed; the next snapshot starts another one
            self.close()

    def result(self, *, wait: float = 0.0) -> bytes | None:
        """Return the serialised MarkerArray of a completed request, or None; empty if there are no markers.

        Args:
            wait: timeout for a pending request [s].
        """
        if self._process is None or not self._busy:
            return None
        while True:
            if wait and not select.select([self._process.stdout], [], [], wait)[0]:
                return None
            try:
                piece = os.read(self._process.stdout.fileno(), _PIECE)
            except BlockingIOError:
                return None
            if not piece:
                self.close()
                return None
            self._buffer += piece
            if len(self._buffer) < _LENGTH.size:
                continue
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) == end:
                break
        made = bytes(self._buffer[_LENGTH.size :])
        self._buffer.clear()
        self._busy = False
        self._send_next()
        return made

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._busy, self._next = self._process, None, False, None
        self._buffer.clear()
        if process is None:
            return
        process.kill()  # it has no state to save
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Read snapshots and write their markers until the end of the input."""
    from rclpy.serialization import serialize_message

    from multi_qp_ros.markers import MarkerMaker

    maker = MarkerMaker()
    while len(head := source.read(_LENGTH.size)) == _LENGTH.size:
        snapshot, stamp = pickle.loads(source.read(_LENGTH.unpack(head)[0]))  # sent by the parent process
        made = maker.clear(stamp) if snapshot is None else maker.markers(snapshot, stamp)
        data = serialize_message(made) if made.markers else b""
        sink.write(_LENGTH.pack(len(data)) + data)
        sink.flush()


def main() -> int:
    """Run `serve` on standard input and output."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps the output of libraries out of the pipe
    try:
        serve(sys.stdin.buffer, sink)
    except BrokenPipeError:  # the parent has ended
        os._exit(0)
    return 0
