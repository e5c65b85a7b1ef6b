"""Number of BLAS threads of the controller: one, unless the environment sets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
from multi_qp_controller import Controller
from multi_qp_controller.threads import blas_threads
from multi_qp_scene import load_scenario
Controller(load_scenario("lever"))
print(blas_threads())
"""


@pytest.mark.parametrize(("setting", "used"), [(None, "1"), ("2", "2")])
def test_controller_uses_one_blas_thread_by_default(setting, used):
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one core: there is nothing to choose")
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    environment["PYTHONPATH"] = str(ROOT)
    if setting is not None:
        environment["OPENBLAS_NUM_THREADS"] = setting
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == used
