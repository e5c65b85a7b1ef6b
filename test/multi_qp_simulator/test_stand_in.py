"""The stand-in for robots, without a graph."""

from __future__ import annotations

import numpy as np

from multi_qp_scene import cones, load_scenario
from multi_qp_simulator.stand_in import StandIn, TorqueWorld


def test_nothing_is_computed_for_the_first_time_when_contacts_change():
    cones._facets.cache_clear()  # other tests may have been here
    scenario = load_scenario("box")
    stand_in = StandIn(scenario, TorqueWorld(scenario), dt=0.005, watchdog_periods=5)
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
