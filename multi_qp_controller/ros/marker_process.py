"""Markers are made by a process of their own: some milliseconds, which the next state's answer need not wait for."""

from __future__ import annotations

import os
import pickle
import select
import struct
import sys
from typing import IO, Any

from multi_qp_controller.helper_process import start_helper
from multi_qp_controller.snapshot import Snapshot

_LENGTH = struct.Struct("<I")
#: What is read from a pipe at once [B].
_PIECE = 1 << 16


class MarkerProcess:
    """Makes the markers of snapshots, the newest one first; it is started with the first of them."""

    def __init__(self) -> None:
        self._process: Any = None
        self._got = bytearray()
        self._busy = False
        self._next: tuple[Snapshot | None, int] | None = None

    def ask(self, snapshot: Snapshot | None, stamp: int) -> None:
        """Ask for the markers of a snapshot at a time [ns], or for what deletes all that is shown: None.

        What was asked before and is not begun with is forgotten.
        """
        if self._process is None:
            if snapshot is None:
                return
            program = "import sys; from multi_qp_controller.ros.marker_process import main; sys.exit(main())"
            self._process = start_helper(program, stdin=-1, stdout=-1)
            os.set_blocking(self._process.stdout.fileno(), False)
        self._next = snapshot, stamp
        self._pass_on()

    def _pass_on(self) -> None:
        if self._busy or self._next is None:
            return
        data, self._next = pickle.dumps(self._next, pickle.HIGHEST_PROTOCOL), None
        try:
            self._process.stdin.write(_LENGTH.pack(len(data)) + data)
            self._process.stdin.flush()
            self._busy = True
        except BrokenPipeError:  # somebody ended it: another one is started with the next snapshot
            self.close()

    def answer(self, *, wait: float = 0.0) -> bytes | None:
        """Return a serialised MarkerArray that has been made, or None; empty where there is nothing to tell.

        Args:
            wait: for it, if one was asked for [s].
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
            self._got += piece
            if len(self._got) < _LENGTH.size:
                continue
            end = _LENGTH.size + _LENGTH.unpack_from(self._got)[0]
            if len(self._got) == end:
                break
        made = bytes(self._got[_LENGTH.size :])
        self._got.clear()
        self._busy = False
        self._pass_on()
        return made

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._busy, self._next = self._process, None, False, None
        self._got.clear()
        if process is None:
            return
        process.stdout.close()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.wait()


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer each snapshot with its markers until there is no other."""
    from rclpy.serialization import serialize_message

    from multi_qp_controller.ros.markers import MarkerMaker

    maker = MarkerMaker()
    while len(head := source.read(_LENGTH.size)) == _LENGTH.size:
        snapshot, stamp = pickle.loads(source.read(_LENGTH.unpack(head)[0]))  # from our own parent
        made = maker.clear(stamp) if snapshot is None else maker.markers(snapshot, stamp)
        data = serialize_message(made) if made.markers else b""
        sink.write(_LENGTH.pack(len(data)) + data)
        sink.flush()


def main() -> int:
    """Serve on standard input and output."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not an answer
    try:
        serve(sys.stdin.buffer, sink)
    except BrokenPipeError:  # who asked has gone
        os._exit(0)
    return 0
