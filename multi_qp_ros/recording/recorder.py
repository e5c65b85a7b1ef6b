"""Recorder of runs: ticks are queued to a separate process, which serialises and writes the messages."""

from __future__ import annotations

import copy
import fcntl
import logging
import math
import os
import select
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import IO, Any

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_ros.cdr import encode_string
from multi_qp_ros.helper_process import start_helper
from multi_qp_ros.recording.codec import encode_json
from multi_qp_ros.recording.identity import identity, project_version
from multi_qp_ros.recording.ipc import Packer
from multi_qp_ros.recording.messages import SentMessages
from multi_qp_ros.recording.writing import FORMAT, LENGTH, RECORDING, QueuedTick
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import resource_dirs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.sources import pack

_log = logging.getLogger(__name__)

#: Capacity of the queue of ticks, besides those in the pipe.
LONGEST_QUEUE = 500
#: Longest wait of a blocking recorder for a writer that reads nothing, or does not finish [s].
LONGEST_WAIT = 30.0
#: Number of ticks between two reads of the writer's reports.
_READ_REPORTS_EVERY = 64
#: Capacity of the pipe, where the system supports setting it [B].
_PIPE = 1024 * 1024


class BagRecorder:
    """An observer of runs of one scenario that writes an MCAP file; the runs of one file are counted from 0.

    Recorded ticks are written even if the process of the run is killed; if the writer is killed too, at most the last
    half second is lost. A recording that fails (full disk, writer terminated or stalled) ends; the run continues.

    Attributes:
        path: path of the file.
        offered: number of ticks passed to `record`.
        written: number of ticks in the file, as last reported by the writer.
        failure: reason why the recording ended before the run; empty if it did not.
        process: the writer process.
    """

    def __init__(
        self,
        path: str | Path,
        scenario: Scenario,
        *,
        backend: str,
        blocking: bool = True,
        on_error: Callable[[str], None] = _log.warning,
    ) -> None:
        """Open a file and start the writer process.

        Args:
            path: path of the file; an existing one is overwritten.
            scenario: scenario of the runs.
            backend: name of the simulator backend, stored in the header.
            blocking: block on a slow disk, up to `LONGEST_WAIT`, instead of dropping ticks; not for real robots.
            on_error: called with a message when the recording fails, and when ticks are dropped for the first time.

        Raises:
            MultiQpError: when the file cannot be written.
        """
        self.path, self.failure = Path(path), ""
        self.offered = self.written = self._skipped = 0
        self._scenario, self._backend, self._blocking, self._on_error = scenario, backend, blocking, on_error
        self._controller: Controller | None = None
        self._queue: deque[memoryview] = deque()
        self._partial_line, self._closed, self._finished = b"", False, False
        try:
            file = self.path.open("wb")
        except OSError as error:
            raise MultiQpError(f"cannot write '{path}': {error.strerror}") from None
        with file:
            self.process, self._pipe = _start(file)
        self._packer = Packer()
        self._enqueue(_without_visuals(scenario))
        self._packer.reset()

    @property
    def lost(self) -> int:
        """Number of ticks that are missing from the file for good; exact once the recording is closed."""
        return self.offered - self.written if self.failure or self._finished else self._skipped

    def attach(self, controller: Controller) -> None:
        """Start a run with this controller. A run without ticks is not written."""
        controller.records_input = True
        self._controller = controller
        text = encode_json(self._recording(controller))
        self._enqueue(SentMessages(RECORDING, "std_msgs/String", encode_string(text), latched=True))

    def __call__(self, controller: Controller, command: Command) -> None:
        """Record a tick of a simulated run, stamped with the simulation time."""
        self.record(controller, command, round(command.time * 1e9))

    def record(self, controller: Controller, command: Command, stamp: int, *, measured: State | None = None) -> None:
        """Record a tick; the first tick of a controller that was not attached is lost.

        Args:
            controller: controller that computed the command.
            command: output of the step.
            stamp: stamp of the state [ns].
            measured: measured state; None if it is the input of the step.
        """
        if self.failure:
            self.offered += 1
            return
        if controller is not self._controller:
            self.attach(controller)
        if controller.last_input is None:
            return
        self.offered += 1
        if self.offered % _READ_REPORTS_EVERY == 0:
            self._read_reports()
        self._send_queued(within=LONGEST_WAIT if self._blocking and len(self._queue) >= LONGEST_QUEUE else 0.0)
        if len(self._queue) < LONGEST_QUEUE:
            self._enqueue(QueuedTick(controller.last_input, command, stamp, measured).plain())
            return
        if not self._skipped:
            self._on_error(f"the recording '{self.path}' leaves ticks out: the disk is too slow")
        self._skipped += 1

    def _enqueue(self, message: Any) -> None:
        if self.failure:
            return
        data = self._packer.pack(message)
        self._queue.append(memoryview(LENGTH.pack(len(data)) + data))
        self._send_queued(within=0.0)

    def _send_queued(self, *, within: float, until: float = math.inf) -> None:
        """Write the queue to the pipe, as far as its capacity permits without blocking, or blocking within limits.

        Args:
            within: time without progress after which the writer counts as stalled [s]; 0: do not block.
            until: deadline of this call on the monotonic clock [s].
        """
        while self._queue:
            try:
                written = os.write(self._pipe, self._queue[0])
            except BlockingIOError:
                left = min(within, until - monotonic())
                if left <= 0.0:
                    return
                if not select.select([], [self._pipe], [], left)[1] and left == within:
                    self._fail(f"the process that writes it has taken nothing for {within:g} s")
                continue
            except BrokenPipeError:  # the writer has ended
                self._fail()
                return
            if written < len(self._queue[0]):
                self._queue[0] = self._queue[0][written:]
            else:
                self._queue.popleft()

    def _read_reports(self) -> None:
        """Read the reports of the writer: lines with the number of ticks in the file, and the reason if it ended."""
        if self.process.stdout is None:
            return
        with suppress(BlockingIOError):
            while more := os.read(self.process.stdout.fileno(), 1 << 16):
                self._partial_line += more
        *lines, self._partial_line = self._partial_line.split(b"\n")
        for line in lines:
            count, _, reason = line.decode(errors="replace").partition(" ")
            if count.isdigit():
                self.written = int(count)
            if reason and not self.failure:
                self.failure = reason

    def _fail(self, reason: str = "") -> None:
        """End the recording.

        Args:
            reason: reason of the failure; if empty, the one reported by the writer.
        """
        self._queue.clear()
        self._read_reports()
        self.failure = self.failure or reason or self._ended()
        if self._controller is not None:
            self._controller.records_input = False
        self._on_error(f"the recording '{self.path}' has ended, the run goes on: {self.failure}")

    def _ended(self) -> str:
        status = self.process.poll()
        return "the process that writes it ended" + (f" with status {status}" if status is not None else "")

    def close(self, *, patience: float | None = None) -> None:
        """Write the queue and finish the file; further calls have no effect.

        Args:
            patience: longest wait for the writer process [s], which then finishes in the background; None: wait until
                it has finished, or has stalled for `LONGEST_WAIT`.

        Raises:
            MultiQpError: when ticks could not be written, or the file could not be finished.
        """
        end = math.inf if patience is None else monotonic() + patience
        if self._controller is not None:
            self._controller.records_input = False
        if self._closed:
            return
        if not self.failure:
            self._on_error = _ignore  # the exception has the message
            self._queue.append(memoryview(LENGTH.pack(0)))
            self._send_queued(within=LONGEST_WAIT, until=end)
            self._skipped += max(0, len(self._queue) - 1)
        os.close(self._pipe)
        self._closed = True
        try:
            self.process.wait(0.1 if self.failure else min(LONGEST_WAIT, max(0.0, end - monotonic())))
        except subprocess.TimeoutExpired:
            if patience is not None and not self.failure:
                return
            self.process.kill()
            self.process.wait()
            self.failure = self.failure or f"the process that writes it did not finish within {LONGEST_WAIT:g} s"
        self._read_reports()
        self._finished = True
        if self.process.returncode and not self.failure:
            self.failure = self._ended()
        if self.process.stdout is not None:
            self.process.stdout.close()
        if self.failure:
            count = f"{self.written} of {self.offered} ticks are in it"
            raise MultiQpError(f"cannot write '{self.path}': {self.failure}; {count}")

    def report(self) -> dict[str, Any]:
        """Return file, counts and failure of the recording, for the report of a run."""
        return {
            "file": str(self.path),
            "ticks": self.offered - self.lost,
            "lost": self.lost,
            "failure": self.failure or None,
        }

    def _recording(self, controller: Controller) -> dict[str, Any]:
        """Return the header of a run: everything that determines its ticks and is constant."""
        scenario, scene = controller.scenario, controller.scenario.scene
        return {
            "format": FORMAT,
            "version": project_version(),
            "identity": identity(),
            "scenario": {
                "name": scenario.name,
                "path": os.path.abspath(scenario.path),
                "parameters": scenario.parameters,
                "seed": scenario.seed,
                "spec": scenario.spec.model_dump(mode="json", by_alias=True),
                "initial_configuration": scene.q0.tolist(),
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


def _ignore(message: str) -> None:
    """Discard a message."""


def _start(file: IO[bytes]) -> tuple[subprocess.Popen[bytes], int]:
    """Start the writer process; return it and the non-blocking write end of the pipe to it."""
    source, pipe = os.pipe()
    try:
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
    except OSError:  # beyond the limit for users; the default capacity suffices
        pass
    os.set_blocking(pipe, False)
    program = "import sys; from multi_qp_ros.recording.writing import main; sys.exit(main())"
    try:
        process = start_helper(
            program, str(file.fileno()), stdin=source, stdout=subprocess.PIPE, pass_fds=[file.fileno()]
        )
    finally:
        os.close(source)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process, pipe


def _without_visuals(scenario: Scenario) -> Scenario:
    """Return a scenario without the visual meshes (about 80 MB), which the recording does not need."""
    scene = copy.copy(scenario.scene)
    vars(scene).pop("visual_model", None)  # cached property, loaded on access
    return replace(scenario, scene=scene)
