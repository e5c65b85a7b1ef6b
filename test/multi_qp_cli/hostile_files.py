"""Fuzzing of `plot` and `replay` with seeded mutations of logs and recordings, as a separate process.

usage: hostile_files.py plot|replay|tick FOLDER FIRST COUNT

FOLDER contains run.npz and run.mcap. Prints a JSON object: counts of exit statuses, and each file whose command ended
neither with status 0 or 1 nor with status 2 and a message "multi-qp: ...".
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import random
import struct
import sys
import traceback
import zipfile
from collections import Counter
from dataclasses import fields
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer

from multi_qp_cli.main import main
from multi_qp_viewer.curves import Series

#: Times at which a tick of the recording is replayed [s].
_AT = ("0.1", "0.5")
_COMPRESSIONS = (CompressionType.ZSTD,) * 8 + (CompressionType.NONE, CompressionType.LZ4)
_NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 1e308, -1e308, 1e-320, 0.1)
_TEXTS = ("", "x" * 5000, "/etc/passwd", "../../x", "\x1b[2J\x07", "[/bold]", "$\\frac$", "a\nb", "\0", "\u202e")


#: Arrays of a log that `plot` reads.
READ = (
    "time",
    "tick_ms",
    "state",
    "qp_size",
    "scenario",
    *(field.name for field in fields(Series) if field.name not in ("time", "state")),
)


def flip_bytes(data: bytes, r: random.Random) -> bytes:
    """Change, remove, repeat or insert some bytes."""
    changed = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 8, 64))):
        at = r.randrange(len(changed))
        width = r.choice((1, 1, 2, 4, 8, 64))
        match r.randrange(7):
            case 0:
                changed[at] ^= 1 << r.randrange(8)
            case 1:
                changed[at : at + width] = r.randbytes(width)
            case 2:
                del changed[at : at + width]
            case 3:
                changed[at:at] = changed[at : at + width]
            case 4:
                changed[at : at + width] = b"\xff" * width
            case 5:
                changed[at : at + 8] = struct.pack("<Q", r.choice((0, 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)))
            case 6:
                del changed[at:]
        if not changed:
            return b""
    return bytes(changed)


def odd_value(r: random.Random) -> Any:
    """Return a random JSON value."""
    return r.choice(
        (None, True, False, [], {}, [[]], {"float64": "", "shape": []}, {"float64": "AAAA", "shape": [1]})
        + ({"float64": "AAAAAAAA+H8=", "shape": [1]}, [None] * 3, "9" * 5000)
        + _NUMBERS
        + _TEXTS
    )


def change(value: Any, r: random.Random) -> Any:
    """Replace, remove or add a value at a random position of nested data."""
    inner = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not inner or r.random() < 0.1:
        return odd_value(r)
    key = r.choice(inner)
    match r.randrange(8):
        case 0:
            value.pop(key)
        case 1 if isinstance(value, dict):
            value[r.choice(_TEXTS)] = odd_value(r)
        case 1:
            value.append(odd_value(r))
        case 2 if isinstance(value[key], int | float):
            value[key] = r.choice(_NUMBERS)
        case _:
            value[key] = change(value[key], r)
    return value


def change_numbers(value: Any, r: random.Random) -> Any:
    """Replace one number or array of nested data by another number or an array of another size or content."""
    if isinstance(value, dict) and "float64" in value:
        array = np.frombuffer(base64.b64decode(value["float64"]))
        size = r.choice((len(array), 0, 1, max(0, len(array) - 1), len(array) + 1, 6, 1000))
        fill = r.choice((0.0, 1.0, -1.0, np.nan, np.inf, 1e300, 1e-300))
        new = np.full(size, fill)
        if r.random() < 0.5:
            new[: len(array)] = array[:size]
        shape = value["shape"] if size == len(array) else r.choice(([size], [1, size], [size, 1]))
        return {"float64": base64.b64encode(new.tobytes()).decode(), "shape": list(shape)}
    if isinstance(value, dict | list) and value:
        key = r.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value[key] = change_numbers(value[key], r)
        return value
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return r.choice((True, False, None, [], {}, 1))
    if isinstance(value, int | float):
        return r.choice((value + 1, -value, 0, *_NUMBERS))
    return r.choice((value + "x", "box", "humanoid", "reach", "stand", "0"))


def changed_recording(data: bytes, r: random.Random, *, ticks: bool) -> bytes:
    """Return a recording with mutated JSON and valid checksums."""
    out = io.BytesIO()
    writer = Writer(out, compression=r.choice(_COMPRESSIONS))
    writer.start(profile="ros2")
    kind = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
    channels: dict[str, int] = {}
    change_one = r.choice((change, change_numbers, change_numbers))
    for _, channel, message in make_reader(io.BytesIO(data)).iter_messages(["/multi_qp/recording", "/multi_qp/tick"]):
        if channel.topic not in channels:
            channels[channel.topic] = writer.register_channel(channel.topic, "cdr", kind)
        text: bytes = message.data[8:-1]
        if channel.topic.endswith("tick") is ticks and r.random() < 0.9:
            value = json.loads(text)
            place = value
            if change_one is change_numbers:  # leave what is validated first unchanged
                place = value[r.choice(("controller_state",) * 8 + ("q", "command") if ticks else ("scenario",))]
            for _ in range(r.choice((1, 1, 1, 3))):
                change_one(place, r)
            text = json.dumps(value).encode(errors="surrogatepass")
        length = r.choice((0, 5, 2**31)) if r.random() < 0.01 else len(text) + 1
        time = r.choice((0, 2**63, 2**64 - 1)) if r.random() < 0.01 else message.log_time
        body = message.data[:4] + struct.pack("<I", length) + text + b"\0"
        writer.add_message(channels[channel.topic], log_time=time, publish_time=time, data=body)
    writer.finish()
    return out.getvalue()


def changed_log(data: bytes, r: random.Random) -> bytes:
    """Return a log with a replaced array, or with a wrong array header."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in READ}
    name = r.choice(list(arrays))
    array, n = arrays[name], len(arrays["time"])
    fakes = [
        lambda: np.array([{}], dtype=object),
        lambda: array.astype("S") if array.dtype.kind != "U" else np.zeros(array.shape),
        lambda: array[..., None],
        lambda: array.reshape(-1)[: r.randrange(3)],
        lambda: array.reshape(-1)[r.randrange(n) % array.size],
        lambda: np.full(array.shape, r.choice((np.nan, np.inf, -np.inf, -1.0, 1e308, 0.0, 1e-320))),
        lambda: np.full(array.shape, r.choice(_TEXTS) or "x"),
        lambda: np.array([r.choice(_TEXTS) + str(k) for k in range(n)]),
        lambda: np.zeros((0,) * array.ndim, array.dtype),
        lambda: np.zeros(array.shape, [("a", "f8"), ("b", "U3")]),
        lambda: np.zeros(array.shape, r.choice(("f2", ">f8", "c16", "M8[s]", "V7", "u1", "?"))),
        lambda: np.array(json.dumps(change(json.loads(str(arrays["scenario"])), r))),
        lambda: np.random.default_rng(0).permutation(array.reshape(-1)).reshape(array.shape),
    ]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", r.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))) as archive:
        for key, value in arrays.items():
            if key == name and r.random() < 0.1:
                continue
            file = io.BytesIO()
            fake = r.choice(fakes)() if key == name else value
            np.save(file, fake, allow_pickle=True)
            body = file.getvalue()
            if key == name and r.random() < 0.3:
                shape = r.choice(("(1000000000000,)", "(-1,)", "(1, 0)", "(10**9,)", "1", "()", f"({n},)"))
                body = body.replace(str(np.shape(fake)).encode(), shape.encode(), 1)
            archive.writestr(f"{key}.npy", body)
    return out.getvalue()


