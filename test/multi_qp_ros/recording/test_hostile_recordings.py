"""Forged recordings: nothing is written, read or executed; each is refused with one message."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile

import numpy as np
import pytest
import zstandard
from mcap.reader import make_reader
from mcap.writer import Writer

from multi_qp_cli.main import main
from multi_qp_ros.recording.codec import decode_arrays, encode_json
from multi_qp_ros.recording.mcap_scan import LARGEST_CHUNK, MAGIC
from multi_qp_scene.resources import find_resource


@pytest.fixture
def forge(recorded, tmp_path, monkeypatch):
    """Return what writes the recording anew after a function has changed its header, or each of its ticks."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    def forged(change, topic="/multi_qp/recording"):
        path = tmp_path / "forged.mcap"
        with recorded.path.open("rb") as source, path.open("wb") as target:
            writer = Writer(target)
            writer.start(profile="ros2")
            kind = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
            topics = ("/multi_qp/recording", "/multi_qp/tick")
            channels = {name: writer.register_channel(name, "cdr", kind) for name in topics}
            for _, channel, message in make_reader(source).iter_messages(topics, ending_at=200_000_000):
                text = message.data[8:-1]
                if channel.topic == topic:
                    value = decode_arrays(json.loads(text))
                    change(value)
                    text = encode_json(value).encode()
                data = message.data[:4] + struct.pack("<I", len(text) + 1) + text + b"\0"
                writer.add_message(channels[channel.topic], message.log_time, data, message.publish_time)
            writer.finish()
        return path

    yield forged
    assert not list((tmp_path / "tmp").iterdir()), "nothing is left in the temporary folder"


def refused(path, capsys, *options: str) -> str:
    assert main(["replay", str(path), *options]) == 2
    output = capsys.readouterr().err
    assert output.startswith("multi-qp: ") and output.count("\n") <= 2, output
    return output


def packed(path: str, text: str | None = "owned", *, shipped: bool = False, sha256: str = "") -> dict:
    return {"path": path, "shipped": shipped, "sha256": sha256, "text": text}


@pytest.mark.parametrize(
    ("path", "shipped"),
    [
        ("{tmp}/owned", True),
        ("../owned", True),
        ("config/../../../owned", True),
        ("{tmp}/x/../owned", False),
        ("/../../../../../../..{tmp}/owned", False),
        ("owned", False),
        ("", True),
        ("/", False),
        (".", True),
        ("{tmp}/own\0ed", False),
        ("/" + "x" * 5000, False),
        ("/x" * 2000, False),
        ("config/scenarios/box.yaml/owned", True),
        ("/\udc80", False),
    ],
)
def test_packed_files_stay_in_their_folder(path, shipped, forge, tmp_path, capsys) -> None:
    name = path.replace("{tmp}", str(tmp_path))

    def add(recording) -> None:
        recording["scenario"]["files"].append(packed(name, shipped=shipped))

    if "\udc80" in path:  # no JSON text holds it as it is
        with pytest.raises(UnicodeEncodeError):
            forge(add)
        return
    assert (
        "of the recording" in (output := refused(forge(add), capsys, "--at", "0.1")) or "recording contains" in output
    )
    assert not [found for found in tmp_path.rglob("*owned*")]


def test_an_absolute_path_is_written_below_the_folder_and_not_where_it_names(forge, tmp_path) -> None:
    path = forge(lambda recording: recording["scenario"]["files"].append(packed(f"{tmp_path}/owned")))
    assert main(["replay", str(path), "--at", "0.1"]) == 0
    assert not (tmp_path / "owned").exists()


def test_no_file_is_written_through_the_link_to_a_mesh(forge, tmp_path, capsys) -> None:
    mesh = tmp_path / "mesh.stl"
    mesh.write_text("mesh")
    digest = hashlib.sha256(b"mesh").hexdigest()
    twice = [packed(str(mesh), None, sha256=digest), packed(str(mesh))]
    output = refused(forge(lambda recording: recording["scenario"]["files"].extend(twice)), capsys, "--at", "0.1")
    assert "appears twice" in output and mesh.read_text() == "mesh"


def test_too_many_files_or_too_much_text_is_refused(forge, capsys) -> None:
    many = [packed(f"/x/{k}", "") for k in range(3000)]
    output = refused(forge(lambda recording: recording["scenario"]["files"].extend(many)), capsys, "--at", "0.1")
    assert "more than 2000 files" in output


@pytest.mark.parametrize("how", ["model: {}", "mesh: {}", "urdf: {}"])
@pytest.mark.parametrize(
    "where", ["{}", "../../../../../../../../../..{}", "package://secrets/secret.yaml", "file://{}"]
)
def test_only_files_of_the_recording_are_read(how, where, forge, tmp_path, capsys, monkeypatch) -> None:
    secret = tmp_path / "secrets" / "secret.yaml"
    secret.parent.mkdir()
    secret.write_text("description: the secret\nrobot: hunter2\n")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    entry = how.format(where.format(secret))

    def read(recording) -> None:
        scenario = recording["scenario"]["files"][0]
        assert "environment:" in scenario["text"]
        scenario["text"] = scenario["text"].replace("environment:", f"environment:\n  spy: {{{entry}}}", 1)

    output = refused(forge(read), capsys, "--at", "0.1")
    assert "hunter2" not in output and "robot" not in output
    assert "spy" in output and ("no such file" in output or "does not exist" in output or "was not found" in output)


