"""The process that makes a recording's messages and writes them; the tick's own process only hands ticks over."""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
from dataclasses import dataclass
from time import monotonic
from typing import IO, Any

import numpy as np
from mcap.writer import CompressionType, Writer

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.memory import TickInput
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.bags.cdr import encode_string, full_name
from multi_qp_simulator.bags.codec import encode_json
from multi_qp_simulator.bags.handover import Unpacker
from multi_qp_simulator.bags.messages import SceneMessages, Told
from multi_qp_simulator.bags.schemas import schema

#: Changes whenever an older reader could not read what is written.
FORMAT = 1
RECORDING, TICK = "/multi_qp/recording", "/multi_qp/tick"
#: Before each pickle on the pipe: its length; 0 where there is no more to come.
LENGTH = struct.Struct("<I")

#: A chunk is written when it has this many bytes [B], or this long after the last [s]: no more is lost in a crash.
_CHUNK, _FLUSH_EVERY = 512 * 1024, 0.5
_TF_RATE = 50.0
_DIAGNOSTICS_EVERY = 1.0
_PERIOD = round(1e9 / _TF_RATE)


@dataclass(frozen=True)
class Job:
    """One tick on its way to the file; the state that was measured, where the step was given another."""

    given: TickInput
    command: Command
    stamp: int
    measured: State | None = None

    def plain(self) -> tuple[Any, ...]:
        """Return what is written of it as plain data: objects with fields by name take as long as all the rest."""
        given, command, measured = self.given, self.command, self.measured
        d = command.diagnostics
        return (
            (given.state.q, given.state.v, given.time, given.memory),
            (command.time, command.tau, command.a, command.wrenches, command.couplings),
            (str(d.status), d.message, d.state, d.finished, d.solver_status, d.iterations, d.tick_ms, d.slack),
            self.stamp,
            None if measured is None else (measured.q, measured.v),
        )

    @classmethod
    def of(cls, plain: tuple[Any, ...]) -> Job:
        """Make it again, of what `plain` returned."""
        (q, v, time, memory), (answered, tau, a, wrenches, couplings), said, stamp, measured = plain
        status, message, state, finished, solver_status, iterations, tick_ms, slack = said
        told = Diagnostics(
            Status(status), message, state, finished, solver_status, iterations, tick_ms=tick_ms, slack=slack
        )
        command = Command(answered, tau, a, wrenches, told, couplings)
        return cls(TickInput(State(q, v), time, memory), command, stamp, None if measured is None else State(*measured))


class Sink:
    """The file, seen from the process that writes it."""

    def __init__(self, file: IO[bytes], messages: SceneMessages) -> None:
        self._writer = Writer(file, chunk_size=_CHUNK, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library="multi_qp_controller")
        self._messages = messages
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._counts = dict.fromkeys((f"ticks_{status}" for status in Status), 0)
        self._run = -1
        self._next_frames = self._next_diagnostics = 0
        self._status: Status | None = None
        self._flushed = monotonic()
        self._header: Told | None = None
        self._sequence = 0

    def tell(self, told: Told) -> None:
        """Take the header of a run; it is written with the run's first tick, whose stamp it takes."""
        self._header = told

    def tick(self, job: Job) -> None:
        """Write one tick."""
        now, command = job.stamp, job.command
        state = job.given.state if job.measured is None else job.measured
        if self._header is not None:
            self._begin(self._header, job)
            self._header = None
        self._put(
            Told(TICK, "std_msgs/String", encode_string(encode_json(_tick_record(job, self._run, self._sequence)))), now
        )
        self._sequence += 1
        whole = len(state.q) == len(self._messages.q0) and bool(np.isfinite(state.q).all())
        if len(state.q) == len(self._messages.q0):
            for told in self._messages.tick(state, command, now):
                self._put(told, now)
        if whole and now >= self._next_frames:
            self._next_frames = now + _PERIOD
            for told in self._messages.frames(state.q, now, fixed=False):
                self._put(told, now)
        status = command.diagnostics.status
        self._counts[f"ticks_{status}"] += 1
        if status is not self._status or now >= self._next_diagnostics:
            self._status, self._next_diagnostics = status, now + round(_DIAGNOSTICS_EVERY * 1e9)
            self._put(self._messages.diagnostics(command, now, self._counts), now)

    def _begin(self, header: Told, job: Job) -> None:
        self._next_frames = self._next_diagnostics = job.stamp
        self._run, self._sequence, self._status = self._run + 1, 0, None
        self._put(header, job.stamp)
        for told in self._messages.first():
            self._put(told, job.stamp)
        for told in self._messages.frames(self._messages.q0, job.stamp, fixed=True):
            if told.topic != "/tf":
                self._put(told, job.stamp)

    def _put(self, told: Told, stamp: int) -> None:
        channel = self._channels.get(told.topic)
        if channel is None:
            if told.kind not in self._schemas:
                data = schema(told.kind).encode()
                self._schemas[told.kind] = self._writer.register_schema(full_name(told.kind), "ros2msg", data)
            channel = self._writer.register_channel(told.topic, "cdr", self._schemas[told.kind])
            self._channels[told.topic] = channel
        self._writer.add_message(channel, log_time=stamp, publish_time=stamp, data=told.data, sequence=self._sequence)

    def flush_if_due(self) -> None:
        """Bring what there is to the system, if it is time to."""
        if monotonic() - self._flushed >= _FLUSH_EVERY:
            self._writer.flush()
            self._flushed = monotonic()

    def finish(self) -> None:
        """Write the index."""
        self._writer.finish()


def _tick_record(job: Job, run: int, count: int) -> dict[str, Any]:
    given, command, d = job.given, job.command, job.command.diagnostics
    return {
        "run": run,
        "tick": count,
        "time": given.time,
        "q": given.state.q,
        "v": given.state.v,
        "memory": given.memory,
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
    """Give what comes through the pipe, and None after each time that nothing did; it ends with the other side."""
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
        yield unpacker.unpack(data)  # from our own parent


def _read(source: IO[bytes], size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = source.read(size - len(parts))
        if not part:
            break
        parts += part
    return bytes(parts)


def write_all(source: IO[bytes], file: IO[bytes]) -> None:
    """Write what comes through a pipe until it ends; whoever is at its other end never waits for a broken disk.

    Raises:
        Exception: whatever went wrong first, at the end.
    """
    sink: Sink | None = None
    error: Exception | None = None
    for message in _messages(source):
        if error is not None:
            continue
        try:
            if isinstance(message, Scenario):
                sink = Sink(file, SceneMessages(message))
            elif sink is not None:
                if isinstance(message, Told):
                    sink.tell(message)
                elif isinstance(message, tuple):
                    sink.tick(Job.of(message))
                sink.flush_if_due()
        except Exception as failure:  # a full disk, for one
            error = failure
    if error is not None:
        raise error
    if sink is not None:
        sink.finish()
    file.close()


def main() -> int:
    """Write to the file descriptor that is the only argument what comes on standard input; tell what goes wrong."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends with what it is told, not before
    file = os.fdopen(int(sys.argv[1]), "wb")
    try:
        with os.fdopen(0, "rb", buffering=0) as source:
            write_all(source, file)
    except Exception as error:
        sys.stdout.write(getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")
        sys.stdout.flush()
        os._exit(1)  # what is left in the file's buffer cannot be written either
    return 0
