"""Copies of subsystems, and subsystems that are not controlled, in scenario files."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from multi_qp_scene import load_scenario
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.meeting_pairs import link_of
from multi_qp_scene.resources import scenario_path

REGION = [[1.0, -1.0], [3.0, 1.0]]


@pytest.fixture
def load(tmp_path):
    """Return a loader of the scenario `stand` with further subsystems and other changes."""

    def loaded(subsystems, *, seed=0, **changes):
        data = yaml.safe_load(scenario_path("stand").read_text())
        data["subsystems"] |= subsystems
        path = tmp_path / "scene.yaml"
        path.write_text(yaml.safe_dump({**data, **changes}, sort_keys=False))
        return load_scenario(path, seed=seed)

    return loaded


def places(scenario):
    """Return x and y of all levers."""
    model = scenario.scene.model
    joints = [k for k, name in enumerate(model.names) if name.startswith("lever") and model.parents[k] == 0]
    return np.array([model.jointPlacements[k].translation[:2] for k in joints])


def scattered(**changes):
    copies = {"region": REGION, "count": 12, "distance": 0.3, "seed": "${seed}", **changes}
    return {"lever": {"model": "lever", "controlled": False, "copies": copies}}


def test_a_grid_fills_its_region(load):
    copies = {"region": REGION, "grid": [2, 3]}
    scenario = load({"lever": {"model": "lever", "pose": {"xyz": [0, 0.1, 0.2]}, "copies": copies}})
    assert list(scenario.scene.subsystems)[1:] == [f"lever_{k}" for k in range(1, 7)]
    expected = [[x, y + 0.1] for y in (-2 / 3, 0, 2 / 3) for x in (1.5, 2.5)]
    np.testing.assert_allclose(places(scenario), expected, atol=1e-12)


def test_random_copies_keep_their_distance_and_depend_on_the_seed(load):
    scenario = load(scattered())
    found = places(scenario)
    apart = np.linalg.norm(found[:, None] - found, axis=-1)[np.triu_indices(12, 1)]
    assert apart.min() >= 0.3
    assert (found >= REGION[0]).all() and (found <= REGION[1]).all()
    np.testing.assert_array_equal(places(load(scattered())), found)
    assert np.abs(places(load(scattered(), seed=1)) - found).max() > 0.1


def test_random_copies_have_random_models_and_masses(load):
    scenario = load(scattered(models=["lever", "valve"], mass=[2.0, 4.0]))
    copies = [one for name, one in scenario.spec.subsystems.items() if name.startswith("lever_")]
    assert {one.model for one in copies} == {"lever", "valve"}
    masses = [one.mass for name, one in scenario.scene.subsystems.items() if name.startswith("lever_")]
    assert 2.0 <= min(masses) < 2.7 and 3.3 < max(masses) <= 4.0


def test_copies_are_released_by_their_place_along_x(load):
    region = [[1.0, -1.0], [3.0, 1.0]]
    change = scattered(region=region, count=6, distance=0, release=[2.0, 8.0])
    copies = [one for name, one in load(change).spec.subsystems.items() if name.startswith("lever_")]
    for one in copies:
        assert one.release == pytest.approx(2.0 + 3.0 * (one.pose.xyz[0] - 1.0))


def test_subsystems_that_are_not_controlled_come_last(load):
    lever = {"lever": {"model": "lever", "controlled": False}, "box": {"model": "box", "pose": {"xyz": [0, 2, 1]}}}
    scenario = load(lever)
    whole, controlled = scenario.scene, scenario.controlled.scene
    assert list(whole.subsystems) == ["humanoid", "box", "lever"]
    assert list(controlled.subsystems) == ["humanoid", "box"]
    assert (whole.nv, controlled.nv) == (43, 42)
    np.testing.assert_array_equal(whole.q0[: controlled.nq], controlled.q0)
    assert load({}).controlled.scene.nv == 36


def test_loads_change_the_inertia_in_both_scenes(load):
    bag = {"link": "humanoid/torso", "mass": 1, "min": 0, "max": 5}
    scenario = load(scattered(count=1), loads={"bag": bag})
    scenario.scene.loads.set_mass("bag", 4.0)
    for scene in (scenario.scene, scenario.controlled.scene):
        joint = scene.model.frames[scene.frame_id("humanoid/torso")].parentJoint
        bare = load(scattered(count=1)).scene.model.inertias[joint].mass
        assert scene.model.inertias[joint].mass == pytest.approx(bare + 4.0)


def test_shapes_belong_to_their_links_among_many_fixed_bases(load):
    scene = load({**scattered(models=["lever", "door"])}).scene
    for k, item in enumerate(scene.collision_model.geometryObjects):
        assert item.name.startswith(link_of(scene, k))


POSTURE = {"p": {"type": "posture", "subsystem": "lever_1"}}
MISTAKES = {
    "no room": (scattered(distance=0.9), {}, "subsystems.lever.copies: ", " of 12 copies fit into the region at a "),
    "both": (scattered(grid=[2, 2]), {}, "subsystems.lever.copies: ", "give either `grid` or `count`"),
    "too many": (scattered(count=501, distance=0), {}, "subsystems.lever.copies: ", "above the limit 'bodies'"),
    "a name twice": ({**scattered(), "lever_3": {"model": "lever"}}, {}, "", "'lever_3' is the name of two subsystems"),
    "a task": (scattered(), {"tasks": POSTURE}, "tasks.p.subsystem: ", "'lever_1' is of a subsystem with `controlled"),
    "a release": ({"box": {"model": "box", "release": 1.0}}, {}, "box.release: ", "only subsystems with `controlled:"),
    "a motor": ({"other": {"model": "humanoid", "controlled": False}}, {}, "other.controlled: ", "must be controlled"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_name_key_and_reason(load, name):
    subsystems, changes, key, message = MISTAKES[name]
    with pytest.raises(ConfigError) as error:
        load(subsystems, **changes)
    assert key in str(error.value) and message in str(error.value)
