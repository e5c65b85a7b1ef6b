"""Writer process of a recording: decodes ticks from a pipe, serialises their messages and writes the MCAP file."""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import IO, Any

import numpy as np
from mcap.writer import CompressionType, Writer

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.controller_state import TickInput
from multi_qp_ros.cdr import encode_string, full_name
from multi_qp_ros.recording.codec import encode_json
from multi_qp_ros.recording.ipc import Unpacker
from multi_qp_ros.recording.messages import SceneMessages, SentMessages
from multi_qp_ros.schemas import qos_profiles, schema
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.stateful import plain

#: Version of the format, incremented with every incompatible change.
FORMAT = 2
RECORDING, TICK = "/multi_qp/recording", "/multi_qp/tick"
#: Length prefix of each pickle on the pipe; 0 marks the end.
LENGTH = struct.Struct("<I")

#: A chunk is written at this size [B], or this long after the last one [s], which bounds the loss in a crash.
_CHUNK, _FLUSH_EVERY = 512 * 1024, 0.5
_TF_RATE = 50.0
_DIAGNOSTICS_EVERY = 1.0
_PERIOD = round(1e9 / _TF_RATE)


@dataclass(frozen=True)
class QueuedTick:
    """One queued tick.

    Attributes:
        given: input of the step.
        command: output of the step.
        stamp: stamp of the state [ns].
        measured: measured state; None if it is the input of the step.
    """

    given: TickInput
    command: Command
    stamp: int
    measured: State | None = None

    def plain(self) -> tuple[Any, ...]:
        """Return the tick as nested tuples; pickling dataclasses would double the time."""
        given, command, measured = self.given, self.command, self.measured
        d = command.diagnostics
        return (
            (given.state.q, given.state.v, given.time, given.controller_state),
            (command.time, command.tau, command.a, command.wrenches, command.couplings),
            (str(d.status), d.message, d.state, d.finished, d.solver_status, d.iterations, d.tick_ms, d.slack),
            self.stamp,
            None if measured is None else (measured.q, measured.v),
        )

    @classmethod
    def of(cls, plain: tuple[Any, ...]) -> QueuedTick:
        """Return the tick of the tuples that `plain` returned."""
        (q, v, time, saved), (command_time, tau, a, wrenches, couplings), diagnosed, stamp, measured = plain
        status, message, state, finished, solver_status, iterations, tick_ms, slack = diagnosed
        diagnostics = Diagnostics(
            Status(status), message, state, finished, solver_status, iterations, tick_ms=tick_ms, slack=slack
        )
        command = Command(command_time, tau, a, wrenches, diagnostics, couplings)
        return cls(TickInput(State(q, v), time, saved), command, stamp, None if measured is None else State(*measured))


class RecordingWriter:
    """MCAP writer of ticks and their messages.

    Attributes:
        written: number of ticks in the file.
    """

    def __init__(self, file: IO[bytes], messages: SceneMessages) -> None:
        # unlimited chunk size: chunks are ended between two ticks, so that the number of ticks in the file is known
        self._writer = Writer(file, chunk_size=1 << 62, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library="multi_qp_controller")
        self._messages = messages
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._counts = dict.fromkeys((f"ticks_{status}" for status in Status), 0)
        self._run = -1
        self._next_frames = self._next_diagnostics = 0
        self._status: Status | None = None
        self._flushed = monotonic()
        self._header: SentMessages | None = None
        self._sequence = 0
        self._ticks = self._size = 0
        self.written = 0

    def set_header(self, header: SentMessages) -> None:
        """Store the header of a run, which is written with the first tick and its stamp."""
        self._header = header

    def tick(self, job: QueuedTick) -> None:
        """Write one tick."""
        now, command = job.stamp, job.command
        state = job.given.state if job.measured is None else job.measured
        if self._header is not None:
            self._begin(self._header, job)
            self._header = None
        self._put(
            SentMessages(
                TICK, "std_msgs/String", encode_string(encode_json(_tick_record(job, self._run, self._sequence)))
            ),
            now,
        )
        self._sequence += 1
        self._ticks += 1
        finite = len(state.q) == len(self._messages.q0) and bool(np.isfinite(state.q).all())
        if len(state.q) == len(self._messages.q0):
            for message in self._messages.tick(state, command, now):
                self._put(message, now)
        if finite and now >= self._next_frames:
            self._next_frames = now + _PERIOD
            for message in self._messages.frames(state.q, now, fixed=False):
                self._put(message, now)
        status = command.diagnostics.status
        self._counts[f"ticks_{status}"] += 1
        if status is not self._status or now >= self._next_diagnostics:
            self._status, self._next_diagnostics = status, now + round(_DIAGNOSTICS_EVERY * 1e9)
            self._put(self._messages.diagnostics(command, now, self._counts), now)

    def _begin(self, header: SentMessages, job: QueuedTick) -> None:
        self._next_frames = self._next_diagnostics = job.stamp
        self._run, self._sequence, self._status = self._run + 1, 0, None
        self._put(header, job.stamp)
        for message in self._messages.first():
            self._put(message, job.stamp)
        for message in self._messages.frames(self._messages.q0, job.stamp, fixed=True):
            if message.topic != "/tf":
                self._put(message, job.stamp)

    def _put(self, message: SentMessages, stamp: int) -> None:
        channel = self._channels.get(message.topic)
        if channel is None:
            if message.kind not in self._schemas:
                data = schema(message.kind).encode()
                self._schemas[message.kind] = self._writer.register_schema(full_name(message.kind), "ros2msg", data)
            metadata = {"offered_qos_profiles": qos_profiles(latched=message.latched)}
            channel = self._writer.register_channel(message.topic, "cdr", self._schemas[message.kind], metadata)
            self._channels[message.topic] = channel
        self._size += len(message.data)
        self._writer.add_message(
            channel, log_time=stamp, publish_time=stamp, data=message.data, sequence=self._sequence
        )

    def flush_if_due(self) -> None:
        """Write the chunk to the file if it is large or old enough, and report the number of ticks in the file."""
        if self._size >= _CHUNK or monotonic() - self._flushed >= _FLUSH_EVERY:
            self._flush()

    def _flush(self) -> None:
        self._writer.flush()
        self._flushed, self._size = monotonic(), 0
        if self.written != self._ticks:
            self.written = self._ticks
            report(self.written)

    def finish(self) -> None:
        """Write the last chunk and the index."""
        self._flush()
        self._writer.finish()


