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


#: Program that computes the distance of a box along a direction without zeros, in a process that may be new.
OTHER_FIRST = """
import warnings
import coal, numpy as np
import multi_qp_scene.scene
request = coal.DistanceRequest()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    request.enable_cached_gjk_guess = True
request.cached_gjk_guess = np.array([1.0, 0.7, 0.3])
there = coal.Transform3s(np.eye(3), np.array([2.0, 2.1, 1.9]))
coal.distance(coal.Box(1, 1, 1), coal.Transform3s(), coal.Capsule(0.1, 0.2), there, request, coal.DistanceResult())
"""


def test_distances_do_not_depend_on_those_computed_before() -> None:
    said = set()
    for program in (MEASURE, OTHER_FIRST + MEASURE):
        said.add(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    assert len(said) == 1


def test_distances_do_not_depend_on_uninitialised_memory() -> None:
    said = set()
    for filled_with in ("0", "85"):  # glibc's M_PERTURB: the complement of the byte that memory is filled with
        environment = os.environ | {"MALLOC_PERTURB_": filled_with}
        command = [sys.executable, "-c", MEASURE]
        said.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(said) == 1
