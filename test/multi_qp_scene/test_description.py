"""The URDF that other programs get is the scene's own model, and its meshes can be found without a search."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import load_scenario, resources
from multi_qp_scene.description import robot_descriptions

MASSES = {"king.mass": 52.0, "litter.mass": 7.0}


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("king", parameters=MASSES)


@pytest.fixture(scope="module")
def descriptions(scenario):
    return robot_descriptions(scenario)


def test_every_part_has_one(scenario, descriptions):
    assert set(descriptions) == {*scenario.scene.subsystems, *scenario.scene.environment}


@pytest.mark.parametrize("name", ["front", "king", "litter"])
def test_it_has_the_mass_and_the_inertia_of_the_scene(scenario, descriptions, name):
    model = pin.buildModelFromXML(descriptions[name], pin.JointModelFreeFlyer())
    subsystem, data = scenario.scene.subsystems[name], model.createData()
    assert model.nv == subsystem.nv
    M = pin.crba(model, data, pin.neutral(model))
    q = pin.neutral(scenario.scene.model)
    all_of_it = pin.crba(scenario.scene.model, scenario.scene.model.createData(), q)
    where = subsystem.v_slice
    np.testing.assert_allclose(np.triu(M), np.triu(all_of_it[where, where]), atol=1e-8)


def test_meshes_are_files_and_colours_the_scenario_s(scenario, descriptions):
    root = ElementTree.fromstring(descriptions["king"])
    uris = [urlparse(mesh.get("filename")) for mesh in root.iter("mesh")]
    assert len(uris) > 20
    assert {uri.scheme for uri in uris} == {"file"}
    assert all(Path(unquote(uri.path)).is_file() for uri in uris)
    shown = root.find("material[@name='tint']/color").get("rgba")
    assert [float(channel) for channel in shown.split()] == [*scenario.spec.subsystems["king"].color, 1.0]


def test_package_uris_stay_where_ros_knows_the_package(scenario, monkeypatch):
    monkeypatch.setattr("multi_qp_scene.description.ros_package_share", lambda package: resources.resource_dirs()[0])
    assert "package://multi_qp_controller/urdf/meshes/litter/" in robot_descriptions(scenario)["litter"]
