"""Records runs: the tick hands its input and answer over, a process of its own makes and writes the messages."""

from __future__ import annotations

import copy
import fcntl
import os
import select
import subprocess
from collections import deque
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_controller.helper_process import start_helper
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import resource_dirs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.sources import pack
from multi_qp_simulator.bags.cdr import encode_string
from multi_qp_simulator.bags.codec import encode_json
from multi_qp_simulator.bags.handover import Packer
from multi_qp_simulator.bags.identity import identity, project_version
from multi_qp_simulator.bags.messages import Told
from multi_qp_simulator.bags.writing import FORMAT, LENGTH, RECORDING, Job

#: Ticks that may wait to be written, besides those in the pipe.
LONGEST_QUEUE = 500
#: Room in the pipe, where the system lets us choose [B].
_PIPE = 1024 * 1024


class BagRecorder:
    """An observer of runs of one scenario that writes an MCAP file; the runs of one file are counted from 0.

    What was recorded is written even if the run's own process is killed; if both are, all but the last half second.

    Attributes:
        path: of the file.
        lost: ticks that were not recorded, for the disk could not keep up; always 0 if `patient`.
        process: that writes.
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
        self._waiting: deque[memoryview] = deque()
        self._broken = False
        try:
            file = self.path.open("wb")
        except OSError as error:
            raise MultiQpError(f"cannot write '{path}': {error.strerror}") from None
        with file:
            self.process, self._pipe = _start(file)
        self._packer = Packer()
        self._put(_without_looks(scenario))
        self._packer.forget()

    def attach(self, controller: Controller) -> None:
        """Begin a run: what is recorded from now on is of this controller. A run without ticks leaves no trace."""
        controller.keeps_input = True
        self._controller = controller
        text = encode_json(self._recording(controller))
        self._put(Told(RECORDING, "std_msgs/String", encode_string(text)))

    def __call__(self, controller: Controller, command: Command) -> None:
        """Record a tick of a simulated run, whose time is the clock's."""
        self.record(controller, command, round(command.time * 1e9))

    def record(self, controller: Controller, command: Command, stamp: int, *, measured: State | None = None) -> None:
        """Record a tick; the first tick of a controller that was not attached is lost.

        Args:
            controller: that answered.
            command: its answer.
            stamp: of the state [ns].
            measured: what the robots said of themselves; None where the step was given just that.
        """
        if controller is not self._controller:
            self.attach(controller)
        if controller.last_input is None:
            return
        self._pass_on(wait=self._patient and len(self._waiting) >= LONGEST_QUEUE)
        if len(self._waiting) >= LONGEST_QUEUE:
            self.lost += 1
            return
        self._put(Job(controller.last_input, command, stamp, measured).plain())

    def _put(self, message: Any) -> None:
        data = self._packer.pack(message)
        self._waiting.append(memoryview(LENGTH.pack(len(data)) + data))
        self._pass_on(wait=False)

    def _pass_on(self, *, wait: bool) -> None:
        """Put what waits into the pipe, as far as there is room, or all of it."""
        while self._waiting and not self._broken:
            try:
                written = os.write(self._pipe, self._waiting[0])
            except BlockingIOError:
                if not wait:
                    return
                select.select([], [self._pipe], [])
                continue
            except BrokenPipeError:
                self._broken = True
                break
            if written < len(self._waiting[0]):
                self._waiting[0] = self._waiting[0][written:]
            else:
                self._waiting.popleft()
        if self._broken:
            self._waiting.clear()

    def close(self) -> None:
        """Write what is left and finish the file.

        Raises:
            MultiQpError: when it could not be written.
        """
        if self._controller is not None:
            self._controller.keeps_input = False
        if self._pipe < 0:
            return
        self._waiting.append(memoryview(LENGTH.pack(0)))
        self._pass_on(wait=True)
        os.close(self._pipe)
        self._pipe = -1
        said = self.process.communicate()[0].decode(errors="replace")
        if self.process.returncode or self._broken:
            reason = said or f"the process that writes it ended with status {self.process.returncode}"
            raise MultiQpError(f"cannot write '{self.path}': {reason}")

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


def _start(file: IO[bytes]) -> tuple[subprocess.Popen[bytes], int]:
    """Start the process that writes, and return it with our end of the pipe to it, which never makes us wait."""
    source, pipe = os.pipe()
    try:
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
    except OSError:  # more than we may have: it works with less
        pass
    os.set_blocking(pipe, False)
    program = "import sys; from multi_qp_simulator.bags.writing import main; sys.exit(main())"
    try:
        process = start_helper(
            program, str(file.fileno()), stdin=source, stdout=subprocess.PIPE, pass_fds=[file.fileno()]
        )
    finally:
        os.close(source)
    return process, pipe


def _without_looks(scenario: Scenario) -> Scenario:
    """Return a scenario without the meshes that only a viewer needs, some 80 MB."""
    scene = copy.copy(scenario.scene)
    vars(scene).pop("visual_model", None)  # it is loaded where it is asked for
    return replace(scenario, scene=scene)
