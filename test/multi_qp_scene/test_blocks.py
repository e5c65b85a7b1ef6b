import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import ConfigError, load_scenario

SCENARIO = """\
description: a box of the environment
subsystems:
  humanoid: {model: humanoid, posture: half_sitting}
environment:
  step: {box: [0.3, 1.2, 0.1], pose: {xyz: [0.5, 0, 0.05], rpy: [0, 0, 0.4]}, color: [1, 0, 0]}
contacts:
  foot: {surfaces: [humanoid/left_sole, step/top]}
initial_state: stand
states: {stand: {contacts: [foot]}}
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "blocks.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_each_face_is_a_surface_with_an_outward_normal(file):
    scene = load_scenario(file(SCENARIO)).scene
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    centre, turned = np.array([0.5, 0.0, 0.05]), pin.rpy.rpyToMatrix(0, 0, 0.4)
    half = np.array([0.15, 0.6, 0.05])
    outwards = {"front": [1, 0, 0], "back": [-1, 0, 0], "left": [0, 1, 0], "right": [0, -1, 0],
                "top": [0, 0, 1], "bottom": [0, 0, -1]}  # fmt: skip
    for name, normal in outwards.items():
        X_world_surface = data.oMf[scene.surfaces[f"step/{name}"].frame_id]
        np.testing.assert_allclose(X_world_surface.rotation[:, 2], turned @ normal, atol=1e-12)
        np.testing.assert_allclose(X_world_surface.translation, centre + turned @ (half * normal), atol=1e-12)


def test_its_contact_points_are_the_corners_of_its_faces(file):
    scene = load_scenario(file(SCENARIO)).scene
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for name in ("front", "back", "left", "right", "top", "bottom"):
        surface = scene.surfaces[f"step/{name}"]
        X_box_surface = pin.SE3(pin.rpy.rpyToMatrix(0, 0, 0.4), np.array([0.5, 0, 0.05])).actInv(
            data.oMf[surface.frame_id]
        )
        corners = np.array([X_box_surface.act(point) for point in surface.points])
        np.testing.assert_allclose(np.abs(corners), np.tile([0.15, 0.6, 0.05], (4, 1)), atol=1e-12)


def test_it_has_visual_and_collision_geometry(file):
    scene = load_scenario(file(SCENARIO)).scene
    assert scene.collision_model.existGeometryName("step/block_0")
    assert scene.visual_model.existGeometryName("step/block_0")
    visual = scene.visual_model.geometryObjects[scene.visual_model.getGeometryId("step/block_0")]
    np.testing.assert_allclose(visual.meshColor[:3], [1, 0, 0])


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        ("{}", "give one of `model`, `box`, `mesh` and `urdf`"),
        ("{model: ground, box: [1, 1, 1]}", "give one of `model`, `box`, `mesh` and `urdf`"),
        ("{box: [1, 0, 1]}", r"box\[1\]: expected a positive number"),
        ("{box: [1, 1]}", "box"),
    ],
)
def test_an_invalid_environment_model_is_reported_once(file, piece, message):
    with pytest.raises(ConfigError, match=message) as error:
        load_scenario(file(SCENARIO.replace("initial_state", "  \ninitial_state").replace(
            "contacts:\n", f"  other: {piece}\ncontacts:\n")))  # fmt: skip
    assert len(error.value.problems) == 1
