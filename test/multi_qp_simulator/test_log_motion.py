"""Logs of runs as reference motions."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_cli.main import main
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_simulator.log import Log


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Path of the log of one second of standing."""
    path = tmp_path_factory.mktemp("log") / "stand.npz"
    assert main(["run", "stand", "--headless", "--set", "stand.duration=1", "--log", str(path)]) == 0
    return path


def test_the_motion_is_that_of_the_run(log, tmp_path, capsys):
    output = tmp_path / "motion.npz"
    assert main(["motion", "import", str(log), "--output", str(output)]) == 0
    assert "left_sole planted" in capsys.readouterr().out
    run, motion = Log.load(log), ReferenceMotion.load(output)
    np.testing.assert_array_equal(motion.times, run.time)
    np.testing.assert_array_equal(motion.q, run.q[:, :37])
    assert motion.robot == "humanoid" and motion.source == "run of stand"
    assert motion.surfaces == ("left_sole", "right_sole") and motion.contacts.all()
    assert [f"humanoid/{joint}" for joint in motion.joints] == run.joint_names.tolist()[1:]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--scenario", "king"], "the log is of 'stand'"),
        (["--subsystem", "hexapod"], "unknown robot with a floating base 'hexapod'"),
    ],
)
def test_a_log_of_something_else_is_an_error(log, capsys, arguments, message):
    assert main(["motion", "import", str(log), *arguments]) == 2
    assert message in capsys.readouterr().err
