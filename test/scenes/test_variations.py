"""Parameters of the scenes: masses, sizes, steps, width of the beam, weight of the door."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario

#: Parameters of each scene, with values at both ends of the usual range.
VARIATIONS = [
    ("king", {"king.steps": 10}),
    ("king", {"king.steps": 2, "king.stride": 0.05}),
    ("king", {"king.steps": 2, "king.mass": 50, "litter.mass": 8}),
    ("king", {"king.steps": 2, "litter.mass": 30}),
    ("king", {"king.steps": 2, "front.mass": 36, "back.mass": 45}),
    ("funambulist", {"funambulist.steps": 12}),
    ("funambulist", {"beam.width": 0.1}),
    ("funambulist", {"beam.width": 0.2, "funambulist.stride": 0.3}),
    ("funambulist", {"barbell.mass": 4, "humanoid.mass": 48}),
    ("sword", {"distance": 1.3, "sword.mass": 3}),
    ("sword", {"distance": 1.05, "sword.mass": 0.8}),
    ("acrobats", {"step.length": 0.1, "top.mass": 30}),
    ("acrobats", {"middle.mass": 50, "bottom.mass": 80}),
    ("door", {"door.mass": 2}),
    ("door", {"door.mass": 60, "door.angle": 0.7}),
    ("valve", {"valve.mass": 1, "valve.speed": 0.5, "valve.turns": 0.5}),
    ("valve", {"valve.mass": 20}),
    ("lever", {"lever.mass": 1.6}),
    ("lever", {"lever.mass": 5, "lever.angle": 0.4}),
    ("box", {"box.mass": 0.1, "box.width": 0.2}),
    ("box", {"box.mass": 10}),
    ("box", {"box.width": 0.4, "box.height": 0.3, "box.depth": 0.2}),
]


@pytest.mark.parametrize(("scene", "parameters"), VARIATIONS, ids=str)
def test_each_variation_is_a_parameter_of_its_scene(scene: str, parameters: dict[str, float]) -> None:
    loaded = load_scenario(scene, parameters=parameters)
    assert loaded.parameters.items() >= parameters.items()
    for name, mass in parameters.items():
        owner, _, what = name.partition(".")
        if what == "mass":
            assert loaded.scene.subsystems[owner].mass == pytest.approx(mass)


def test_the_beam_and_the_box_have_the_given_size() -> None:
    beam = load_scenario("funambulist", parameters={"beam.width": 0.2}).scene.surfaces["beam/top"]
    assert np.ptp(beam.points[:, 1]) == pytest.approx(0.2)
    box = load_scenario("box", parameters={"box.width": 0.4}).scene.surfaces
    apart = box["box/left"].X_link_surface.translation - box["box/right"].X_link_surface.translation
    np.testing.assert_allclose(apart, [0.0, 0.4, 0.0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "parameters"), VARIATIONS, ids=str)
def test_the_scene_succeeds(scene: str, parameters: dict[str, float], assert_good: Callable[..., None]) -> None:
    assert_good(run_scenario(load_scenario(scene, parameters=parameters)), slip=2e-3)
