"""Damaged files of every kind load or are refused: no other exception, no crash, no hang, no large message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = Path(__file__).with_name("fuzz_loaders.py")
_MOST_MEMORY = 1e9  # [B]
_HANGS_AFTER = 300.0  # [s] per batch


def load_mutations(first: int, count: int) -> None:
    try:
        done = subprocess.run(
            [sys.executable, str(_PROGRAM), str(first), str(count)],
            capture_output=True, text=True, timeout=_HANGS_AFTER, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"hangs: {(error.stdout or b'').decode().splitlines()[-1]}")
    *_, last = done.stdout.splitlines()
    assert done.returncode == 0, f"last: {last}\n{done.stderr[-5000:]}"
    assert int(last.removeprefix("memory ")) < _MOST_MEMORY


def test_damaged_files_are_refused_or_load():
    load_mutations(0, 80)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(40))
def test_ten_thousand_damaged_files_are_refused_or_load(batch):
    load_mutations(80 + 250 * batch, 250)