def test_shipped_files_come_from_the_recording_alone(forge, capsys) -> None:
    def drop(recording) -> None:
        files = recording["scenario"]["files"]
        files[:] = [file for file in files if not file["path"].endswith("models/humanoid.yaml")]

    assert find_resource("config/models/humanoid.yaml").is_file()
    assert "humanoid" in refused(forge(drop), capsys, "--at", "0.1")


def test_control_characters_and_markup_are_shown_and_not_obeyed(forge, capsys) -> None:
    name = "\x1b]0;title\x07\x9b2J[/bold][link=http://x]\u202e"

    def rename(recording) -> None:
        recording["scenario"]["name"] = recording["backend"] = recording["solver"] = name

    assert main(["replay", str(forge(rename))]) == 0
    out = capsys.readouterr().out
    assert not set("\x1b\x07\x9b\u202e") & set(out)
    assert "\\x1b]0;title\\x07" in out.replace("\n", "") and "[/bold]" in out.replace("\n", "")

    path = forge(lambda recording: recording.update(version=name))
    assert "\\x1b]0;title\\x07" in refused(path, capsys, "--at", "0.1")


def test_a_controller_state_of_the_wrong_sizes_is_refused(forge, capsys) -> None:
    """Compiled code takes the sizes of arrays on trust: this one wrote beyond the end of another."""

    def lengthen(tick) -> None:
        todo = [tick["controller_state"]]
        while todo:
            part = todo.pop()
            if isinstance(part, dict) and "offsets" in part:
                part["offsets"] = np.zeros(100_000)
            todo += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []

    assert "expected an array of shape" in refused(forge(lengthen, "/multi_qp/tick"), capsys, "--at", "0.1")


@pytest.mark.parametrize(
    ("change", "output"),
    [
        ({"dt": 1e-300}, "dt: 1e-300 is outside the limit 'period'"),
        ({"dt": 1e9}, "dt: 1000000000 is"),
        ({"dt": "x"}, "Expected `float`"),
        ({"format": 99, "version": "9.9"}, "written in format 99 by version 9.9"),
        ({"scenario": None}, "Expected `object`"),
        ({"identity": []}, "Expected `object`"),
    ],
)
def test_headers_of_the_wrong_kind(change, output, forge, capsys) -> None:
    assert output in refused(forge(lambda recording: recording.update(change)), capsys)


@pytest.mark.parametrize(
    ("q", "said"),
    [
        ([0.0], "the recorded initial configuration has 1 entries, expected"),
        ([None], "Expected `float`"),
        ("", "Expected `array`"),
    ],
)
def test_malformed_initial_configurations(q, said, forge, capsys) -> None:
    changed = forge(lambda recording: recording["scenario"].update(initial_configuration=q))
    assert said in refused(changed, capsys, "--at", "0.1")


def chunk(data: bytes, size: int) -> bytes:
    body = struct.pack("<QQQII", 0, 0, size, 0, 4) + b"zstd" + struct.pack("<Q", len(data)) + data
    return struct.pack("<BQ", 6, len(body)) + body


def test_bombs_are_refused_before_they_are_unpacked(tmp_path, capsys) -> None:
    path = tmp_path / "bomb.mcap"
    zeros = zstandard.compress(bytes(LARGEST_CHUNK))
    for data, output in (
        (chunk(zeros, 1 << 40), "a chunk of"),
        (chunk(zeros, LARGEST_CHUNK) * 200, "times as large uncompressed"),
        (chunk(zeros, 1000), "before the first tick"),
        (struct.pack("<BQ", 6, 1 << 62), "before the first tick"),
        (struct.pack("<BQ", 5, 0) * 1000, "before the first tick"),
    ):
        path.write_bytes(MAGIC + data)
        assert output in refused(path, capsys)


@pytest.mark.parametrize("command", [["replay"], ["plot", "--output", "x.png"]], ids=lambda command: command[0])
def test_only_regular_files_are_read(command, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    for name in ("fifo", "/dev/zero", "."):
        assert main([*command, name]) == 2
        output = capsys.readouterr().err
        assert "cannot be read: not a regular file" in output or "cannot be read: this is a folder" in output


def test_an_array_that_is_not_whole_is_refused() -> None:
    for text in ('{"float64": "AAAA", "shape": [1]}', '{"float64": "", "shape": [4]}', '{"float64": 1, "shape": []}'):
        with pytest.raises(ValueError, match="an (incomplete )?array"):
            decode_arrays(json.loads(text))
