"""Standing robots and targets out of reach: neither a fall nor a QP without solution."""

import numpy as np
import pytest

from multi_qp_controller import Status
from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import make_backend, make_controller

# model, posture, surfaces in contact, tasked frame, and the link that is kept upright
ROBOTS = {
    "humanoid": ("half_sitting", ["left_sole", "right_sole"], "r_gripper", "torso"),
    "tall_humanoid": ("half_sitting", ["left_sole", "right_sole"], "r_gripper", "torso"),
    "quadruped": (
        "standing",
        ["left_front_foot", "right_front_foot", "left_hind_foot", "right_hind_foot"],
        "base_link",
        "base_link",
    ),
}
BACKENDS = ["integrator", "mujoco"]
DURATION = 4.0
#: Targets are uniform in a cube of this size around 1 m above the ground [m].
CUBE = 3.0

#: Without them a hand presses on the floor or is caught on the hip, 1 of 200 targets for each humanoid in MuJoCo.
COLLISIONS = """
collisions:
  self_collisions: [robot]
  pairs: [{bodies: ["robot/*_wrist_*_link", ground/ground_link]}]
"""

SCENE = """
description: a robot stands and reaches
dt: 0.005
duration: 10.0
subsystems:
  robot:
    model: {model}
    posture: {posture}
    place: {{surfaces: [{surfaces}], onto: ground/floor}}
environment:
  ground: {{model: ground}}
contacts:
{contacts}
balance: {{}}
{collisions}
tasks:
  reach:
    type: pose
    frame: robot/{frame}
    axes: [x, y, z]
    target: {{position: {target}{timing}}}
    weight: 500
    stiffness: 20
  com:
    type: com
    subsystems: [robot]
    axes: [x, y]
    target: {{over_contacts: [{surfaces}], duration: 0.5}}
    weight: 100
    stiffness: 10
  upright:
    type: pose
    frame: robot/{trunk}
    axes: [roll, pitch, yaw]
    target: {{rpy: [0, 0, 0]}}
    weight: 20
    stiffness: 20
  posture: {{type: posture, subsystem: robot, weight: 1, stiffness: 10}}
initial_state: stand
states:
  stand: {{description: stands, contacts: [{surfaces}], hold: 8.0}}
"""


def scene_with_target(folder, model, target, timing="", *, collisions=False):
    posture, surfaces, frame, trunk = ROBOTS[model]
    contacts = "\n".join(f"  {s}: {{surfaces: [robot/{s}, ground/floor], friction: 0.7}}" for s in surfaces)
    path = folder / "reach.yaml"
    path.write_text(
        SCENE.format(
            model=model,
            posture=posture,
            surfaces=", ".join(surfaces),
            contacts=contacts,
            frame=frame,
            trunk=trunk,
            collisions=COLLISIONS if collisions and model != "quadruped" else "",
            target=[round(float(x), 4) for x in target],
            timing=timing,
        )
    )
    return load_scenario(path)


def run_to(scenario, backend):
    """Return the ticks whose QP was not solved as stated, and the largest displacement of a foot [m]."""
    controller, world = make_controller(scenario, backend), make_backend(backend, scenario)
    dt, failures, feet = controller.dt, [], []
    for tick in range(round(DURATION / dt)):
        command = controller.step(world.state, tick * dt)
        if command.diagnostics.status is not Status.OK:
            failures.append((round(tick * dt, 3), command.diagnostics.message, list(command.diagnostics.slack)))
            if len(failures) > 5:
                break
        feet.append([controller.kinematics.pose(c.first.frame_id).translation for c in controller.contacts.values()])
        controller.post_update()
        world.step(command, dt)
    places = np.array(feet)
    return failures, float(np.linalg.norm(places - places[0], axis=2).max())


def random_targets(count):
    rng = np.random.default_rng(0)
    return np.array([0.0, 0.0, 1.0]) + rng.uniform(-0.5 * CUBE, 0.5 * CUBE, (count, 3))


def check(folder, model, backend, targets, timing="", *, collisions=False):
    fallen = {}
    for k, target in enumerate(targets):
        failures, displacement = run_to(
            scene_with_target(folder, model, target, timing, collisions=collisions), backend
        )
        if failures or displacement > 0.02:
            fallen[k] = target.round(2).tolist(), displacement, failures[:1]
    assert not fallen


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("model", ROBOTS)
def test_a_target_out_of_reach_causes_no_fall(model, backend, tmp_path):
    check(tmp_path, model, backend, [np.array([-1.2, 0.9, 2.2])])


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("model", ROBOTS)
def test_random_targets_cause_no_fall(model, backend, tmp_path):
    check(tmp_path, model, backend, random_targets(200), collisions=True)


@pytest.mark.parametrize("number", [13, 42])
def test_a_leg_that_cannot_carry_the_trunk_is_not_loaded_with_it(number, tmp_path):
    """Over one leg, whose hip was at its torque limit, the quadruped fell."""
    check(tmp_path, "quadruped", "integrator", [random_targets(200)[number]])


def test_a_path_that_cannot_be_followed_causes_no_fall(tmp_path):
    check(tmp_path, "humanoid", "integrator", [np.array([-1.2, 0.9, 2.2])], timing=", duration: 2.0")


def test_a_base_beyond_the_reach_of_its_legs_causes_no_fall(tmp_path):
    """The legs become nearly straight; without the damper on their stretch the QP is infeasible after 2.6 s."""
    check(tmp_path, "quadruped", "integrator", [random_targets(10)[9]])
