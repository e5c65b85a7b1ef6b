"""Simulated robots, without ROS."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.dynamics.constrained_dynamics import ConstrainedDynamics
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_ros.delayed_graph import DelayedGraph, Stall
from multi_qp_scene import cones, load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.simulated_robot import SimulatedRobot, TorqueWorld


def test_contact_changes_use_precomputed_cones():
    cones._facets.cache_clear()  # may be filled by other tests
    scenario = load_scenario("box")
    simulated_robot = SimulatedRobot(scenario, TorqueWorld(scenario), dt=0.005)
    known = cones._facets.cache_info().misses
    simulated_robot.command("humanoid", np.zeros(len(scenario.scene.subsystems["humanoid"].actuated)))
    for phase in scenario.spec.states.values():
        simulated_robot.set_contacts(phase.contacts)
        simulated_robot.step()
    assert cones._facets.cache_info().misses == known


def test_warm_up_does_not_change_the_state():
    scenario = load_scenario("box")
    warmed_up, other = TorqueWorld(scenario), TorqueWorld(scenario)
    warmed_up.warm_up(0.005)
    contacts, torque = scenario.spec.states["stand"].contacts, np.zeros(scenario.scene.na)
    for world in (warmed_up, other):
        world.advance(torque, contacts, 0.005)
    np.testing.assert_array_equal(warmed_up.state.q, other.state.q)
    np.testing.assert_array_equal(warmed_up.state.v, other.state.v)


def test_braking_of_a_closed_chain_stops_with_bounded_forces():
    """Feet on the ground and all motors braked are more rows than degrees of freedom, slightly inconsistent."""
    scenario = load_scenario("box")
    scene, world = scenario.scene, TorqueWorld(scenario)
    simulated_robot = SimulatedRobot(scenario, world, dt=0.005, substeps=3, watchdog_periods=1)
    # arbitrary velocities, consistent with the contacts
    kinematics = Kinematics(scene)
    kinematics.update(world.state)
    rows = world._bonded(kinematics, simulated_robot.contacts, 0.005)
    v = 0.5 * np.random.default_rng(0).standard_normal(scene.nv)
    v -= ConstrainedDynamics(kinematics, rows.J).shift(rows.J @ v)
    world.state, fastest = State(world.state.q, v), np.abs(v).max()
    simulated_robot.command("humanoid", np.zeros(scene.na))
    speeds = [np.abs(simulated_robot.step().v).max() for _ in range(90)]
    assert simulated_robot.timed_out == ("humanoid",)
    assert max(speeds[:12]) < 2.0 * fastest
    assert speeds[-1] < 0.3 * fastest  # e^-1.5


@pytest.mark.parametrize(
    ("dt", "expected"),
    [
        (0.005, 0.025),  # five periods
        (0.02, 0.05),  # the watchdog time
        (0.1, 0.15),  # one and a half periods: the next command may be a little late
    ],
)
def test_a_robot_brakes_after_the_watchdog_time(dt, expected):
    scenario = load_scenario("box")
    simulated_robot = SimulatedRobot(scenario, TorqueWorld(scenario), dt=dt, substeps=10)
    simulated_robot.command("humanoid", np.zeros(scenario.scene.na))
    simulated_robot.steps += round(expected / simulated_robot.dt)
    assert not simulated_robot.timed_out
    simulated_robot.steps += 1
    assert simulated_robot.timed_out == ("humanoid",)


def test_braking_beyond_a_limit_is_scaled_as_a_whole(monkeypatch):
    """Clipping a single motor destabilises the motion: a wrist of `king` went from 0.4 to 36 rad/s in 2 ms."""
    scenario = load_scenario("box")
    world, limits = TorqueWorld(scenario), scenario.scene.torque_limits
    simulated_robot = SimulatedRobot(scenario, world, dt=0.005)
    tau = 0.5 * limits
    wanted = np.random.default_rng(0).uniform(-1.0, 1.0, len(tau)) * limits
    wanted[3], wanted[7] = 4.0 * limits[3], -2.0 * limits[7]
    acting = []
    monkeypatch.setattr(world, "braking", lambda *_, **__: wanted)
    monkeypatch.setattr(world, "advance", lambda torque, *_: acting.append(torque))
    simulated_robot.command("humanoid", tau)
    simulated_robot.step()
    simulated_robot.steps += 20
    simulated_robot.step()
    np.testing.assert_allclose(acting[0], tau)
    share = (acting[1] - tau) / (wanted - tau)
    np.testing.assert_allclose(share, 0.5 / 3.5)
    assert np.abs(acting[1] / limits).max() == pytest.approx(1.0)


def test_braking_keeps_a_squeezed_chain_together_at_long_periods():
    """With updates every 33 ms only, three people and a litter accelerated instead of coming to rest."""
    graph = DelayedGraph(lambda: load_scenario("king")).go(0.4)
    graph.stall(Stall(1.0, commands=True))
    graph.go(1.0)
    assert graph.simulated_robot.timed_out == graph.simulated_robot.robots
    assert np.abs(graph.simulated_robot.world.state.v).max() < 0.01
