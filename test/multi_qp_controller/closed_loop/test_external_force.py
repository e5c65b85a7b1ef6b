"""Force that the model does not have, as generators receive it: against a known push in MuJoCo."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.motion_generator import GeneratorInput
from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import make_backend, make_controller
from upper_body.generator import AntagonisticGenerator


def test_a_known_push_is_found_at_the_joints_of_the_arm(monkeypatch):
    """10 N downwards on each wrist: the torques are those of Jᵀ F."""
    scenario = load_scenario("hold", parameters={"load": 20.0})
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    found: list[np.ndarray] = []
    update = AntagonisticGenerator.update

    def watched(self: AntagonisticGenerator, now: GeneratorInput):
        found.append(now.external.copy())
        return update(self, now)

    monkeypatch.setattr(AntagonisticGenerator, "update", watched)
    for tick in range(520):
        command = controller.step(backend.state, tick * controller.dt)
        backend.step(command, controller.dt)
        controller.post_update()
    scene, q = controller.scenario.scene, backend.state.q
    arm = [k for k, name in enumerate(scene.velocity_names) if name.startswith("humanoid/L_") and "ELBOW" in name]
    data, link = scene.model.createData(), scene.frame_id("humanoid/l_wrist_roll_link")
    J = pin.computeFrameJacobian(scene.model, data, q, link, pin.LOCAL_WORLD_ALIGNED)
    pin.centerOfMass(scene.model, data, q)
    lever = data.oMi[scene.model.frames[link].parentJoint].act(
        scene.model.inertias[scene.model.frames[link].parentJoint].lever
    )
    offset = pin.skew(lever - pin.updateFramePlacement(scene.model, data, link).translation)
    expected = (J[:3] - offset @ J[3:])[2] * -10.0
    before, during = np.mean(found[300:395], axis=0), np.mean(found[440:], axis=0)
    assert np.abs(expected[arm]).max() > 1.0
    np.testing.assert_allclose((during - before)[arm], expected[arm], atol=0.05)
    assert np.abs(found[0]).max() == pytest.approx(0.0)
