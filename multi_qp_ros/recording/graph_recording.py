"""Optional recording of the runs of a controller node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_ros.recording.recorder import BagRecorder
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State


class GraphRecording:
    """A `BagRecorder`, or a recorder without effect if no file is named.

    Attributes:
        failure: last error of the recording, empty if there is none.
    """

    def __init__(self, file: str, scenario: Scenario, *, blocking: bool, log: Any) -> None:
        """Open the file; see `BagRecorder`.

        Args:
            file: path of the recording; nothing is recorded if empty.
            scenario: scenario of the runs.
            blocking: whether to block on a slow disk instead of dropping ticks.
            log: logger of the node, for errors.

        Raises:
            MultiQpError: when the file cannot be written.
        """
        self.failure, self._log = "", log
        self._recorder = (
            BagRecorder(Path(file), scenario, backend="ros", blocking=blocking, on_error=self._report_error)
            if file
            else None
        )

    def _report_error(self, message: str) -> None:
        self.failure = message
        self._log.error(message)

    @property
    def lost(self) -> int:
        """Number of ticks missing from the recording."""
        return 0 if self._recorder is None else self._recorder.lost

    def attach(self, controller: Controller) -> None:
        """Record the ticks of this controller from now on."""
        if self._recorder is not None:
            self._recorder.attach(controller)

    def record(self, controller: Controller, command: Command, stamp: int, measured: State) -> None:
        """Record a tick; `stamp` is that of the measured state [ns]."""
        if self._recorder is not None:
            given = controller.last_input
            predicted = given is not None and given.state is not measured
            self._recorder.record(controller, command, stamp, measured=measured if predicted else None)

    def report(self) -> dict[str, Any]:
        """Return the entries on the recording for the report of a run; empty if nothing is recorded."""
        return {} if self._recorder is None else {"recording": self._recorder.report()}

    def close(self, *, patience: float | None = None) -> None:
        """Finish the file and log errors; further calls have no effect.

        Args:
            patience: longest wait for the writer process [s], which then finishes in the background.
        """
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            recorder.close(patience=patience)
        except MultiQpError as error:
            self.failure = str(error)
            self._log.error(self.failure)
        else:
            if recorder.lost:
                self._log.error(f"{recorder.lost} of {recorder.offered} ticks are not in '{recorder.path}'")
