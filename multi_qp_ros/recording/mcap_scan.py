"""Reader of untrusted MCAP files: messages of one topic, within limits on memory and time, without need of an index.

The reader of the library `mcap` allocates the sizes that a file claims and trusts its index. This one scans the record
headers, which needs no index, decompresses one chunk at a time within limits, and verifies its checksum.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel

MAGIC = b"\x89MCAP0\r\n"
#: Largest chunk, uncompressed [B]; the recorder's chunks have 0.5 MB, or one message.
LARGEST_CHUNK = 64 << 20
#: Largest ratio of uncompressed to file size, not counting one chunk; recordings have 5 to 50.
MOST_EXPANSION = 300

_RECORD = struct.Struct("<BQ")  # opcode, length
_CHUNK = struct.Struct(
    "<QQQII"
)  # first and last log time, size and checksum uncompressed, length of compression's name
_LENGTH = struct.Struct("<Q")
_MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
_CHANNEL_ID = struct.Struct("<H")
#: Exceptions raised by a record that is shorter than its content.
_SHORT = (struct.error, UnicodeDecodeError, McapError)


class DamagedFileError(Exception):
    """The content of a file is not MCAP, or exceeds a limit."""


@dataclass(slots=True)
class _Chunk:
    """Location and extent of a chunk.

    Attributes:
        offset: file offset of the first byte after the record header.
        length: length of the record [B].
        begin: log time of the first message [ns].
        end: log time of the last message [ns].
        channels: ids of the channels with messages; empty without message index.
    """

    offset: int
    length: int
    begin: int
    end: int
    channels: set[int]


class McapScan:
    """The chunks of an MCAP file.

    Attributes:
        complete: whether the file was closed; otherwise the chunks end where the file is truncated or damaged.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Read the headers of all records.

        Raises:
            DamagedFileError: when the file is not an MCAP file, or chunks exceed the limits.
            OSError: when the file cannot be read.
        """
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if file.read(len(MAGIC)) != MAGIC:
            raise DamagedFileError("not an MCAP file")
        self.complete = False
        self._topics: dict[int, str] = {}
        self._chunks: list[_Chunk] = []
        self._expanded = 0
        position = len(MAGIC)
        while position + _RECORD.size <= self._size:
            file.seek(position)
            opcode, length = _RECORD.unpack(file.read(_RECORD.size))
            position += _RECORD.size
            if length > self._size - position:
                return
            try:
                self._index_record(opcode, position, length)
            except _SHORT:
                return
            position += length
            if opcode == Opcode.FOOTER:
                file.seek(position)
                self.complete = file.read(len(MAGIC) + 1) == MAGIC
                return

    def _index_record(self, opcode: int, position: int, length: int) -> None:
        if opcode == Opcode.CHUNK:
            begin, end, size, _, _ = _CHUNK.unpack(self._file.read(min(length, _CHUNK.size)))
            self._expanded += size
            if max(size, length) > LARGEST_CHUNK:
                found, limit = max(size, length) / 1e6, LARGEST_CHUNK / 1e6
                raise DamagedFileError(f"a chunk of {found:.0f} MB, expected at most {limit:.0f} MB")
            if self._expanded > LARGEST_CHUNK + MOST_EXPANSION * self._size:
                raise DamagedFileError(f"more than {MOST_EXPANSION} times as large uncompressed")
            self._chunks.append(_Chunk(position, length, begin, end, set()))
        elif opcode == Opcode.MESSAGE_INDEX and self._chunks:
            self._chunks[-1].channels.add(*_CHANNEL_ID.unpack(self._file.read(_CHANNEL_ID.size)))
        elif opcode == Opcode.CHANNEL:  # repeated at the end of a file
            self._add_channel(self._file.read(min(length, LARGEST_CHUNK)))

    def _add_channel(self, record: bytes) -> None:
        channel = Channel.read(ReadDataStream(io.BytesIO(record)))
        self._topics[channel.id] = channel.topic

    def messages(self, topic: str, begin: int | None = None, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Return log time [ns] and data of each message of a topic, in the order of the file.

        Args:
            topic: name of the topic.
            begin: chunks that end before this time are skipped if the file is complete [ns].
            end: chunks that begin after this time are skipped if the file is complete [ns].

        Raises:
            DamagedFileError: when a chunk of a complete file cannot be read; an incomplete file ends there.
        """
        for chunk in self._chunks:
            if self.complete and ((begin is not None and chunk.end < begin) or (end is not None and chunk.begin > end)):
                continue
            known = {channel for channel, name in self._topics.items() if name == topic}
            if known and chunk.channels and known.isdisjoint(chunk.channels):
                continue
            try:
                yield from self._messages_in(chunk, topic)
            except (*_SHORT, DamagedFileError, zstandard.ZstdError) as error:
                if self.complete:
                    raise DamagedFileError(str(error)) from None
                return

    def _messages_in(self, chunk: _Chunk, topic: str) -> Iterator[tuple[int, bytes]]:
        data, position = self._uncompressed(chunk), 0
        topics = self._topics
        while position < len(data):
            opcode, length = _RECORD.unpack_from(data, position)
            position += _RECORD.size
            if length > len(data) - position:
                raise DamagedFileError("a record that is longer than its chunk")
            if opcode == Opcode.MESSAGE:
                channel, _, log_time, _ = _MESSAGE.unpack_from(data, position)
                if topics.get(channel) == topic:
                    yield log_time, data[position + _MESSAGE.size : position + length]
            elif opcode == Opcode.CHANNEL:
                self._add_channel(data[position : position + length])
            position += length

    def _uncompressed(self, chunk: _Chunk) -> bytes:
        self._file.seek(chunk.offset)
        record = self._file.read(chunk.length)
        _, _, size, checksum, name_length = _CHUNK.unpack_from(record)
        place = _CHUNK.size + name_length
        name = record[_CHUNK.size : place].decode()
        (length,) = _LENGTH.unpack_from(record, place)
        data = record[place + _LENGTH.size :][:length]
        if name == "zstd":
            if zstandard.frame_content_size(data) not in (-1, size):
                raise DamagedFileError("a chunk whose uncompressed size differs from the header")
            data = zstandard.decompress(data, max_output_size=size) if size else b""
        elif name:
            raise DamagedFileError(f"a chunk with compression {name[:20]!r}, expected 'zstd' or none")
        if len(data) != size or (checksum and zlib.crc32(data) != checksum):
            raise DamagedFileError("a chunk with a wrong checksum")
        return data
