"""`multi-qp run --still`: one picture of the moment that is asked for."""

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


def test_it_shows_the_moment_that_is_asked_for(tmp_path: Path) -> None:
    first, last, middle = (still(tmp_path / "s.png", *at) for at in (("--at", "0"), ("--at", "9"), ()))
    assert first.std() > 10.0, "something is drawn"
    for picture in (last, middle):
        assert np.abs(picture - first).mean() > 0.3
    assert np.abs(last - middle).mean() > 0.3


def test_other_suffixes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--still", "s.gif"]) == 2
    assert "--still: expected a file ending in .png, got 's.gif'" in capsys.readouterr().err
