"""Saved controller state: a restored controller returns the same commands, bit for bit."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_qp_controller import Controller
from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller_state import TickInput
from multi_qp_controller.references.bezier import BezierPose
from multi_qp_controller.references.random import RandomPoints, RandomPose
from multi_qp_controller.references.references import (
    MinimumJerkPose,
    MovablePose,
    PoseReference,
    RestingPose,
)
from multi_qp_controller.tasks import JointAngleTask
from multi_qp_ros.recording.codec import decode_arrays, encode_json
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.stateful import conformed, plain
from multi_qp_simulator import Integrator

PARAMETERS = {"box": {"path.duration": 2.0}}
DT = {"box": 0.02, "door": 0.02, "king": None}


@cache
def loaded(name: str) -> Scenario:
    """Return a scenario for restored controllers only, as it holds the state of its loads."""
    return load_scenario(name, parameters=PARAMETERS.get(name))


@cache
def restored(name: str) -> Controller:
    return Controller(loaded(name), dt=DT[name])


def ticks(scenario: Scenario, duration: float, *, dt: float | None = None) -> Iterator[tuple[TickInput, Command]]:
    controller, world = Controller(scenario, dt=dt), Integrator(scenario)
    controller.records_input = True
    for tick in range(round(duration / controller.dt)):
        scenario.scene.loads.advance(tick * controller.dt)
        command = controller.step(world.state, tick * controller.dt)
        assert controller.last_input is not None
        yield controller.last_input, command
        world.step(command, controller.dt)


@cache
def recorded(name: str, duration: float) -> list[tuple[TickInput, Command]]:
    return list(ticks(load_scenario(name, parameters=PARAMETERS.get(name)), duration, dt=DT[name]))


def assert_same(found: Command, expected: Command) -> None:
    assert found.diagnostics.status is expected.diagnostics.status
    assert found.diagnostics.state == expected.diagnostics.state
    assert found.diagnostics.slack == expected.diagnostics.slack
    assert found.tau.tobytes() == expected.tau.tobytes()
    assert found.a.tobytes() == expected.a.tobytes()
    assert {n: w.tobytes() for n, w in found.wrenches.items()} == {n: w.tobytes() for n, w in expected.wrenches.items()}


@pytest.mark.parametrize(("name", "duration"), [("box", 9.0), ("king", 4.0), ("door", 2.5)])
@given(data=st.data())
@settings(max_examples=20)
def test_any_tick_is_reproduced_from_its_input(name, duration, data) -> None:
    run = recorded(name, duration)
    given_, command = run[data.draw(st.integers(0, len(run) - 1), label="tick")]
    controller = restored(name)
    controller.set_state(given_.controller_state)
    assert_same(controller.step(given_.state, given_.time), command)


def test_new_controller_reproduces_ticks_from_their_input() -> None:
    run = recorded("box", 9.0)
    for given_, command in run[::150]:
        controller = Controller(loaded("box"), dt=DT["box"])
        controller.set_state(given_.controller_state)
        assert_same(controller.step(given_.state, given_.time), command)


def test_restored_controller_continues_equally() -> None:
    """Over state transitions, so that the state of the restored controller is updated correctly as well."""
    run = recorded("box", 9.0)
    changes = [k for k in range(1, len(run)) if run[k][1].diagnostics.state != run[k - 1][1].diagnostics.state]
    assert len(changes) >= 4
    first = changes[1] - 20
    controller = restored("box")
    controller.set_state(run[first][0].controller_state)
    for given_, command in run[first : changes[3] + 20]:
        loaded("box").scene.loads.advance(given_.time)
        assert_same(controller.step(given_.state, given_.time), command)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "duration"),
    [
        ("acrobats", 30.0),
        ("box", 30.0),
        ("door", 20.0),
        ("funambulist", 10.0),
        ("king", 60.0),
        ("lever", 20.0),
        ("sword", 30.0),
        ("valve", 15.0),
    ],
)
def test_ticks_of_every_scene(name, duration) -> None:
    controller = Controller(load_scenario(name))
    for count, (given_, command) in enumerate(ticks(load_scenario(name), duration)):
        if count % 13 == 0:
            controller.set_state(given_.controller_state)
            assert_same(controller.step(given_.state, given_.time), command)


def test_fallback_ticks_and_recovery_are_reproduced() -> None:
    """Hold, damping and recovery depend on the start of the failure and on the held torques."""
    scenario = load_scenario("box")
    controller, world = Controller(scenario), Integrator(scenario)
    controller.records_input = True
    resumed, statuses = Controller(loaded("box")), set()
    for tick in range(120):
        state, time = world.state, tick * controller.dt
        if 40 <= tick < 90:
            state = State(state.q, np.where(np.arange(len(state.v)) == 8, np.nan, state.v))
        command = controller.step(state, time)
        assert controller.last_input is not None
        resumed.set_state(controller.last_input.controller_state)
        assert_same(resumed.step(state, time), command)
        statuses.add(command.diagnostics.status)
        world.step(command, controller.dt)
    assert statuses == {Status.OK, Status.FALLBACK}


def test_user_commands_targets_and_loads_are_restored(workshop) -> None:
    workshop.block("ball", root="free_flyer")
    workshop.chain("arm", [{"extra": '<limit lower="-2" upper="2" velocity="5" effort="100"/>'}] * 3)
    state = {
        "tasks": {"rest": {"type": "posture", "subsystem": "arm"}},
        "transitions": [{"to": "other", "when": {"type": "command", "name": "go"}}],
    }
    pose = {
        "type": "pose",
        "frame": "arm/link3",
        "axes": ["x", "y", "z"],
        "target": {"frame": "world", "interactive": "hand"},
    }
    other = {"tasks": {"rest": state["tasks"]["rest"], "hand": pose}}
    scenario = workshop.load(
        subsystems={"arm": {"model": "arm"}},
        loads={"bag": {"link": "arm/link3", "mass": 1.0, "min": 0.0, "max": 5.0, "rate": 2.0}},
        initial_state="only",
        states={"only": state, "other": other},
    )
    controller, world = Controller(scenario), Integrator(scenario)
    controller.records_input = True
    inputs = []
    for tick in range(60):
        time = tick * controller.dt
        scenario.scene.loads.advance(time)
        if tick == 10:
            controller.command("go")
            scenario.scene.loads.set_mass("bag", 4.0)
        if tick == 30:
            controller.set_target("hand", np.array([0.3, 0.1, 0.6]))
        command = controller.step(world.state, time)
        inputs.append((controller.last_input, command))
        world.step(command, controller.dt)
    assert controller.machine.present.name == "other"
    again = Controller(load_scenario(scenario.path))
    for given_, command in inputs:
        again.set_state(given_.controller_state)
        assert_same(again.step(given_.state, given_.time), command)


def test_user_tasks_must_be_added_before_restoring() -> None:
    scenario = load_scenario("box")

    def knee() -> JointAngleTask:
        joint = ScalarJoint.of(scenario.scene.model, "humanoid/R_KNEE_P")
        return JointAngleTask("knee", joint=joint, goal=0.8, duration=1.0, weight=5.0)

    controller, world = Controller(scenario), Integrator(scenario)
    controller.add_task(knee())
    for tick in range(20):
        command = controller.step(world.state, tick * controller.dt)
        world.step(command, controller.dt)
    saved, time = controller.get_state(), 20 * controller.dt
    expected = controller.step(world.state, time)
    again = Controller(loaded("box"))
    with pytest.raises(MultiQpError, match="the saved state has a user task 'knee'"):
        again.set_state(saved)
    again = Controller(loaded("box"))
    again.add_task(knee())
    again.set_state(saved)
    assert_same(again.step(world.state, time), expected)


def from_file(reference: PoseReference) -> PoseReference:
    """Return a reference written to a file and read again."""
    return conformed(PoseReference, decode_arrays(json.loads(encode_json(plain(reference)))), None)


def test_references_of_every_kind_are_restored() -> None:
    start, end = pin.SE3.Random(), pin.SE3.Random()
    along = np.array([0.1, 0.2, 0.3])
    points = RandomPoints(start, count=4, seed=3, size=along, centre=along, tolerance=0.1, hold=0.2, timeout=1.0)
    for time, off in ((0.1, 0.03), (0.4, 0.03), (0.5, 0.3)):
        points = points.observed(time, points.point + np.array([0.0, off, 0.0]))
    references = [
        RestingPose(start),
        MovablePose(end),
        MinimumJerkPose(start, end, 2.0, apex=0.1),
        BezierPose(start, end, np.array([along, 2.0 * along]), 2.0),
        RandomPose(start, duration=2.0, position=along, angle=along, seed=5, knots_every=0.5),
        points,
    ]
    assert {type(reference).__name__ for reference in references} <= PoseReference.kinds.keys()
    for reference in references:
        again = from_file(reference)
        for time in (0.0, 0.3, 1.1, 5.0):
            found, expected = again.sample(time), reference.sample(time)
            for name in ("position", "rotation", "velocity", "acceleration"):
                assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), type(reference).__name__
    again = from_file(points)
    assert isinstance(again, RandomPoints) and again.misses == points.misses and len(again.misses) == 1


def test_saved_state_of_another_scenario_is_refused() -> None:
    saved = recorded("door", 2.5)[50][0].controller_state
    with pytest.raises(MultiQpError, match="saved state does not fit this scenario"):
        Controller(loaded("box")).set_state(saved)


def test_recording_the_input_does_not_change_commands() -> None:
    run = recorded("box", 9.0)
    controller, world = Controller(loaded("box"), dt=DT["box"]), Integrator(loaded("box"))
    for tick in range(100):
        command = controller.step(world.state, tick * controller.dt)
        world.step(command, controller.dt)
        assert_same(command, run[tick][1])
    assert controller.last_input is None


COPIES = {
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda controller: pickle.loads(pickle.dumps(controller)),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("closed", [False, True])
def test_running_controller_can_be(how, closed) -> None:
    """Original and copy share no workspace of the solver."""
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.02, closed_loop=scenario.spec.closed_loop if closed else None)
    world, tick = Integrator(scenario), 0
    while controller.machine.present.name != "lift":
        world.step(controller.step(world.state, tick * 0.02), 0.02)
        tick += 1
    other = COPIES[how](controller)
    assert (other.scenario is scenario) is (how == "copied")
    for k in range(tick, tick + 60):
        state = world.state
        command = controller.step(state, k * 0.02)
        assert_same(other.step(state, k * 0.02), command)
        world.step(command, 0.02)
    assert other.machine.visited == controller.machine.visited


def test_copying_a_controller_with_user_tasks_is_refused() -> None:
    scenario = load_scenario("box")
    controller = Controller(scenario)
    joint = ScalarJoint.of(scenario.scene.model, "humanoid/R_KNEE_P")
    controller.add_task(JointAngleTask("knee", joint=joint, goal=0.8))
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(MultiQpError, match=r"user tasks \(knee\) cannot be copied or pickled"):
            make(controller)
    controller.remove_task("knee")
    assert_same(
        copy.copy(controller).step(scenario.scene.initial_state(), 0.0),
        controller.step(scenario.scene.initial_state(), 0.0),
    )
