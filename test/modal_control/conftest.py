"""The humanoid and its squat."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.character import ModalCharacter
from modal_control.reference import Reference
from multi_qp_scene import load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource


@pytest.fixture(scope="session")
def character():
    scene = load_scenario("stand").scene
    return ModalCharacter(scene, ["humanoid/left_sole", "humanoid/right_sole"], scene.q0)


@pytest.fixture(scope="session")
def squat(character):
    motion = ReferenceMotion.load(find_resource("config/motions/squat.npz"))
    return Reference.of(motion, character, prefix="humanoid/", dt=1.0 / 120.0)


@pytest.fixture
def random():
    return np.random.default_rng(1)
