"""Tests of output errors: closed pipe, full disk, unwritable path."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from multi_qp_cli.entry import main as begin
from multi_qp_cli.main import main
from multi_qp_cli.output import Console, writing
from multi_qp_scene.errors import MultiQpError
from multi_qp_viewer.encoding import encode
from multi_qp_viewer.video import frames_at

COMMANDS = (["list"], ["--version"], ["run", "--help"])


def status_of(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.fixture
def full(tmp_path, monkeypatch):
    """Change to a folder that contains only links to a full disk."""
    monkeypatch.chdir(tmp_path)
    for name in ("full.mp4", "full.gif"):
        (tmp_path / name).symlink_to("/dev/full")
    return tmp_path


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_full_disk_behind_standard_output_gives_one_line(arguments, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert status_of(arguments) == 2
        monkeypatch.undo()
    assert capsys.readouterr().err == "multi-qp: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_closed_pipe_is_no_failure(arguments, monkeypatch, capsys):
    """As `multi-qp list | head -1`."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert status_of(arguments) == 0
        monkeypatch.undo()
    assert capsys.readouterr().err == ""


def test_closed_standard_output_is_no_failure(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert status_of(["list"]) == 0


def test_command_continues_after_a_closed_pipe(monkeypatch):
    """Its files are written and its exit status is kept."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        console = Console()
        console.print("not read")
        console.print("nor this")
        assert console.quiet


def test_write_errors_name_the_file(tmp_path):
    with pytest.raises(MultiQpError, match=r"^cannot write '.*full': No space left on device$"):
        with writing(tmp_path / "full"):
            raise OSError(28, "No space left on device")
    with pytest.raises(MultiQpError, match=r"^cannot write 'v.gif': for a reason$"), writing("v.gif"):
        raise OSError("for a reason")


@pytest.mark.parametrize("name", ["full.mp4", "full.gif"])
def test_video_on_a_full_disk_raises_with_the_reason(name, full, capfd):
    picture = np.zeros((48, 64, 3), np.uint8)
    with pytest.raises(OSError, match="^No space left on device$"):
        encode(full / name, iter([picture, picture]), fps=25.0, width=64, height=48)
    assert capfd.readouterr().err == "", "ffmpeg's own words are not shown"


def test_too_long_video_is_refused():
    class At:
        def __init__(self, time):
            self.time = time

    with pytest.raises(ValueError, match="too long"):
        frames_at([At(0.0), At(1.0)], fps=1e9)


@pytest.mark.parametrize(
    "options, message",
    [
        ("--size 100000x100000", "--size: expected 16x16 to 8192x8192, got '100000x100000'"),
        ("--size 0x0", "--size: expected 16x16 to 8192x8192, got '0x0'"),
    ],
)
def test_invalid_size_is_refused_before_the_run(options, message, capsys):
    assert status_of(["run", "box", "--headless", "--video", "v.mp4", *options.split()]) == 2
    assert capsys.readouterr().err == f"multi-qp: {message}\n"


def test_replay_refuses_a_time_that_is_not_finite(capsys):
    assert status_of(["replay", "none.mcap", "--at", "nan"]) == 2
    assert capsys.readouterr().err == "multi-qp: --at: expected a time in seconds, got nan\n"


def test_ctrl_c_during_imports_gives_one_line(monkeypatch, capsys):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "multi_qp_cli.main")
    monkeypatch.setattr("builtins.__import__", interrupted)
    status = begin()
    monkeypatch.undo()
    assert status == 1 and capsys.readouterr().err == "multi-qp: interrupted\n"