def command_of(kind: str, folder: Path, seed: int) -> list[str]:
    """Write the file of a seed; return the command that reads it."""
    r = random.Random(f"{kind} {seed}")
    suffix = "npz" if kind == "plot" else "mcap"
    data = (folder / f"run.{suffix}").read_bytes()
    if r.random() < (0.1 if kind == "tick" else 0.5):
        data = flip_bytes(data, r)
    elif kind == "plot":
        data = changed_log(data, r)
    else:
        data = changed_recording(data, r, ticks=r.random() < 0.7)
    path = folder / f"{kind}.{suffix}"
    path.write_bytes(data)
    if kind == "plot":
        ways = ["--over", "time"], ["--over", "size"], ["--over", "plane"], ["--curves", "balance", "force", "task"]
        how = r.choice(ways)
        return ["plot", str(path), *how, "--output", str(folder / f"plot.{r.choice(('svg', 'png'))}")]
    return ["replay", str(path), *(["--at", r.choice(_AT)] if kind == "tick" else [])]


def fault_of(command: list[str], statuses: Counter[int]) -> str:
    """Run a command; return a description of the fault, if any."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(command)
    except BaseException:
        return traceback.format_exc(limit=-3)
    statuses[status] += 1
    if status not in (0, 1, 2):
        return f"status {status}"
    message = err.getvalue()
    if (status == 2) is not message.startswith("multi-qp: ") or "Traceback" in message:
        return f"status {status}, and on standard error {message!r}"
    if "\x1b" in message + out.getvalue():
        return "control characters are printed"
    return ""


def run(kind: str, folder: Path, first: int, count: int) -> dict[str, Any]:
    """Return the results of a range of seeds."""
    statuses: Counter[int] = Counter()
    faults, slowest = {}, (0.0, -1)
    for seed in range(first, first + count):
        (folder / "seed").write_text(f"{kind} {seed}")  # for the report of a crash
        command = command_of(kind, folder, seed)
        began = process_time()
        fault = fault_of(command, statuses)
        slowest = max(slowest, (process_time() - began, seed))
        if fault:
            faults[seed] = fault
    # not getrusage, whose maximum includes the parent process
    status = Path("/proc/self/status").read_text("utf-8")
    largest = int(status.partition("VmHWM:")[2].split()[0]) * 1024e-9  # [GB]
    return {"statuses": statuses, "faults": faults, "slowest": slowest, "largest": largest}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
