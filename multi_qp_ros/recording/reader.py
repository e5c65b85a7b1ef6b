"""Reader of recorded ticks, robust to truncated, damaged and forged files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, TypedDict

import msgspec
import numpy as np
from msgspec import Meta

from multi_qp_controller.command import Status
from multi_qp_controller.controller_state import TickInput
from multi_qp_ros.recording.codec import decode_arrays
from multi_qp_ros.recording.mcap_scan import DamagedFileError, McapScan
from multi_qp_ros.recording.writing import FORMAT, RECORDING, TICK
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.files import open_regular
from multi_qp_scene.limits import check
from multi_qp_scene.scene import State

#: Half-width of the window around the expected log time in which a tick is searched first [ns].
_WINDOW = 300_000_000
#: Largest JSON of a run and of a tick [B]; those of the shipped scenes have up to 0.5 and 0.1 MB.
_LARGEST_RECORDING, _LARGEST_TICK = 32 << 20, 16 << 20


class _File(TypedDict):
    path: str
    shipped: bool
    sha256: str
    text: str | None


class _Scenario(TypedDict):
    name: str
    path: str
    parameters: dict[str, float]
    seed: Annotated[int, Meta(ge=0)]
    spec: dict[str, Any]
    initial_configuration: list[float]
    files: Annotated[list[_File], Meta(min_length=1)]


class _Recording(TypedDict):
    """Schema of the header of a run, against which `Bag.recordings` is validated."""

    format: int
    version: str
    identity: dict[str, str]
    scenario: _Scenario
    backend: str
    dt: float
    solver: str
    formulation: str
    closed_loop: bool
    joint_names: list[str]
    actuated_joint_names: list[str]


class _Format(msgspec.Struct):
    format: int
    version: str = "unknown"


class _Command(msgspec.Struct):
    status: Status
    state: str
    message: str


class _RecordedCommand(TypedDict):
    status: Status
    message: str
    state: str
    solver_status: str
    iterations: int
    tau: Any
    a: Any
    wrenches: dict[str, Any]
    couplings: dict[str, float | None]
    slack: dict[str, tuple[float | None, str]]


class _Tick(TypedDict):
    run: int
    tick: int
    time: float
    q: Any
    v: Any
    controller_state: dict[str, Any]
    command: _RecordedCommand


class TickHead(msgspec.Struct):
    """Summary of a tick."""

    run: int
    tick: int
    time: float
    command: _Command

    @property
    def failed(self) -> bool:
        """Whether its QP was not solved as stated."""
        return self.command.status != Status.OK


@dataclass(frozen=True)
class RecordedTick:
    """Input and output of one recorded tick.

    Attributes:
        run: index of the run in the file, from 0.
        given: input of the step.
        command: output of the step: "tau", "a", "wrenches", "couplings", "status", "message", "state", "solver_status",
            "iterations", "slack".
    """

    run: int
    given: TickInput
    command: dict[str, Any]

    @property
    def failed(self) -> bool:
        """Whether its QP was not solved as stated."""
        return bool(self.command["status"] != Status.OK)


class Bag:
    """An MCAP file that `BagRecorder` wrote.

    Attributes:
        path: path of the file.
        complete: whether the file was closed; otherwise the last ticks are missing.
        recordings: header of each run.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a file.

        Raises:
            MultiQpError: when the file does not exist, is not a recording of this project, or contains no readable run.
        """
        self.path = Path(path)
        self._file = open_regular(self.path)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            self._scan = McapScan(self._file)
        except DamagedFileError as error:
            raise MultiQpError(f"{self.path}: {error}") from None
        except OSError as error:
            raise MultiQpError(f"{self.path}: cannot be read: {error.strerror}") from None
        self.complete = self._scan.complete
        self.recordings: list[dict[str, Any]] = []
        self._begins: list[int] = []
        for time, text in self._texts(RECORDING, _LARGEST_RECORDING):
            self.recordings.append(self._recording(text))
            self._begins.append(time)
        if not self.recordings:
            if self.complete:
                raise MultiQpError(f"{self.path}: holds no recording of multi-qp (no topic {RECORDING})")
            raise MultiQpError(f"{self.path}: cut off before the first tick")

    def _recording(self, text: bytes) -> dict[str, Any]:
        written = self._decoded(text, _Format)
        if written.format != FORMAT:
            raise MultiQpError(
                f"{self.path}: written in format {written.format} by version {written.version}; "
                f"this version reads format {FORMAT}"
            )
        recording: dict[str, Any] = self._decoded(text, _Recording)
        check("period", recording["dt"], f"{self.path}: dt")
        return recording

    def _decoded(self, text: bytes, kind: Any) -> Any:
        """Return JSON text decoded as a type.

        Raises:
            MultiQpError: when the text does not match the type.
        """
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> MultiQpError:
        return MultiQpError(f"{self.path}: damaged: {error}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Bag:
        """Return the bag."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def heads(self) -> Iterator[TickHead]:
        """Return the summary of every tick, in the order of the file."""
        for _, text in self._texts(TICK, _LARGEST_TICK):
            yield self._decoded(text, TickHead)

    def tick(self, time: float, *, run: int | None = None) -> RecordedTick:
        """Return the tick nearest to a time.

        Args:
            time: time since the start of the run [s].
            run: index of the run, from 0; None: the last run that contains this time.

        Raises:
            MultiQpError: when there is no tick within a period of that time.
        """
        if run is not None and not 0 <= run < len(self.recordings):
            raise MultiQpError(f"{self.path}: no run {run}; there are {len(self.recordings)}, counted from 0")
        runs = range(len(self.recordings))[::-1] if run is None else [run]
        for number in runs:
            period = self.recordings[number]["dt"]
            at = self._begins[number] + round(time * 1e9)
            window = max(0, at - _WINDOW), max(0, at + _WINDOW)
            near = self._nearest(time, number, *window) if self.complete else None
            if near is None or abs(near[0].time - time) > 0.51 * period:
                near = self._nearest(time, number, None, None)
            if near is not None and abs(near[0].time - time) <= period:
                return self._recorded(near[1])
        spans = "; ".join(self._span(number) for number in sorted(runs))
        raise MultiQpError(f"{self.path}: no tick at {time:g} s; the bag holds {spans}")

    def _nearest(self, time: float, run: int, begin: int | None, end: int | None) -> tuple[TickHead, bytes] | None:
        best: tuple[TickHead, bytes] | None = None
        for _, text in self._texts(TICK, _LARGEST_TICK, begin, end):
            head = self._decoded(text, TickHead)
            if head.run == run and (best is None or abs(head.time - time) < abs(best[0].time - time)):
                best = head, text
        return best

    def _span(self, run: int) -> str:
        times = [head.time for head in self.heads() if head.run == run]
        name = "" if len(self.recordings) == 1 else f" in run {run}"
        return f"{min(times):g} s to {max(times):g} s{name}" if times else f"nothing{name}"

    def _texts(
        self, topic: str, largest: int, begin: int | None = None, end: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Return log time [ns] and text of each std_msgs/String of a topic."""
        try:
            for time, data in self._scan.messages(topic, begin, end):
                length = int.from_bytes(data[4:8], "little")
                if length > largest:
                    raise DamagedFileError(f"a message of {length / 1e6:.0f} MB, expected at most {largest / 1e6:.0f}")
                yield time, data[8 : 7 + length]
        except (DamagedFileError, OSError) as error:
            raise self._damaged(error) from None

    def _recorded(self, text: bytes) -> RecordedTick:
        tick = self._decoded(text, _Tick)  # validates names and types; arrays are decoded below
        try:
            tick["q"], tick["v"], tick["controller_state"] = (
                decode_arrays(tick[name]) for name in ("q", "v", "controller_state")
            )
            answer = tick["command"]
            answer["tau"], answer["a"], answer["wrenches"] = (
                decode_arrays(answer[name]) for name in ("tau", "a", "wrenches")
            )
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from None
        vectors = {"q": tick["q"], "v": tick["v"], "tau": answer["tau"], "a": answer["a"], **answer["wrenches"]}
        for name, vector in vectors.items():
            if not isinstance(vector, np.ndarray) or vector.ndim != 1:
                raise self._damaged(ValueError(f"{name!r} is not a vector"))
        given = TickInput(State(tick["q"], tick["v"]), tick["time"], tick["controller_state"])
        return RecordedTick(tick["run"], given, answer)
