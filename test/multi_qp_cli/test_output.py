"""What commands write to: a reader that leaves, a disk that is full, a place where nothing can be made."""

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
    """Work in a folder that is empty but for links to a full disk."""
    monkeypatch.chdir(tmp_path)
    for name in ("full.mp4", "full.gif"):
        (tmp_path / name).symlink_to("/dev/full")
    return tmp_path


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_behind_standard_output_is_said_in_one_line(arguments, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert status_of(arguments) == 2
        monkeypatch.undo()
    assert capsys.readouterr().err == "multi-qp: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_leaves_is_no_failure(arguments, monkeypatch, capsys):
    """As `multi-qp list | head -1`."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert status_of(arguments) == 0
        monkeypatch.undo()
    assert capsys.readouterr().err == ""


def test_a_closed_standard_output_is_no_failure(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert status_of(["list"]) == 0


def test_a_command_goes_on_when_its_reader_leaves(monkeypatch):
    """So that its files are written, and goals that were missed are told apart from goals that were reached."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        console = Console()
        console.print("nobody reads this")
        console.print("nor this")
        assert console.quiet


def test_a_file_that_cannot_be_written_is_named_also_where_the_error_does_not_name_it(tmp_path):
    with pytest.raises(MultiQpError, match=r"^cannot write '.*full': No space left on device$"):
        with writing(tmp_path / "full"):
            raise OSError(28, "No space left on device")
    with pytest.raises(MultiQpError, match=r"^cannot write 'v.gif': for a reason$"), writing("v.gif"):
        raise OSError("for a reason")


@pytest.mark.parametrize("name", ["full.mp4", "full.gif"])
def test_a_video_on_a_full_disk_is_an_error_with_the_reason(name, full, capfd):
    picture = np.zeros((48, 64, 3), np.uint8)
    with pytest.raises(OSError, match="^No space left on device$"):
        encode(full / name, iter([picture, picture]), fps=25.0, width=64, height=48)
    assert capfd.readouterr().err == "", "ffmpeg's own words are not shown"


def test_a_video_without_end_is_refused_before_it_is_begun():
    class At:
        def __init__(self, time):
            self.time = time

    with pytest.raises(ValueError, match="too long"):
        frames_at([At(0.0), At(1.0)], fps=1e9)


@pytest.mark.parametrize(
    "options, said",
    [
        ("--size 100000x100000", "--size: expected 16x16 to 8192x8192, got '100000x100000'"),
        ("--size 0x0", "--size: expected 16x16 to 8192x8192, got '0x0'"),
    ],
)
def test_a_size_that_nobody_can_draw_is_refused_before_the_run(options, said, capsys):
    assert status_of(["run", "box", "--headless", "--video", "v.mp4", *options.split()]) == 2
    assert capsys.readouterr().err == f"multi-qp: {said}\n"


def test_replay_wants_a_time_that_is_a_number(capsys):
    assert status_of(["replay", "none.mcap", "--at", "nan"]) == 2
    assert capsys.readouterr().err == "multi-qp: --at: expected a time in seconds, got nan\n"


def test_ctrl_c_while_modules_are_imported_is_said_in_one_line(monkeypatch, capsys):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "multi_qp_cli.main")
    monkeypatch.setattr("builtins.__import__", interrupted)
    status = begin()
    monkeypatch.undo()
    assert status == 1 and capsys.readouterr().err == "multi-qp: interrupted\n"
