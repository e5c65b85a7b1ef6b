"""Balance constraint: the capture point stays over the feet, whatever the tasks."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import linprog

from multi_qp_controller import Controller, Status
from multi_qp_controller.constraints.balance import GRAVITY, LOAD, BalanceConstraint
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.support_polygon import distance_inside, support_polygon
from multi_qp_controller.dynamics.kinematics import Group, Kinematics
from multi_qp_controller.tasks import CoMTask
from multi_qp_scene import Scene, State, load_scenario
from multi_qp_scene.schema.control import BalanceSpec


def _capture_point(kinematics: Kinematics, group: Group) -> np.ndarray:
    com = group.com(kinematics)
    return com + group.com_velocity(kinematics) / math.sqrt(GRAVITY / com[2])


def test_rows_equal_the_rate_of_the_capture_point() -> None:
    scenario = load_scenario("box")
    scene = scenario.scene
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    surface = {name: scene.surfaces[name] for name in ("humanoid/left_sole", "humanoid/right_sole", "ground/floor")}
    contacts = [
        ActiveContact(name, surface[f"humanoid/{name}"], surface["ground/floor"], friction=0.7, kinematics=kinematics)
        for name in ("left_sole", "right_sole")
    ]
    # with an influence distance larger than the feet, every edge has a row
    constraint = BalanceConstraint(scene, BalanceSpec(influence=10.0, security=0.0, damping=1e-9))
    constraint.set_contacts(contacts, kinematics)
    random = np.random.default_rng(0)
    v = 0.1 * random.normal(size=scene.nv)
    a = random.normal(size=scene.nv)
    kinematics.update(State(scene.q0, v))
    D, d = np.zeros((constraint.size, scene.nv)), np.zeros(constraint.size)
    constraint.update(kinematics, D, d)
    polygon = support_polygon(kinematics, [surface["humanoid/left_sole"], surface["humanoid/right_sole"]])
    assert constraint.count == len(polygon)
    group = Group.of(scene, ["humanoid"])
    rate = math.sqrt(GRAVITY / group.com(kinematics)[2])
    slack = D @ a - d  # = ω × (n · d/dt of the capture point), with no damping
    # finite difference of the capture point at constant ω
    velocity, dt = group.com_velocity(kinematics), 1e-6
    after = State(pin.integrate(scene.model, scene.q0, v * dt), v + a * dt)
    kinematics.update(after)
    acceleration = (group.com_velocity(kinematics) - velocity) / dt
    motion = (velocity + acceleration / rate)[:2]
    edges = np.roll(polygon, -1, axis=0)[:, :2] - polygon[:, :2]
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
    assert slack == pytest.approx(rate * (normals @ motion), abs=1e-4)


@pytest.mark.parametrize("direction", [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (-0.7, -0.7)])
def test_task_beyond_the_support_polygon_causes_no_fall(direction: tuple[float, float]) -> None:
    scenario = load_scenario("box")
    scene = scenario.scene
    controller = Controller(scenario, dt=0.01)
    pull = np.array([*direction, 0.0])
    group = Group.of(scene, ["humanoid"])
    task = CoMTask("pull", group=group, goal=lambda _, com: com + pull, weight=1e4, stiffness=30.0, max_speed=0.4)
    controller.add_task(task)
    state, least = scene.initial_state(), np.inf
    for tick in range(150):
        command = controller.step(state, 0.001 * tick)  # slow time, to stay in the first state
        assert command.diagnostics.status is Status.OK
        feet = [controller.contacts[name].first for name in ("left_foot", "right_foot")]
        polygon = support_polygon(controller.kinematics, feet)
        least = min(least, distance_inside(polygon, _capture_point(controller.kinematics, group)))
        v = state.v + command.a * controller.dt
        state = State(pin.integrate(scene.model, state.q, v * controller.dt), v)
    assert least > 0.005


def _can_carry(scene: Scene, feet: list[str], com: np.ndarray) -> bool:
    """Return whether vertical forces on feet hold a centre of mass within the share of the torques, by LP."""
    data = scene.model.createData()
    pin.computeAllTerms(scene.model, data, scene.q0, np.zeros(scene.nv))
    frames = [scene.surfaces[name].frame_id for name in feet]
    pin.updateFramePlacements(scene.model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    lifts = np.array([pin.getFrameJacobian(scene.model, data, f, axes)[2, scene.actuated_v] for f in frames]).T
    places = np.array([data.oMf[f].translation[:2] for f in frames])
    own, most = data.nle[scene.actuated_v], LOAD * scene.torque_limits
    weight = GRAVITY * data.mass[0]
    balanced = np.vstack([np.ones(len(feet)), places.T]), np.array([1.0, *com]) * weight
    limits = np.vstack([lifts, -lifts]), np.concatenate([most + own, most - own])
    return bool(linprog(np.zeros(len(feet)), *limits, *balanced, bounds=(0, None)).status == 0)


def test_on_points_the_legs_bound_where_the_centre_of_mass_may_be() -> None:
    """A leg of the quadruped cannot carry its weight: the region is the one that linear programs find."""
    scene = load_scenario("trot").scene
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    feet = [f"quadruped/{side}_{end}_foot" for side in ("left", "right") for end in ("front", "hind")]
    ground = scene.surfaces["ground/floor"]
    contacts = [ActiveContact(name, scene.surfaces[name], ground, friction=0.7, kinematics=kinematics) for name in feet]
    constraint = BalanceConstraint(scene, BalanceSpec())
    constraint.set_contacts(contacts, kinematics)
    constraint.update(kinematics, np.zeros((constraint.size, scene.nv)), np.zeros(constraint.size))
    (group,) = constraint.groups
    corners, random = group.corners, np.random.default_rng(0)
    outside = 0
    for _ in range(200):
        com = random.dirichlet(np.full(4, 0.5)) @ corners
        least = float(np.min(group.normals @ com - group.offsets))
        if abs(least) > 1e-6:
            assert _can_carry(scene, feet, com) == (least > 0.0)
        outside += least < 0.0
    assert 20 < outside < 180
