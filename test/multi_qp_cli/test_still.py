"""Tests of `multi-qp run --still`: picture of a given time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from multi_qp_cli.main import main

RUN = ("run", "lever", "--headless", "--dt", "0.02", "--duration", "2.2", "--size", "160x120")


def still(path: Path, *options: str) -> np.ndarray:
    main([*RUN, "--still", str(path), *options])
    with Image.open(path) as picture:
        assert picture.size == (160, 120)
        return np.asarray(picture.convert("RGB"), dtype=float)


def test_still_shows_the_given_time(tmp_path: Path) -> None:
    first, last, middle = (still(tmp_path / "s.png", *at) for at in (("--at", "0"), ("--at", "9"), ()))
    assert first.std() > 10.0, "something is drawn"
    for picture in (last, middle):
        assert np.abs(picture - first).mean() > 0.3
    assert np.abs(last - middle).mean() > 0.3


def test_other_suffixes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--still", "s.gif"]) == 2
    assert "--still: expected a file ending in .png, got 's.gif'" in capsys.readouterr().err


def test_time_after_the_end_prints_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    still(tmp_path / "s.png", "--at", "2.2")
    assert "--at" not in capsys.readouterr().err
    still(tmp_path / "s.png", "--at", "9")
    assert f"--at: the last tick is at 2.18 s; '{tmp_path / 's.png'}' shows it, not 9 s" in capsys.readouterr().err


@pytest.mark.parametrize("at", ["nan", "inf", "-1"])
def test_invalid_time_is_refused_before_the_run(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "lever", "--headless", "--still", "s.png", f"--at={at}"]) == 2
    assert "--at: expected a time of 0 s or later" in capsys.readouterr().err
