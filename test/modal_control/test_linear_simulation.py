"""The linear simulation: momentum, tracking of the squat, and pushes."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.control import ControlSettings
from modal_control.linear_simulation import LinearSimulation, Push
from modal_control.modes import modes_of
from modal_control.rigid_plan import RigidWeights

#: Weights with which the squat is tracked.
TUNED, FED = RigidWeights(force=1e-3), RigidWeights(feed_forward=True)


def test_momentum_changes_by_the_forces(character, squat):
    push = Push("humanoid/torso", (30.0, -20.0, 10.0), start=2, steps=3)
    settings = ControlSettings(window=12, rigid=TUNED)
    run = LinearSimulation(character, squat, settings).run(pushes=(push,), steps=8)
    for step, force in enumerate(run.contact_forces):
        dynamics = character.linearise(run.q[step])
        modes = modes_of(dynamics, threshold=100.0)
        change = np.sqrt(dynamics.mass) * (modes.inverse[:3] @ (run.v[step + 1] - run.v[step]))
        pushed = np.array(push.force) if 2 <= step < 5 else np.zeros(3)
        weight = np.array([0.0, 0.0, -9.81 * dynamics.mass])
        np.testing.assert_allclose(change * 120.0, force + weight + pushed, atol=1e-6)


@pytest.mark.parametrize("settings", [ControlSettings(window=12, rigid=TUNED), ControlSettings(rigid=FED)])
def test_the_beginning_of_the_squat_is_tracked(character, squat, settings):
    run = LinearSimulation(character, squat, settings).run(steps=110)
    assert run.fallen is None and not run.unsolved
    assert run.worst < 0.02
    assert run.penetration < 1e-4 and run.force_residual < 1e-6 and run.correction_residual < 1e-3
    assert squat.q[0, 2] - run.q[110, 2] > 0.005  # it moves


def test_feed_forward_removes_the_sag_of_the_printed_weights(character, squat):
    printed, fed = (
        LinearSimulation(character, squat, ControlSettings(window=24, rigid=RigidWeights(feed_forward=feed))).run(
            steps=60
        )
        for feed in (False, True)
    )
    assert printed.worst > 0.04 and fed.worst < 0.015


@pytest.mark.slow
@pytest.mark.parametrize("window, bound", [(12, 0.01), (16, 0.02), (24, 0.06)])
def test_the_squat_is_tracked(character, squat, window, bound):
    run = LinearSimulation(character, squat, ControlSettings(window=window, rigid=TUNED)).run()
    assert run.fallen is None and run.worst < bound


@pytest.mark.slow
@pytest.mark.parametrize("window", [12, 16, 24, 36])
def test_the_squat_is_tracked_with_feed_forward(character, squat, window):
    run = LinearSimulation(character, squat, ControlSettings(window=window, rigid=FED)).run()
    assert run.fallen is None and run.worst < 0.03
