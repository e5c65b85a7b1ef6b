"""The linear simulation: momentum, tracking of the squat, and pushes."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.character import ModalCharacter
from modal_control.control import ControlSettings
from modal_control.linear_simulation import LinearSimulation, Push
from modal_control.modes import modes_of
from modal_control.reference import Reference
from modal_control.rigid_plan import RigidWeights
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource

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


def flight(character, *, keep_momentum):
    """Return the drift of the momentum of a tumbling body beside that by its weight in 12 steps, (6,)."""
    jump = ReferenceMotion.load(find_resource("config/motions/jump.npz"))
    reference = Reference.of(jump, character, prefix="humanoid/", dt=1.0 / 120.0)
    flying = Reference(reference.q[231:250], reference.v[231:250], np.zeros((19, 2), dtype=bool))
    flying.q[:, 2] += 0.5
    settings = ControlSettings(threshold=0.0)
    run = LinearSimulation(character, flying, settings, keep_momentum=keep_momentum).run(steps=12)
    momenta = [modes_of(character.linearise(q), threshold=0.0).momentum(v) for q, v in zip(run.q, run.v, strict=True)]
    change = momenta[-1] - momenta[0]
    change[2] += 9.81 * 39.0 * 12 / 120.0
    return change


def test_momentum_in_a_flight_drifts_by_the_missing_velocity_term_unless_it_is_kept(character):
    kept, drifting = flight(character, keep_momentum=True), flight(character, keep_momentum=False)
    np.testing.assert_allclose(kept, 0.0, atol=1e-6)
    assert np.linalg.norm(drifting[:3]) > 1.0  # [N s]


@pytest.mark.slow
@pytest.mark.parametrize("window, rigid, keep", [(8, RigidWeights(), False), (12, TUNED, False), (12, TUNED, True)])
def test_the_jump_lands_with_modes_of_length_1(character, window, rigid, keep):
    jump = ReferenceMotion.load(find_resource("config/motions/jump.npz"))
    reference = Reference.of(jump, character, prefix="humanoid/", dt=1.0 / 120.0)
    settings = ControlSettings(window=window, rigid=rigid, unit_modes=True)
    run = LinearSimulation(character, reference, settings, keep_momentum=keep).run()
    assert run.fallen is None and run.worst < (0.04 if keep else 0.13)


@pytest.mark.slow
@pytest.mark.parametrize("keep, lands", [(True, True), (False, False)])
def test_the_jump_lands_when_the_momentum_is_kept_and_all_joints_follow(character, keep, lands):
    jump = ReferenceMotion.load(find_resource("config/motions/jump.npz"))
    reference = Reference.of(jump, character, prefix="humanoid/", dt=1.0 / 120.0)
    settings = ControlSettings(window=12, threshold=0.0, rigid=TUNED)
    run = LinearSimulation(character, reference, settings, keep_momentum=keep).run()
    assert (run.fallen is None and run.worst < 0.1) == lands


@pytest.mark.slow
@pytest.mark.parametrize("window", [16, 36])
@pytest.mark.parametrize("low_window, lands", [(8, True), (None, False)])
def test_the_jump_lands_with_long_windows_of_contact_forces_and_a_short_one_of_low_modes(
    character, window, low_window, lands
):
    jump = ReferenceMotion.load(find_resource("config/motions/jump.npz"))
    reference = Reference.of(jump, character, prefix="humanoid/", dt=1.0 / 120.0)
    settings = ControlSettings(window=window, rigid=TUNED, unit_modes=True, low_window=low_window)
    run = LinearSimulation(character, reference, settings).run()
    assert (run.fallen is None and run.worst < 0.12) == lands


def test_low_modes_are_planned_over_their_own_window(character, squat):
    def ended(window, low_window):
        settings = ControlSettings(window=window, rigid=TUNED, low_window=low_window)
        return LinearSimulation(character, squat, settings).run(steps=40).q[-1]

    whole = ended(24, None)
    np.testing.assert_array_equal(ended(24, 24), whole)
    np.testing.assert_array_equal(ended(24, 60), whole)  # not longer than that of the forces
    assert np.abs(ended(24, 8)[7:] - whole[7:]).max() > 1e-3


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


def hanging():
    """Return the humanoid held by its hands, and its chin-up."""
    scene = load_scenario("stand").scene
    motion = ReferenceMotion.load(find_resource("config/motions/chin_up.npz"))
    character = ModalCharacter(scene, [f"humanoid/{surface}" for surface in motion.surfaces], scene.q0)
    return character, Reference.of(motion, character, prefix="humanoid/", dt=1.0 / 120.0)


def test_hands_hold_their_places_and_carry_the_weight():
    character, chin_up = hanging()
    run = LinearSimulation(character, chin_up, ControlSettings(window=24)).run(steps=140)
    places = [character.linearise(q).points for q in run.q[::20]]
    assert np.abs(np.array(places) - places[0]).max() < 1e-4
    assert run.worst < 0.02 and not run.unsolved
    assert chin_up.q[140, 2] - chin_up.q[0, 2] > 0.03 and run.q[-1, 2] - run.q[0, 2] > 0.03
    dynamics = character.linearise(run.q[139])
    rates = modes_of(dynamics, threshold=100.0).inverse[:3] @ (run.v[140] - run.v[139])
    weight = np.array([0.0, 0.0, 9.81 * dynamics.mass])
    np.testing.assert_allclose(120.0 * np.sqrt(dynamics.mass) * rates, run.contact_forces[139] - weight, atol=1e-6)


def test_hands_and_feet_together_are_refused(squat):
    scene = load_scenario("stand").scene
    character = ModalCharacter(scene, ["humanoid/left_sole", "humanoid/left_grip"], scene.q0)
    with pytest.raises(MultiQpError, match="not both"):
        LinearSimulation(character, squat, ControlSettings())


@pytest.mark.slow
def test_the_chin_up_is_tracked_also_after_a_push():
    character, chin_up = hanging()
    simulation = LinearSimulation(character, chin_up, ControlSettings(window=24, rigid=TUNED))
    assert simulation.run().worst < 0.05
    push = Push("humanoid/torso", (0.0, 175.0, 0.0), start=330, steps=20)
    assert simulation.run(pushes=(push,), reaction=0.2).errors[-1] < 0.1


@pytest.mark.slow
def test_the_swing_has_its_amplitude_when_the_momentum_is_kept():
    scene = load_scenario("stand").scene
    motion = ReferenceMotion.load(find_resource("config/motions/swing.npz"))
    character = ModalCharacter(scene, [f"humanoid/{surface}" for surface in motion.surfaces], scene.q0)
    swing = Reference.of(motion, character, prefix="humanoid/", dt=1.0 / 120.0)
    settings = ControlSettings(window=24, rigid=TUNED)
    assert LinearSimulation(character, swing, settings, keep_momentum=True).run().worst < 0.02
