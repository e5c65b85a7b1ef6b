"""The recording of a node's runs, where one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.bags.recorder import BagRecorder


class GraphRecording:
    """A `BagRecorder`, or nothing where no file is named."""

    def __init__(self, file: str, scenario: Scenario, *, patient: bool) -> None:
        """Begin the file; see `BagRecorder`.

        Raises:
            MultiQpError: when it cannot be written.
        """
        self._recorder = BagRecorder(Path(file), scenario, backend="ros", patient=patient) if file else None

    def attach(self, controller: Controller) -> None:
        """Record this controller from now on."""
        if self._recorder is not None:
            self._recorder.attach(controller)

    def record(self, controller: Controller, command: Command, stamp: int, measured: State) -> None:
        """Record a tick whose measured state has a stamp [ns]."""
        if self._recorder is not None:
            given = controller.last_input
            predicted = given is not None and given.state is not measured
            self._recorder.record(controller, command, stamp, measured=measured if predicted else None)

    def close(self, log: Any) -> None:
        """Finish the file, once, and tell a node's logger what went wrong."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            recorder.close()
        except MultiQpError as error:
            log.error(str(error))
        if recorder.lost:
            log.warning(f"{recorder.lost} ticks are not in the recording: the disk was too slow")
