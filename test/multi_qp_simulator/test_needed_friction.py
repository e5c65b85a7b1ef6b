"""Friction coefficients that the contact forces of a run need."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.needed_friction import needed_friction
from multi_qp_simulator.runner import run_scenario


@pytest.fixture(scope="module")
def scene():
    return load_scenario("climb_high").scene


def log_of(scene, surfaces, forces, active=None):
    """Return a log of one contact with these forces on the first body along the world's axes, (T, 3) [N]."""
    data, forces = scene.model.createData(), np.array(forces, dtype=float)
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    wrench = np.zeros((len(forces), 1, 6))
    wrench[:, 0, :3] = forces @ data.oMf[scene.surfaces[surfaces[0]].frame_id].rotation
    return SimpleNamespace(
        time=0.1 * np.arange(len(forces)),
        q=np.tile(scene.q0, (len(forces), 1)),
        contact_names=np.array(["held"]),
        contact_surfaces=np.array([surfaces]),
        contact_friction=np.array([0.8]),
        contact_active=np.ones((len(forces), 1), bool) if active is None else np.array(active)[:, None],
        contact_wrench=wrench,
    )


@pytest.mark.parametrize(
    ("face", "turn"), [("platform/top", np.eye(3)), ("platform/back", [[0, 0, -1], [0, 1, 0], [1, 0, 0]])]
)
def test_the_normal_of_a_point_is_that_of_the_face_that_it_touches(scene, face, turn):
    """Forces along the face's axes, whatever the link's: ratios 0.5, 0.3, a pull, and one too small to count."""
    forces = np.array([[3.0, 4.0, 10.0], [0.0, 3.0, 10.0], [1.0, 0.0, -5.0], [0.4, 0.0, 0.1], [9.0, 0.0, 1.0]])
    log = log_of(scene, ["humanoid/left_fingertips", face], forces @ np.array(turn).T, [True] * 4 + [False])
    (found,) = needed_friction(log, scene).items()
    assert found[0] == "held"
    expected = {"allowed": 0.8, "median": 0.4, "largest": 0.5, "time": 0.0, "pulled": 1 / 3}
    assert found[1] == pytest.approx(expected)


def test_a_contact_that_only_pulls_or_never_bears_has_no_coefficient(scene):
    pulled = needed_friction(log_of(scene, ["humanoid/left_fingertips", "platform/top"], [[1.0, 0.0, -9.0]]), scene)
    assert pulled == {"held": {"allowed": 0.8, "median": None, "largest": None, "time": None, "pulled": 1.0}}
    assert needed_friction(log_of(scene, ["humanoid/left_sole", "ground/floor"], [[0.0, 0.0, 0.0]]), scene) == {}


def test_forces_that_are_not_finite_do_not_count(scene):
    """A run that diverges has a report all the same."""
    surfaces = ["humanoid/left_sole", "ground/floor"]
    found = needed_friction(log_of(scene, surfaces, [[3.0, 4.0, 10.0], [np.nan] * 3, [np.inf, 0.0, 1.0]]), scene)
    assert found["held"]["median"] == found["held"]["largest"] == pytest.approx(0.5)
    assert needed_friction(log_of(scene, surfaces, [[np.nan] * 3]), scene) == {}


def test_forces_of_a_run_stay_within_the_friction_of_its_contacts():
    result = run_scenario(load_scenario("box"), duration=0.5)
    found = result.report["friction"]
    assert found and found.keys() <= set(result.log.contact_names.tolist())
    for name, of in found.items():
        k = result.log.contact_names.tolist().index(name)
        assert of["allowed"] == result.log.contact_friction[k]
        assert 0.0 <= of["median"] <= of["largest"] <= of["allowed"] + 1e-6 and of["pulled"] == 0.0
