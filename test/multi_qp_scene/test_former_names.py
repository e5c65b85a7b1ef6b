"""Former names of keys, options and values: accepted with a warning, and equal in effect to the present names."""

from __future__ import annotations

import argparse

import pytest

from com_trajectory.costs import COSTS
from multi_qp_cli.mismatch_options import add_mismatch_options, mismatch_from
from multi_qp_scene import former_names
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.mismatch import MismatchSpec
from multi_qp_scene.yaml_document import YamlDocument

END = "\n{key}:\n  mass_error: {value}\n"


def with_key(folder, key, value="0.1"):
    path = folder.path / "scene.yaml"
    path.write_text(path.read_text(encoding="utf-8") + END.format(key=key, value=value), encoding="utf-8")
    return path


def test_the_former_key_of_a_scenario_has_the_effect_of_the_present_one(folder, caplog):
    scenario = load_scenario(with_key(folder, "reality"))
    assert scenario.spec.mismatch == MismatchSpec(mass_error=0.1)
    assert "'reality' is deprecated" in caplog.text and "'mismatch'" in caplog.text and "scene.yaml:" in caplog.text


def test_an_error_below_a_former_key_has_the_line_of_that_key(folder):
    path = with_key(folder, "reality", "much")
    lines = path.read_text(encoding="utf-8").splitlines()
    with pytest.raises(ConfigError, match=f"scene.yaml:{lines.index('  mass_error: much') + 1}: mismatch.mass_error"):
        load_scenario(path)


def test_former_and_present_key_together_are_refused():
    with pytest.raises(ConfigError, match="reality: deprecated name of 'mismatch', which is given too"):
        YamlDocument.parse("mismatch: 1\nreality: 2").renamed(former_names.SCENARIO_KEYS)


def test_the_former_option_has_the_effect_of_the_present_one(caplog):
    parser = argparse.ArgumentParser()
    add_mismatch_options(parser)
    options = parser.parse_args(["--reality", "mass_error=0.1", "--mismatch", "gyro_noise=1"])
    assert mismatch_from(options, MismatchSpec()) == MismatchSpec(mass_error=0.1, gyro_noise=1.0)
    assert "'--reality' is deprecated" in caplog.text and "'--mismatch'" in caplog.text


def test_former_names_are_not_valid_names():
    assert not former_names.COSTS.keys() & COSTS.keys()
