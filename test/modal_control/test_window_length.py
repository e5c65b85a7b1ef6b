"""Windows whose length is chosen from the error of the linear prediction."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.tracked_motion import TrackedMotion
from modal_control.window_length import LENGTHS, WindowLengths
from multi_qp_scene import load_scenario

STEP = 1.0 / 120.0


def lengths_of(name, *, bound=0.015):
    """Return the lengths of a scene's motion and the motion."""
    scenario = load_scenario(name)
    state = scenario.spec.states[scenario.spec.initial_state]
    spec = next(iter(state.generators.values()))
    tracked = TrackedMotion("motion", spec, scenario)
    body = scenario.scene.subsystems[spec.subsystem]
    return WindowLengths(scenario.scene.model, body, tracked, step=STEP, bound=bound), tracked


def test_errors_grow_with_the_window_and_quick_motions_have_shorter_ones():
    slow, _ = lengths_of("squat")
    quick, _ = lengths_of("swing")
    for one in (slow, quick):
        assert (np.diff(np.median(one.errors, axis=0)) > 0.0).all()
    assert {slow.at(time) for time in np.arange(0.0, 4.0, 0.1)} == {LENGTHS[-1]}
    assert np.median([quick.at(time) for time in np.arange(8.0, 12.0, 0.1)]) < 12


def test_a_smaller_bound_gives_shorter_windows():
    usual, _ = lengths_of("squat")
    strict, _ = lengths_of("squat", bound=0.0005)
    assert all(strict.at(time) <= usual.at(time) for time in np.arange(0.0, 4.0, 0.1))
    assert strict.at(1.0) < usual.at(1.0)


def test_windows_reach_beyond_a_flight():
    lengths, tracked = lengths_of("jump", bound=1e-6)
    times = np.arange(0.0, tracked.duration, 0.02)
    flying = [time for time in times if not tracked.surfaces.planted(time).any()]
    assert flying
    for time in flying:
        assert tracked.surfaces.planted(time + (lengths.at(time) - 2) * STEP).any()
    assert lengths.at(flying[0] - 0.5) == LENGTHS[0]


@pytest.mark.parametrize("count", [0, 5])
def test_the_generator_changes_its_window_step_by_step(count):
    from multi_qp_controller import Controller
    from multi_qp_simulator.integrator import Integrator

    scenario = load_scenario("jump", parameters={"window": float(count)})
    controller, world, found = Controller(scenario), Integrator(scenario), []
    for tick in range(60):
        world.step(controller.step(world.state, 0.005 * tick), 0.005)
        found.append(controller.generator("jump").window)
    assert np.abs(np.diff(found)).max() <= 1
    assert set(found) == {5} if count else min(found) >= LENGTHS[0]
