"""Height of the ground below feet: that of the model where no forces are measured, as errors of landings add up."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import run_scenario
from walking.gait_state import Measured, Walk
from walking.ground_height import contact_height, ground_heights


def test_the_plane_below_a_foot_is_that_of_the_surface():
    scene = load_scenario("slope").scene
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    inclined = [
        surface
        for surface in scene.surfaces.values()
        if surface.joint_id == 0 and 0.1 < kinematics.pose(surface.frame_id).rotation[2, 2] < 0.999
    ]
    assert inclined
    frame = inclined[0].frame_id
    pose = kinematics.pose(frame)
    on_plane = np.array([pose.act(np.array(point)) for point in ([0.1, 0.2, 0.0], [-0.3, 0.05, 0.0])])
    above = on_plane + [0.0, 0.0, 0.07]
    assert ground_heights(kinematics, [frame, frame], above) == pytest.approx(on_plane[:, 2], abs=1e-12)


def test_without_measured_forces_the_ground_is_that_of_the_model():
    walk = Walk(in_contact=[True, False])
    feet = np.array([[0.0, 0.1, -0.004], [0.3, -0.1, 0.05]])
    now = Measured(
        time=0.0,
        com=np.zeros(3),
        velocity=np.zeros(3),
        base=np.zeros(3),
        feet=feet,
        yaws=np.zeros(2),
        foot_rates=np.zeros((2, 4)),
        forces=None,
    )
    assert contact_height(walk, now) == pytest.approx(-0.004)
    now.ground = np.array([0.001, 0.002])
    assert contact_height(walk, now) == pytest.approx(0.001)


def test_in_the_integrator_feet_stay_at_the_height_of_the_ground():
    scenario = load_scenario("walk")
    log = run_scenario(scenario, backend="integrator", duration=6.0).log
    kinematics, frame = Kinematics(scenario.scene), scenario.scene.surfaces["humanoid/right_sole"].frame_id
    stands = log.contact_active[:, list(log.contact_names).index("right_foot")]
    heights = []
    for q in log.q[stands][::40]:
        kinematics.update(State(q, np.zeros(scenario.scene.nv)))
        heights.append(kinematics.pose(frame).translation[2])
    assert len(heights) > 10 and np.abs(heights).max() < 1.5e-3
