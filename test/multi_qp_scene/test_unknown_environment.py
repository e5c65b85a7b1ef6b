"""Pieces of the environment that only the simulator has, and copies of pieces, in scenario files and in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from multi_qp_scene import load_scenario
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.resources import scenario_path
from multi_qp_simulator.runner import run_scenario

REGION = [[1.0, -1.0], [3.0, 1.0]]
BLOCK = {"box": [0.5, 0.5, 0.2], "unknown_part_of": "ground"}
GRID = {"region": REGION, "grid": [4, 3], "heights": [-0.03, 0.03], "seed": "${seed}"}


@pytest.fixture
def load(tmp_path):
    """Return a loader of the scenario `stand` with further pieces of the environment and other changes."""

    def loaded(environment, *, seed=0, **changes):
        data = yaml.safe_load(scenario_path("stand").read_text())
        data["environment"] |= environment
        path = tmp_path / "scene.yaml"
        path.write_text(yaml.safe_dump({**data, **changes}, sort_keys=False))
        return load_scenario(path, seed=seed)

    return loaded


def heights(scenario):
    """Return the height of each block's frame."""
    model = scenario.scene.model
    return np.array([frame.placement.translation[2] for frame in model.frames if frame.name.endswith("/block")])


def test_copies_of_a_piece_are_on_a_grid_at_random_heights(load):
    scenario = load({"tile": {**BLOCK, "pose": {"xyz": [0, 0, 0.1]}, "copies": GRID}})
    pieces = {name: one for name, one in scenario.spec.environment.items() if name.startswith("tile_")}
    assert list(pieces) == [f"tile_{k}" for k in range(1, 13)]
    places = np.array([one.pose.xyz for one in pieces.values()])
    np.testing.assert_allclose(places[:4, :2], [[x, -2 / 3] for x in (1.25, 1.75, 2.25, 2.75)], atol=1e-12)
    assert np.abs(places[:, 2] - 0.1).max() <= 0.03 and np.ptp(places[:, 2]) > 0.03
    np.testing.assert_allclose(heights(scenario), places[:, 2])
    assert np.abs(heights(load({"tile": {**BLOCK, "copies": GRID}}, seed=1)) + 0.1 - places[:, 2]).max() > 0.01


def test_the_controller_does_not_know_unknown_pieces(load):
    scenario = load({"tile": {**BLOCK, "copies": GRID}, "wall": {"box": [1, 1, 1], "pose": {"xyz": [9, 0, 0]}}})
    assert set(scenario.controlled.scene.environment) == {"ground", "wall"}
    assert len(scenario.scene.environment) == 14
    names = [item.name for item in scenario.controlled.scene.collision_model.geometryObjects]
    assert not any(name.startswith("tile") for name in names)


def test_contacts_of_the_known_piece_touch_and_measure_unknown_ones(load):
    """The humanoid stands beside the only known ground, on a slab that only the simulator has."""
    data = yaml.safe_load(scenario_path("stand").read_text())
    place = {"surfaces": ["left_sole", "right_sole"], "onto": "low/top", "xy": [-5, 0]}
    contacts = {
        name: {**contact, "surfaces": [contact["surfaces"][0], "low/top"]} for name, contact in data["contacts"].items()
    }
    environment = {
        "low": {"box": [1, 1, 0.1], "pose": {"xyz": [5, 0, -0.05]}},
        "slab": {"box": [1, 1, 0.1], "pose": {"xyz": [0, 0, -0.05]}, "unknown_part_of": "low"},
    }
    changes = {"contacts": contacts, "contact_tolerance": {"distance": 5}}
    changes["subsystems"] = {"humanoid": {**data["subsystems"]["humanoid"], "place": place}}
    data["environment"]["ground"]["pose"] = {"xyz": [0, 0, -1]}
    scenario = load({**environment, "ground": data["environment"]["ground"]}, **changes)
    log = run_scenario(scenario, backend="mujoco", duration=0.5).log
    assert abs(log.q[-1, 2] - log.q[0, 2]) < 5e-3
    weight = 9.81 * scenario.scene.subsystems["humanoid"].mass
    assert -log.contact_wrench[-1, :, 2].sum() == pytest.approx(weight, rel=0.05)


MISTAKES = {
    "unknown": ({"tile": {**BLOCK, "unknown_part_of": "grund"}}, "tile.unknown_part_of: ", "'grund'"),
    "itself": ({"tile": {**BLOCK, "unknown_part_of": "tile"}}, "tile.unknown_part_of: ", "does not know"),
    "heights": ({"tile": {**BLOCK, "copies": {**GRID, "heights": [1, 0]}}}, "tile.copies: ", "lower bound first"),
    "too many": ({"tile": {**BLOCK, "copies": {**GRID, "grid": [30, 30]}}}, "tile.copies: ", "above the limit"),
    "a name twice": ({"tile": {**BLOCK, "copies": GRID}, "tile_3": BLOCK}, "", "'tile_3' is the name of two pieces"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_name_key_and_reason(load, name):
    environment, key, message = MISTAKES[name]
    with pytest.raises(ConfigError) as error:
        load(environment)
    assert key in str(error.value) and message in str(error.value)
