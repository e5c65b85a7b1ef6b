"""Records runs: the tick hands its input and answer over, a thread of its own makes and writes the messages."""

from __future__ import annotations

import queue
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Any

import numpy as np
from mcap.writer import CompressionType, Writer

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.memory import TickInput
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import resource_dirs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.sources import pack
from multi_qp_simulator.bags.cdr import encode_string, full_name
from multi_qp_simulator.bags.codec import encode_json
from multi_qp_simulator.bags.identity import identity, project_version
from multi_qp_simulator.bags.messages import SceneMessages, Told
from multi_qp_simulator.bags.schemas import schema

#: Changes whenever an older reader could not read what is written.
FORMAT = 1
RECORDING, TICK = "/multi_qp/recording", "/multi_qp/tick"

#: Ticks that may wait to be written.
_LONGEST_QUEUE = 500
#: A chunk is written when it has this many bytes [B], or this long after the last [s]: no more is lost in a crash.
_CHUNK, _FLUSH_EVERY = 512 * 1024, 0.5
#: Longest time that the tick waits for the thread that writes, in the same interpreter [s]; Python's own is 5 ms.
_SWITCH_INTERVAL = 2e-4
_TF_RATE = 50.0
_DIAGNOSTICS_EVERY = 1.0
_PERIOD = round(1e9 / _TF_RATE)


@dataclass(frozen=True)
class _Job:
    """One tick on its way to the file."""

    given: TickInput
    command: Command
    stamp: int


class BagRecorder:
    """An observer of runs of one scenario that writes an MCAP file; the runs of one file are counted from 0.

    What is written up to half a second ago can be read whatever happens to the process.

    Attributes:
        path: of the file.
        lost: ticks that were not recorded, for the disk could not keep up; always 0 if `patient`.
    """

    def __init__(self, path: str | Path, scenario: Scenario, *, backend: str, patient: bool = True) -> None:
        """Begin a file.

        Args:
            path: to write; a file that is there is replaced.
            scenario: that is run.
            backend: name of the world, for the record.
            patient: wait for the disk rather than lose ticks; not for a robot.

        Raises:
            MultiQpError: when the file cannot be written.
        """
        self.path, self.lost = Path(path), 0
        self._scenario, self._backend, self._patient = scenario, backend, patient
        self._controller: Controller | None = None
        self._jobs: queue.Queue[_Job | Told | None] = queue.Queue(_LONGEST_QUEUE)
        self._error: Exception | None = None
        try:
            self._file: IO[bytes] = self.path.open("wb")
        except OSError as error:
            raise MultiQpError(f"cannot write '{path}': {error.strerror}") from None
        self._switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(min(_SWITCH_INTERVAL, self._switch_interval))
        self._thread = threading.Thread(target=self._write_all, name="bag recorder", daemon=True)
        self._thread.start()

    def attach(self, controller: Controller) -> None:
        """Begin a run: what is recorded from now on is of this controller. A run without ticks leaves no trace."""
        controller.keeps_input = True
        self._controller = controller
        text = encode_json(self._recording(controller))
        self._jobs.put(Told(RECORDING, "std_msgs/String", encode_string(text)))

    def __call__(self, controller: Controller, command: Command) -> None:
        """Record a tick of a simulated run, whose time is the clock's."""
        self.record(controller, command, round(command.time * 1e9))

    def record(self, controller: Controller, command: Command, stamp: int) -> None:
        """Record a tick whose state has a stamp [ns]; the first tick of a controller that was not attached is lost."""
        if controller is not self._controller:
            self.attach(controller)
        if controller.last_input is None:
            return
        job = _Job(controller.last_input, command, stamp)
        try:
            self._jobs.put(job, block=self._patient)
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Write what is left and finish the file.

        Raises:
            MultiQpError: when it could not be written.
        """
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
            sys.setswitchinterval(self._switch_interval)
        if self._controller is not None:
            self._controller.keeps_input = False
        if self._error is not None:
            raise MultiQpError(f"cannot write '{self.path}': {getattr(self._error, 'strerror', None) or self._error}")

    def _recording(self, controller: Controller) -> dict[str, Any]:
        """Return everything that determines a tick and does not change within a run."""
        scenario, scene = controller.scenario, controller.scenario.scene
        return {
            "format": FORMAT,
            "version": project_version(),
            "identity": identity(),
            "scenario": {
                "name": scenario.name,
                "path": str(scenario.path.absolute()),
                "parameters": scenario.parameters,
                "seed": scenario.seed,
                "spec": scenario.spec.model_dump(mode="json", by_alias=True),
                "files": [asdict(file) for file in pack(scenario.files, resource_dirs())],
            },
            "backend": self._backend,
            "dt": controller.dt,
            "solver": controller.solver_name,
            "formulation": controller.formulation_name,
            "closed_loop": controller.closed_loop is not None,
            "joint_names": scene.joint_names,
            "actuated_joint_names": scene.actuated_joint_names,
        }

    # -- in the thread

    def _write_all(self) -> None:
        sink = _Sink(self._file, SceneMessages(self._scenario))
        running = True
        while running:
            try:
                job = self._jobs.get(timeout=_FLUSH_EVERY)
            except queue.Empty:
                if self._error is None:
                    sink.flush_if_due()
                continue
            running = job is not None
            if self._error is not None:
                continue  # nobody shall wait for room in the queue
            try:
                if isinstance(job, Told):
                    sink.tell(job)
                elif isinstance(job, _Job):
                    sink.tick(job)
                sink.flush_if_due()
                if not running:
                    sink.finish()
            except Exception as error:  # a full disk, for one; the run goes on, and `close` tells
                self._error = error
        try:
            self._file.close()
        except OSError as error:
            self._error = self._error or error


class _Sink:
    """The file, seen from the thread that writes it."""

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

    def tick(self, job: _Job) -> None:
        """Write one tick."""
        now, command, state = job.stamp, job.command, job.given.state
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

    def _begin(self, header: Told, job: _Job) -> None:
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


def _tick_record(job: _Job, run: int, count: int) -> dict[str, Any]:
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
