"""A scenario with a behaviour, for all tests of contact-invariant optimisation."""

import numpy as np
import pytest

from contact_invariant.character_builder import character_of
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.scenario import load_scenario

FILE = """
description: a humanoid on the ground stands up straight
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: ENVIRONMENT
behaviour:
  character: humanoid
  posture: POSTURE
  effectors: EFFECTORS
  phases: PHASES
  OPTIONS
  terms: [{type: stand, feet: [left_foot, right_foot]}, TERMS]
"""
EFFECTORS = """{left_foot: {surface: left_sole}, right_foot: {surface: right_sole},
    left_hand: {surface: left_palm, effort: 4}, right_hand: {surface: right_palm, effort: 4}, seat: {surface: seat}}"""


@pytest.fixture(scope="session")
def behaviour(tmp_path_factory):
    """Return a function that loads the scenario with a block at a distance, with more terms and so on."""

    def load(*, phases=2, terms="", block=None, effectors=EFFECTORS, posture="half_sitting", options=""):
        box = "" if block is None else f", block: {{box: [0.4, 0.6, 0.2], pose: {{xyz: [{block}, 0, 0.1]}}}}"
        values = {
            "ENVIRONMENT": f"{{ground: {{model: ground}}{box}}}",
            "EFFECTORS": effectors,
            "POSTURE": posture,
            "PHASES": str(phases),
            "TERMS": terms,
            "OPTIONS": options,
        }
        text = FILE
        for key, value in values.items():
            text = text.replace(key, value)
        path = tmp_path_factory.mktemp("behaviour") / "behaviour.yaml"
        path.write_text(text)
        return load_scenario(str(path))

    return load


@pytest.fixture(scope="module")
def character(scenario):
    """Return the simplified character of a module's scenario."""
    return character_of(scenario)


@pytest.fixture
def refusal(tmp_path):
    """Return a function that replaces text of a scenario file once, and returns why the result is refused."""

    def load(path, old, new):
        text = path.read_text("utf-8")
        assert old in text
        file = tmp_path / "wrong.yaml"
        file.write_text(text.replace(old, new, 1), "utf-8")
        with pytest.raises(ConfigError) as error:
            load_scenario(str(file))
        return str(error.value)

    return load


@pytest.fixture
def gradient_of():
    """Return the gradient of a problem's cost, (size,), from its normal equations."""

    def gradient(problem, z):
        found = np.zeros(problem.size)
        for part in problem.normal_equations(z)[1]:
            part.map.add_gradient(found[: problem.knots], part.b)
            if part.local is not None:
                of_local = part.local.mixed[:, -1]
                np.add.at(found, part.local.first[:, None] + np.arange(of_local.shape[1]), of_local)
        return found

    return gradient
