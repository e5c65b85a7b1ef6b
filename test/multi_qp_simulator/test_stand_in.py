"""The stand-in for robots, without a graph."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.bonded_dynamics import Bonds
from multi_qp_controller.kinematics import Kinematics
from multi_qp_scene import cones, load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.delayed_graph import DelayedGraph, Stall
from multi_qp_simulator.stand_in import StandIn, TorqueWorld


def test_nothing_is_computed_for_the_first_time_when_contacts_change():
    cones._facets.cache_clear()  # other tests may have been here
    scenario = load_scenario("box")
    stand_in = StandIn(scenario, TorqueWorld(scenario), dt=0.005)
    known = cones._facets.cache_info().misses
    stand_in.command("humanoid", np.zeros(len(scenario.scene.subsystems["humanoid"].actuated)))
    for phase in scenario.spec.states.values():
        stand_in.touch(phase.contacts)
        stand_in.step()
    assert cones._facets.cache_info().misses == known


def test_rehearsing_leaves_no_trace():
    scenario = load_scenario("box")
    rehearsed, other = TorqueWorld(scenario), TorqueWorld(scenario)
    rehearsed.rehearse(0.005)
    contacts, torque = scenario.spec.states["stand"].contacts, np.zeros(scenario.scene.na)
    for world in (rehearsed, other):
        world.advance(torque, contacts, 0.005)
    np.testing.assert_array_equal(rehearsed.state.q, other.state.q)
    np.testing.assert_array_equal(rehearsed.state.v, other.state.v)


def test_in_a_closed_chain_drives_bring_to_rest_without_forces_beyond_bounds():
    """Feet on the ground and all motors braked are more rows than ways to move, and their sides contradict a little."""
    scenario = load_scenario("box")
    scene, world = scenario.scene, TorqueWorld(scenario)
    stand_in = StandIn(scenario, world, dt=0.005, substeps=3, watchdog_periods=1)
    # as it moves: any speeds, but none at the contacts
    kinematics = Kinematics(scene)
    kinematics.update(world.state)
    rows = world._bonded(kinematics, stand_in.contacts, 0.005)
    v = 0.5 * np.random.default_rng(0).standard_normal(scene.nv)
    v -= Bonds(kinematics, rows.J).shift(rows.J @ v)
    world.state, fastest = State(world.state.q, v), np.abs(v).max()
    stand_in.command("humanoid", np.zeros(scene.na))
    speeds = [np.abs(stand_in.step().v).max() for _ in range(90)]
    assert stand_in.unheard == ("humanoid",)
    assert max(speeds[:12]) < 2.0 * fastest
    assert speeds[-1] < 0.3 * fastest  # e^-1.5


@pytest.mark.parametrize(
    ("dt", "expected"),
    [
        (0.005, 0.025),  # five periods
        (0.02, 0.05),  # the longest silence
        (0.1, 0.15),  # one and a half periods: the next command may be a little late
    ],
)
def test_a_robot_brakes_when_it_has_heard_nothing_for_so_long(dt, expected):
    scenario = load_scenario("box")
    stand_in = StandIn(scenario, TorqueWorld(scenario), dt=dt, substeps=10)
    stand_in.command("humanoid", np.zeros(scenario.scene.na))
    stand_in.steps += round(expected / stand_in.dt)
    assert not stand_in.unheard
    stand_in.steps += 1
    assert stand_in.unheard == ("humanoid",)


def test_where_braking_is_beyond_a_limit_all_of_it_is_less(monkeypatch):
    """Cut to its limit at one motor alone it is no braking: a wrist of `king` went from 0.4 to 36 rad/s in 2 ms."""
    scenario = load_scenario("box")
    world, limits = TorqueWorld(scenario), scenario.scene.torque_limits
    stand_in = StandIn(scenario, world, dt=0.005)
    tau = 0.5 * limits
    wanted = np.random.default_rng(0).uniform(-1.0, 1.0, len(tau)) * limits
    wanted[3], wanted[7] = 4.0 * limits[3], -2.0 * limits[7]
    acting = []
    monkeypatch.setattr(world, "braking", lambda *_, **__: wanted)
    monkeypatch.setattr(world, "advance", lambda torque, *_: acting.append(torque))
    stand_in.command("humanoid", tau)
    stand_in.step()
    stand_in.steps += 20
    stand_in.step()
    np.testing.assert_allclose(acting[0], tau)
    share = (acting[1] - tau) / (wanted - tau)
    np.testing.assert_allclose(share, 0.5 / 3.5)
    assert np.abs(acting[1] / limits).max() == pytest.approx(1.0)


def test_drives_that_brake_keep_a_squeezed_chain_together_where_periods_are_long():
    """Looked at once in 33 ms, three people and a litter went faster and faster instead of coming to rest."""
    graph = DelayedGraph(lambda: load_scenario("king")).go(0.4)
    graph.stall(Stall(1.0, commands=True))
    graph.go(1.0)
    assert graph.stand_in.unheard == graph.stand_in.robots
    assert np.abs(graph.stand_in.world.state.v).max() < 0.01
