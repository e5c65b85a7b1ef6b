"""Standing before the first plan, and activation of received plans."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from motion_generation.plan_following import STILL, CompiledPlan, PlanFollower
from motion_generation.planned_states import with_states
from motion_generation.planned_tasks import com_of
from motion_generation.standing import WAITING, ready_for_plans, touching
from motion_generation.state_parts import HALT
from multi_qp_controller.controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.contact_sequence import ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import State
from multi_qp_simulator.integrator import Integrator

SCENE = Path(__file__).resolve().parents[1] / "multi_qp_ros" / "one_step.yaml"
FEET = ("left_sole_on_ground_floor", "right_sole_on_ground_floor")


@pytest.fixture(scope="module")
def scenario():
    return ready_for_plans(load_scenario(SCENE))


@pytest.fixture
def state(scenario):
    return scenario.scene.initial_state()


def follower_of(scenario):
    return PlanFollower(scenario, Controller)


def plan_of(scenario, q, *, shift=0.0, lean=0.0, feet=2):
    """Return a plan that stands on the spot: contacts, moved by `shift` [m]; the centre of mass, by `lean` [m]."""
    contacts = [
        replace(contact, pose=pin.SE3(np.eye(3), np.array([shift, 0.0, 0.0])) * contact.pose)
        for contact in touching(scenario, q)[:feet]
    ]
    com = com_of(scenario.scene, "humanoid", q)
    phase = ContactPhase(tuple(contacts), "here", {"humanoid": com})
    sequence = ContactSequence((phase,), {}, "here")
    return CompiledPlan(with_states(scenario, sequence), sequence, com + [lean, 0.0, 0.0])


def controller_after(follower, stamp, make, state, controller):
    """Offer a plan and return the controller to continue with once it has been processed."""
    follower.offer(stamp, make)
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        found = follower.controller_for(state, controller)
        if found is not None or stamp in (follower.status.plan, follower.status.refused):
            return found
        time.sleep(0.01)
    raise AssertionError("no result")


def test_all_contacts_of_any_plan_have_a_name(scenario):
    assert set(scenario.spec.contacts) == {*FEET, "left_sole_on_step_top", "right_sole_on_step_top"}
    assert scenario.spec.states[WAITING].contacts == list(FEET)


def test_limbs_touch_faces_that_they_lie_on(scenario, state):
    q = state.q.copy()
    assert [contact.name for contact in touching(scenario, q)] == list(FEET)
    q[2] += 0.006
    assert touching(scenario, q) == ()
    tilted = state.q.copy()
    tilted[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.1, 0.0)).coeffs()
    assert touching(scenario, tilted) == ()


def test_it_maintains_its_configuration_anywhere(scenario):
    world, controller = Integrator(scenario), Controller(scenario)
    q = world.state.q.copy()
    q[:2] += [-0.2, 0.3]  # not where the scenario begins
    world.state = State(q, np.zeros_like(world.state.v))
    for tick in range(40):
        command = controller.step(world.state, 0.01 * tick)
        world.step(command, 0.01)
        assert command.diagnostics.status == "ok"
    assert controller.machine.finished and controller.machine.present.name == WAITING
    np.testing.assert_allclose(world.state.q, q, atol=2e-3)


def test_a_plan_that_begins_here_is_activated(scenario, state):
    follower, controller = follower_of(scenario), Controller(scenario)
    controller.step(state, 0.0)
    found = controller_after(follower, 5, lambda: plan_of(scenario, state.q), state, controller)
    assert found is not None and found.machine.present.name == "stabilise"
    assert (follower.status.plan, follower.status.waiting, follower.status.standing) == (5, False, False)


def test_torques_are_continuous_when_a_plan_is_activated(scenario):
    world, follower, controller = Integrator(scenario), follower_of(scenario), Controller(scenario)
    for tick in range(20):
        before = controller.step(world.state, 0.01 * tick)
        world.step(before, 0.01)
    planned = controller_after(follower, 5, lambda: plan_of(scenario, world.state.q), world.state, controller)
    after = planned.step(world.state, 0.0)
    assert np.abs((after.tau - before.tau) / scenario.scene.torque_limits).max() < 2e-3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"shift": 0.02}, "away from where humanoid/left_sole is"),
        ({"feet": 1}, "does not begin with the contacts that are on"),
        ({"lean": 0.03}, "away from the centre of mass"),
    ],
)
def test_a_plan_that_begins_elsewhere_is_refused(scenario, state, fault, message):
    follower, controller = follower_of(scenario), Controller(scenario)
    controller.step(state, 0.0)
    assert controller_after(follower, 5, lambda: plan_of(scenario, state.q, **fault), state, controller) is None
    assert message in follower.status.reason and follower.status.waiting


def test_a_plan_that_cannot_be_made_is_refused(scenario, state):
    def fail():
        raise MultiQpError("nonsense")

    follower, controller = follower_of(scenario), Controller(scenario)
    controller.step(state, 0.0)
    assert controller_after(follower, 5, fail, state, controller) is None
    assert follower.status.refused == 5 and follower.status.reason == "nonsense"


def test_no_plan_is_activated_in_motion_or_in_the_middle_of_a_plan(scenario, state):
    follower, controller = follower_of(scenario), Controller(scenario)
    controller.step(state, 0.0)
    busy = controller_after(follower, 5, lambda: plan_of(scenario, state.q), state, controller)
    busy.step(state, 0.0)
    follower.offer(6, lambda: plan_of(scenario, state.q))
    while follower._made is None:
        time.sleep(0.01)
    assert follower.controller_for(state, busy) is None and follower.status.refused == 0
    moving = State(state.q, np.full_like(state.v, 0.2))
    busy.machine.enter("done", 1.0)
    assert follower.controller_for(moving, busy) is None and follower.status.standing
    assert follower.controller_for(state, busy) is not None and follower.status.plan == 6


def test_a_waiting_character_stands_on_the_touching_contacts(scenario, state):
    q = state.q.copy()
    q[0] += 0.27
    q[2] += 0.05
    follower, controller = follower_of(scenario), Controller(scenario)
    controller.step(State(q, state.v), 0.0)
    found = follower.controller_for(State(q, state.v), controller)
    assert found.scenario.spec.states[WAITING].contacts == ["left_sole_on_step_top", "right_sole_on_step_top"]
    assert follower.controller_for(State(q, state.v), found) is None


def test_a_halt_ends_a_plan_at_a_stance_from_which_another_can_begin(scenario, state):
    contacts = touching(scenario, state.q)
    com = com_of(scenario.scene, "humanoid", state.q)
    stances = [
        ContactPhase(on, str(number), {"humanoid": com}) for number, on in enumerate((contacts, contacts[:1], contacts))
    ]
    walks = with_states(scenario, ContactSequence(tuple(stances), {}, "a step on the spot"))
    world, controller = Integrator(walks), Controller(walks)
    for tick in range(400):
        command = controller.step(world.state, 0.01 * tick)
        world.step(command, 0.01)
        if tick == 5:
            assert controller.machine.present.name == "shift_00" and not controller.machine.finished
            controller.command(HALT)
        if controller.machine.finished:
            break
    assert controller.machine.visited == ["shift_00", "halt_00", "halted_00"]
    assert set(controller.contacts) == set(FEET)
    assert command.diagnostics.status == "ok" and np.abs(world.state.v).max() < STILL
