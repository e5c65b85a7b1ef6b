"""State machine: transitions, and continuation of contacts and tasks over them."""

from __future__ import annotations

import pinocchio as pin
import pytest

from multi_qp_controller.controller import Controller
from multi_qp_controller.state_machine.state_machine import StateMachine
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_controller.tasks import JointVelocityTask
from multi_qp_scene.scene import State

LIMIT = '<limit lower="-2" upper="2" velocity="5" effort="60"/>'


def on(name):
    return {"type": "command", "name": name}


def turn(joint, target, **options):
    return {"type": "joint_angle", "joint": f"arm/{joint}", "target": target, "stiffness": 100, **options}


@pytest.fixture
def arm(workshop):
    """Return a scenario of three states: one task continues, one is overridden, one is removed."""
    workshop.chain("chain", [{"extra": LIMIT}, {"extra": LIMIT}, {"extra": LIMIT}])
    return workshop.load(
        subsystems={"arm": {"model": "chain"}},
        tasks={
            "stays": turn("joint0", 1.0, duration=2.0),
            "changes": turn("joint1", 0.5, duration=1.0),
            "goes": turn("joint2", -0.5),
        },
        initial_state="one",
        states={
            "one": {"transitions": [{"to": "two", "when": on("next")}, {"to": "three", "when": on("skip")}]},
            "two": {
                "tasks": {"changes": turn("joint1", -0.5, duration=1.0), "goes": None},
                "transitions": [{"to": "one", "when": on("back")}, {"to": "three", "when": on("next")}],
                "timeout": 2.0,
            },
            "three": {"hold": 1.0, "tasks": {"goes": turn("joint2", 0.7)}},
        },
    )


class Walk:
    def __init__(self, scenario, dt=0.01):
        self.controller, self.dt, self.time = Controller(scenario, dt=dt), dt, 0.0
        self.model, self.state = scenario.scene.model, scenario.scene.initial_state()

    def go(self, steps):
        for _ in range(steps):
            self.command = self.controller.step(self.state, self.time)
            assert self.command.diagnostics.status == "ok", self.command.diagnostics.message
            v = self.state.v + self.dt * self.command.a
            self.state = State(pin.integrate(self.model, self.state.q, self.dt * v), v)
            self.time += self.dt
        return self.command


def context(scenario, machine, time):
    return TransitionContext(scenario, None, {}, time, machine.entered, machine.commands)


def test_first_transition_that_holds_is_taken(arm):
    machine = StateMachine(arm)
    assert machine.due(context(arm, machine, 1.0)) is None
    machine.command("skip")
    machine.command("next")
    assert machine.due(context(arm, machine, 2.0)) == "two"
    machine.enter("two", 2.0)
    assert machine.present.name == "two"
    assert machine.entered == 2.0
    assert machine.visited == ["one", "two"]


def test_transition_consumes_pending_commands(arm):
    machine = StateMachine(arm)
    machine.command("next")
    machine.command("next")
    assert machine.commands == {"next"}
    machine.enter("two", 0.0)
    assert machine.commands == frozenset()
    assert machine.due(context(arm, machine, 1.0)) is None


def test_command_stays_pending_until_a_state_has_a_transition_for_it(arm):
    machine = StateMachine(arm)
    machine.command("back")
    assert machine.due(context(arm, machine, 0.0)) is None
    assert machine.commands == {"back"}


def test_state_without_transitions_is_final(arm):
    machine = StateMachine(arm)
    assert not machine.finished
    machine.enter("three", 5.0)
    assert machine.finished
    assert not machine.timed_out(100.0)


def test_state_times_out(arm):
    machine = StateMachine(arm)
    assert not machine.timed_out(100.0)
    machine.enter("two", 5.0)
    assert not machine.timed_out(7.0)
    assert machine.timed_out(7.01)


def test_tasks_of_a_state_override_those_of_the_scenario(arm):
    machine = StateMachine(arm)
    assert set(machine.present.tasks) == {"stays", "changes", "goes"}
    machine.enter("two", 0.0)
    assert set(machine.present.tasks) == {"stays", "changes"}
    assert machine.present.tasks["changes"].target == -0.5
    assert machine.present.tasks["stays"] is arm.spec.tasks["stays"]


def test_continuing_tasks_are_not_restarted(arm):
    walk = Walk(arm)
    walk.go(50)
    before, speed = walk.controller.tasks, abs(walk.state.v[1])
    walk.controller.command("next")
    command = walk.go(1)
    after = walk.controller.tasks
    assert command.diagnostics.state == "two"
    assert after["stays"] is before["stays"]
    assert after["stays"].started_at == 0.0
    assert after["stays"].error < 0.01  # continues from the present reference
    assert after["changes"] is not before["changes"]
    assert after["changes"].started_at == pytest.approx(0.49)  # entered after the previous tick
    assert after["changes"].error < 1.1 * walk.dt * speed  # starts at the joint angle of that tick
    assert "goes" not in after
    walk.go(160)
    assert walk.state.q[0] == pytest.approx(1.0, abs=0.01)
    assert walk.state.q[1] == pytest.approx(-0.5, abs=0.02)


def test_removed_task_restarts_when_active_again(arm):
    walk = Walk(arm)
    walk.go(5)
    first = walk.controller.tasks["goes"]
    weight, first.weight = first.weight, 7.0  # set by a program, valid until the state is left
    for word in ("next", "back"):
        walk.controller.command(word)
        walk.go(5)
    again = walk.controller.tasks["goes"]
    assert again.started_at == pytest.approx(0.09)
    assert again.weight == weight != 7.0


def test_user_task_is_active_in_all_states(arm):
    walk, mine = Walk(arm), JointVelocityTask("mine", v_index=2, goal=0.0)
    walk.controller.add_task(mine)
    walk.go(2)
    for word in ("next", "next"):
        walk.controller.command(word)
        walk.go(2)
        assert walk.controller.tasks["mine"] is mine
    assert walk.command.diagnostics.finished


def test_continuing_contacts_keep_their_held_pose(box):
    """A contact is held over transitions at the pose at which it was made; one not listed is broken."""
    box.spec.contacts["for a while"] = box.spec.contacts["left_foot"].model_copy()
    box.spec.states["stand"].contacts.append("for a while")
    walk = Walk(box)
    walk.go(40)
    before = dict(walk.controller.contacts)
    assert set(before) == {"left_foot", "right_foot", "box_on_table", "for a while"}
    while walk.command.diagnostics.state == "stand":
        walk.go(1)
    assert set(walk.controller.contacts) == {"left_foot", "right_foot", "box_on_table"}
    assert all(contact is before[name] for name, contact in walk.controller.contacts.items())
    assert set(walk.command.wrenches) == set(walk.controller.contacts)


def test_state_machine_starts_at_the_time_of_the_first_step(arm):
    controller = Controller(arm)
    controller.step(arm.scene.initial_state(), 7.5)
    assert controller.machine.entered == 7.5
    assert controller.tasks["stays"].started_at == 7.5
