"""Fuzz tests of `plot` and `replay`: damaged files give a result or one message, within memory and time limits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from multi_qp_cli.main import main

PROGRAM = Path(__file__).with_name("hostile_files.py")
#: Limits: memory of the process [GB], and CPU time per file, including the first imports [s].
MOST_MEMORY, LONGEST = 1.0, 5.0


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> Path:
    """Return a folder with a log and a recording."""
    folder = tmp_path_factory.mktemp("originals")
    files = ["--record", str(folder / "run.mcap"), "--log", str(folder / "run.npz")]
    main(["run", "box", "--headless", "--dt", "0.02", "--duration", "0.6", *files])
    return folder


def fuzz(kind: str, folder: Path, first: int, count: int) -> None:
    """Run mutations of a range of seeds in another process, which may crash."""
    arguments = [sys.executable, str(PROGRAM), kind, str(folder), str(first), str(count)]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60 + 5 * count)
    assert ended.returncode == 0, f"crashed at {(folder / 'seed').read_text()}: {ended.stderr[-2000:]}"
    found = json.loads(ended.stdout)
    assert not found["faults"], json.dumps(found["faults"], indent=1)
    assert {"0", "2"} <= found["statuses"].keys(), "some files are accepted, and some are refused"
    assert found["largest"] < MOST_MEMORY
    assert found["slowest"][0] < LONGEST, f"seed {found['slowest'][1]}"


@pytest.mark.parametrize(("kind", "count"), [("plot", 25), ("replay", 40), ("tick", 40)])
def test_damaged_files_give_one_message(kind, count, originals) -> None:
    fuzz(kind, originals, 0, count)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 5000, 1000))
@pytest.mark.parametrize(("kind", "share"), [("plot", 0.7), ("replay", 0.6), ("tick", 0.7)])
def test_ten_thousand_damaged_files(kind, share, first, originals) -> None:
    fuzz(kind, originals, 1000 + first, round(1000 * share))