def _tick_record(job: QueuedTick, run: int, count: int) -> dict[str, Any]:
    given, command, d = job.given, job.command, job.command.diagnostics
    return {
        "run": run,
        "tick": count,
        "time": given.time,
        "q": given.state.q,
        "v": given.state.v,
        "controller_state": plain(given.controller_state),
        "command": {
            "status": str(d.status),
            "message": d.message,
            "state": d.state,
            "solver_status": d.solver_status,
            "iterations": d.iterations,
            "tau": command.tau,
            "a": command.a,
            "wrenches": command.wrenches,
            "couplings": command.couplings,
            "slack": {row: [amount, unit] for row, (amount, unit) in d.slack.items()},
        },
    }


def _messages(source: IO[bytes]) -> Any:
    """Yield the messages of the pipe, and None after each timeout, until the end mark or the end of the pipe."""
    unpacker = Unpacker()
    while True:
        if not select.select([source], [], [], _FLUSH_EVERY)[0]:
            yield None
            continue
        head = _read(source, LENGTH.size)
        size = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else 0
        data = _read(source, size)
        if not size or len(data) < size:
            return
        yield unpacker.unpack(data)  # sent by the parent process


def _read(source: IO[bytes], size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = source.read(size - len(parts))
        if not part:
            break
        parts += part
    return bytes(parts)


def write_all(source: IO[bytes], file: IO[bytes]) -> str:
    """Write the messages of a pipe until it ends or writing fails.

    Returns:
        The reason of a failure, else empty. After a failure the file is readable, but has no index.
    """
    sink: RecordingWriter | None = None
    try:
        for message in _messages(source):
            if isinstance(message, Scenario):
                sink = RecordingWriter(file, SceneMessages(message))
            elif sink is not None:
                if isinstance(message, SentMessages):
                    sink.set_header(message)
                elif isinstance(message, tuple):
                    sink.tick(QueuedTick.of(message))
                sink.flush_if_due()
        if sink is not None:
            sink.finish()
        file.close()
    except Exception as error:  # e.g. a full disk
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        report(0 if sink is None else sink.written, reason.replace("\n", " "))
        return reason
    return ""


def report(written: int, reason: str = "") -> None:
    """Report the number of ticks in the file, and the reason of a failure, to the recorder on standard output."""
    with suppress(BrokenPipeError):  # the recorder was killed; queued ticks are still written
        os.write(1, f"{written} {reason}\n".encode())


def main() -> int:
    """Write the messages of standard input to the file descriptor given as the only argument."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ends with its input
    file = os.fdopen(int(sys.argv[1]), "wb")
    with os.fdopen(0, "rb", buffering=0) as source:
        failure = write_all(source, file)
    if failure:
        os._exit(1)  # without flushing the file's buffer, which would fail again
    return 0
