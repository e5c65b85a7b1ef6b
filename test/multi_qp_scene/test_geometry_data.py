"""Distances are bitwise equal in all processes."""

from __future__ import annotations

import os
import subprocess
import sys

#: Program that computes distances at the initial state of `sword`, where a capsule is near boxes.
MEASURE = """
import hashlib
from multi_qp_controller import Controller
from multi_qp_scene import load_scenario

scenario = load_scenario("sword")
controller = Controller(scenario)
controller.step(scenario.scene.initial_state(), 0.0)
collisions = controller.collisions
assert collisions._measured
print(hashlib.sha256(collisions._distances.found[collisions._measured].tobytes()).hexdigest())
"""


def test_distances_do_not_depend_on_uninitialised_memory() -> None:
    said = set()
    for filled_with in ("0", "85"):  # glibc's M_PERTURB: the complement of the byte that memory is filled with
        environment = os.environ | {"MALLOC_PERTURB_": filled_with}
        command = [sys.executable, "-c", MEASURE]
        said.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(said) == 1
