"""Reads the ticks of a bag, also of one whose writer was killed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.records import Channel, Message
from mcap.stream_reader import StreamReader
from numpy.typing import NDArray

from multi_qp_controller.command import Status
from multi_qp_controller.memory import TickInput
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import State
from multi_qp_simulator.bags.codec import decode_json
from multi_qp_simulator.bags.writing import FORMAT, RECORDING, TICK

Array = NDArray[np.float64]

#: What a damaged file can raise on its way through the library and its decompressors.
_DAMAGE = (McapError, OSError, ValueError, EOFError, RuntimeError, MemoryError, IndexError, KeyError)
#: Where a tick is looked for first, around where its time should be [ns].
_WINDOW = 300_000_000


class _Command(msgspec.Struct):
    status: str
    state: str
    message: str


class TickHead(msgspec.Struct):
    """What a list of ticks shows of one."""

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
    """One tick as it was.

    Attributes:
        run: of the file, counted from 0.
        given: the input of the step.
        command: its answer: "tau", "a", "wrenches", "couplings", "status", "message", "state", "solver_status",
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
        path: of the file.
        complete: whether it was closed; else its last moments are missing.
        recordings: what each run was recorded with.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a file.

        Raises:
            MultiQpError: when there is no such file, it is not a bag of ours, or nothing of it can be read.
        """
        self.path = Path(path)
        try:
            self._file = self.path.open("rb")
        except FileNotFoundError:
            raise MultiQpError(f"{path}: no such file") from None
        except OSError as error:
            raise MultiQpError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        start = self._file.read(8)
        if start != b"\x89MCAP0\r\n":
            raise MultiQpError(f"{self.path}: not an MCAP file")
        self.complete = self._has_index()
        found = list(self._messages(RECORDING))
        if not found:
            if self.complete:
                raise MultiQpError(f"{self.path}: holds no recording of multi-qp (no topic {RECORDING})")
            raise MultiQpError(f"{self.path}: cut off before the first tick")
        self.recordings: list[dict[str, Any]] = [decode_json(_text(message)) for message in found]
        self._begins = [message.log_time for message in found]
        for recording in self.recordings:
            if recording.get("format") != FORMAT:
                raise MultiQpError(
                    f"{self.path}: written in format {recording.get('format')} by version {recording.get('version')}; "
                    f"this version reads format {FORMAT}"
                )

    def _has_index(self) -> bool:
        try:
            self._file.seek(0)
            return make_reader(self._file).get_summary() is not None
        except _DAMAGE:
            return False

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
        """Return the gist of every tick, in the order of the file."""
        for message in self._messages(TICK):
            yield msgspec.json.decode(_text(message), type=TickHead)

    def tick(self, time: float, *, run: int | None = None) -> RecordedTick:
        """Return the tick nearest to a time.

        Args:
            time: since the beginning of the run [s].
            run: of the file, counted from 0; the last one that was as long if None.

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
                return _recorded(decode_json(near[1]))
        spans = "; ".join(self._span(number) for number in sorted(runs))
        raise MultiQpError(f"{self.path}: no tick at {time:g} s; the bag holds {spans}")

    def _nearest(self, time: float, run: int, begin: int | None, end: int | None) -> tuple[TickHead, bytes] | None:
        best: tuple[TickHead, bytes] | None = None
        for message in self._messages(TICK, begin, end):
            text = _text(message)
            head = msgspec.json.decode(text, type=TickHead)
            if head.run == run and (best is None or abs(head.time - time) < abs(best[0].time - time)):
                best = head, text
        return best

    def _span(self, run: int) -> str:
        times = [head.time for head in self.heads() if head.run == run]
        name = "" if len(self.recordings) == 1 else f" in run {run}"
        return f"{min(times):g} s to {max(times):g} s{name}" if times else f"nothing{name}"

    def _messages(self, topic: str, begin: int | None = None, end: int | None = None) -> Iterator[Message]:
        self._file.seek(0)
        if not self.complete:
            yield from self._messages_in_order(topic)
            return
        reader = make_reader(self._file)
        try:
            for _, _, message in reader.iter_messages([topic], starting_at=begin, ending_at=end, log_time_order=False):
                yield message
        except _DAMAGE as error:
            raise MultiQpError(f"{self.path}: damaged: {error}") from None

    def _messages_in_order(self, topic: str) -> Iterator[Message]:
        """Return what there is up to where the file breaks off."""
        channels = set()
        try:
            for record in StreamReader(self._file).records:
                if isinstance(record, Channel) and record.topic == topic:
                    channels.add(record.id)
                elif isinstance(record, Message) and record.channel_id in channels:
                    yield record
        except _DAMAGE:
            return


def _text(message: Message) -> bytes:
    """Return the text of a std_msgs/String."""
    length = int.from_bytes(message.data[4:8], "little")
    return message.data[8 : 7 + length]


def _recorded(record: dict[str, Any]) -> RecordedTick:
    given = TickInput(State(record["q"], record["v"]), record["time"], record["memory"])
    return RecordedTick(record["run"], given, record["command"])
