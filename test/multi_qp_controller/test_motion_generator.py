"""Motion generators: ownership, contacts in the tick of the decision, faults, checkpoints, registration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest

from multi_qp_controller import Controller, Status
from multi_qp_controller.motion_generator import (
    GENERATORS,
    GeneratorOutput,
    MotionGenerator,
    com_reference,
    make_generator,
    register_generator,
)
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import ArgumentError, MultiQpError
from multi_qp_scene.resources import find_resource
from multi_qp_scene.scene import State
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.generators import GENERATOR_SPECS
from multi_qp_scene.schema.tasks import CoMTaskSpec
from multi_qp_simulator.runner import run_scenario

FEET = ("left_foot", "right_foot")
SCENARIO = """
description: test
subsystems:
  humanoid: {{model: humanoid, posture: half_sitting, place: {{surfaces: [left_sole, right_sole], onto: ground/floor}}}}
environment: {{ground: {{model: ground}}}}
contacts:
  left_foot: {{surfaces: [humanoid/left_sole, ground/floor]}}
  right_foot: {{surfaces: [humanoid/right_sole, ground/floor]}}
tasks:
  posture: {{type: posture, subsystem: humanoid, weight: 0.1}}
initial_state: first
states:
  first:
    contacts: {contacts}
    generators: {generators}
    transitions: [{{to: last, when: {{type: {when}}}}}]
  last: {{contacts: [left_foot, right_foot]}}
"""


class ProbeSpec(GeneratorSpec):
    """Specification of the generator of these tests."""

    type: Literal["probe"]

    @property
    def owned_contacts(self):
        return FEET


class Probe(MotionGenerator):
    """Holds the centre of mass; the tests set what it does."""

    @dataclass
    class Checkpoint:
        com: Annotated[np.ndarray, 3]
        contacts: list[str]

    def __init__(self, name, spec, scenario):
        super().__init__(name, spec, scenario)
        self.tasks["com"] = CoMTaskSpec(type="com", subsystems=["humanoid"], weight=100, stiffness=100)
        self.contacts, self.raises, self.velocity, self.started = list(FEET), None, np.zeros(3), 0
        self.forces, self.extra = "never", {}

    def contact_sets(self):
        return [FEET, FEET[:1]]

    def start(self, now):
        self.started += 1
        self.com = now.kinematics.group(("humanoid",)).com(now.kinematics).copy()

    def update(self, now):
        if self.raises is not None:
            raise self.raises
        self.forces = now.forces
        reference = com_reference(self.com, self.velocity, np.array([0.1, 0.0, 0.0]))
        return GeneratorOutput(tuple(self.contacts), {"com": reference} | self.extra, done=now.time > 0.1)


@pytest.fixture(scope="module", autouse=True)
def registered():
    register_generator(ProbeSpec, Probe)
    yield
    del GENERATORS["probe"], GENERATOR_SPECS.models["probe"]
    GENERATOR_SPECS.rebuild()


@pytest.fixture
def scenario(tmp_path):
    def load(generators="{legs: {type: probe}}", contacts="[]", when="generator, generator: legs"):
        path = tmp_path / "test.yaml"
        path.write_text(SCENARIO.format(generators=generators, contacts=contacts, when=when))
        return load_scenario(path)

    return load


def stepped(scenario, ticks=3):
    controller, state = Controller(scenario), scenario.scene.initial_state()
    for k in range(ticks):
        controller.step(state, 0.005 * k)
    return controller, state


def test_contacts_and_references_apply_in_the_tick_of_their_decision(scenario):
    controller, state = stepped(scenario())
    probe = controller.generator("legs")
    assert probe.started == 1 and tuple(controller.contacts) == FEET
    probe.contacts = list(FEET[:1])
    command = controller.step(state, 0.015)
    assert tuple(command.wrenches) == FEET[:1] and command.diagnostics.status is Status.OK
    probe.contacts = FEET
    assert tuple(controller.step(state, 0.02).wrenches) == FEET
    # at rest at the reference: the acceleration of the reference is all that is left
    task = controller.tasks["legs/com"]
    J, b, kinematics = np.zeros((3, len(command.a))), np.zeros(3), controller.kinematics
    task.compute(kinematics, 0.02, J, b)
    assert np.allclose(b + task.group.com_drift(kinematics), [0.1, 0.0, 0.0], atol=1e-9)


def test_a_task_without_a_reference_has_no_weight(scenario, monkeypatch):
    controller, state = stepped(scenario())
    assert controller.tasks["legs/com"].weight == 100.0
    monkeypatch.setattr(Probe, "update", lambda self, now: GeneratorOutput(FEET))
    controller.step(state, 0.02)
    assert controller.tasks["legs/com"].weight == 0.0


def test_its_end_is_a_condition(scenario):
    result = run_scenario(scenario())
    assert result.succeeded and result.log.time[result.log.state == "first"][-1] == pytest.approx(0.105)


def test_measured_forces_reach_it(scenario):
    controller, state = stepped(scenario())
    assert controller.generator("legs").forces is None
    controller.measure_forces({"left_foot": 120.0})
    controller.step(state, 0.02)
    assert controller.generator("legs").forces == {"left_foot": 120.0}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"raises": ZeroDivisionError("by test")}, "ZeroDivisionError: by test"),
        ({"contacts": ("left_foot", "table")}, "contacts that it does not own: table"),
        ({"extra": {"head": np.zeros(24)}}, "references of unknown tasks: head"),
        ({"extra": {"com": np.zeros(4)}}, "expected 9 finite numbers"),
        ({"velocity": np.array([np.nan, 0.0, 0.0])}, "expected 9 finite numbers"),
    ],
)
def test_a_fault_is_reported_and_its_output_is_held(scenario, caplog, fault, message):
    controller, state = stepped(scenario())
    probe = controller.generator("legs")
    probe.velocity = np.array([0.2, 0.0, 0.0])
    controller.step(state, 0.015)
    before = {name: getattr(probe, name) for name in fault}
    for name, value in fault.items():
        setattr(probe, name, value)
    for k in range(3):
        command = controller.step(state, 0.02 + 0.005 * k)
        assert command.diagnostics.status is Status.REDUCED and message in command.diagnostics.message
        assert tuple(command.wrenches) == FEET
    given = controller.tasks["legs/com"].given.reshape(3, 3)
    assert np.allclose(given[:, 0], probe.com) and not given[:, 1:].any()
    assert caplog.text.count("generator 'legs'") == 1
    for name, value in before.items():
        setattr(probe, name, value)
    assert controller.step(state, 0.05).diagnostics.status is Status.OK


def test_a_fault_in_the_first_tick_keeps_its_contacts(scenario, monkeypatch):
    monkeypatch.setattr(Probe, "start", lambda self, now: 1 / 0)
    controller, state = Controller(scenario()), scenario().scene.initial_state()
    command = controller.step(state, 0.0)
    assert command.diagnostics.status is Status.REDUCED and tuple(command.wrenches) == FEET


def test_a_fault_in_the_first_tick_makes_no_contact_of_surfaces_that_are_apart(scenario, monkeypatch):
    monkeypatch.setattr(Probe, "start", lambda self, now: 1 / 0)
    controller, state = Controller(scenario()), scenario().scene.initial_state()
    model = scenario().scene.model
    q = state.q.copy()
    q[model.joints[model.getJointId("humanoid/R_KNEE_P")].idx_q] += 0.3  # the right foot is lifted
    command = controller.step(State(q, state.v), 0.0)
    assert command.diagnostics.status is Status.REDUCED and tuple(command.wrenches) == FEET[:1]
    controller.measure_forces(dict.fromkeys(FEET, 100.0))
    assert tuple(controller.step(State(q, state.v), 0.005).wrenches) == FEET


def test_a_saved_controller_continues_bit_for_bit(scenario):
    loaded = scenario("{legs: {type: probe}, wave: {type: oscillation, joints: {humanoid/NECK_Y: 0.3}}}")
    controller, state = stepped(loaded)
    controller.generator("legs").contacts = list(FEET[:1])
    controller.step(state, 0.015)
    other = Controller(loaded)
    other.set_state(controller.get_state())
    for k in range(4, 8):
        one, two = controller.step(state, 0.005 * k), other.step(state, 0.005 * k)
        assert np.array_equal(one.tau, two.tau) and tuple(one.wrenches) == tuple(two.wrenches) == FEET[:1]


def test_an_oscillation_is_followed_and_ends(scenario):
    wave = "{wave: {type: oscillation, period: 0.5, joints: {humanoid/NECK_Y: 0.3, humanoid/NECK_P: -0.1}}}"
    loaded = scenario(wave, "[left_foot, right_foot]", "generator, generator: wave")
    result = run_scenario(loaded)
    assert result.succeeded
    neck = result.log.q[:, loaded.scene.model.joints[loaded.scene.model.getJointId("humanoid/NECK_Y")].idx_q]
    assert neck.max() == pytest.approx(0.3, abs=5e-3) and abs(neck[-1]) < 5e-3


@pytest.mark.parametrize(
    ("generators", "contacts", "when", "message"),
    [
        ("{legs: {type: probe}}", "[left_foot]", "time, after: 1", "'left_foot' is owned by the state already"),
        ("{a: {type: probe}, b: {type: probe}}", "[]", "time, after: 1", "is owned by the generator 'a' already"),
        ("{legs: {type: prob}}", "[]", "time, after: 1", "prob"),
        ("{legs: {type: probe}}", "[]", "generator, generator: leg", "unknown generator of this state 'leg'"),
        ("{a/b: {type: probe}}", "[]", "time, after: 1", "must not contain '/'"),
        (
            "{w: {type: oscillation, joints: {humanoid/NECK: 1}}}",
            "[]",
            "time, after: 1",
            "unknown joint 'humanoid/NECK'",
        ),
        ("{g: {type: walking, subsystem: humanoid, feet: [a, b]}}", "[]", "time, after: 1", "unknown contact 'a'"),
        (
            "{g: {type: walking, subsystem: humanoid, feet: [left_foot, right_foot], gait: {duty: 0.95}}}",
            "[]",
            "time, after: 1",
            "must be between `least_swing`",
        ),
        (
            "{g: {type: walking, subsystem: humanoid, feet: [left_foot, right_foot], gait: {offsets: [0, 0.3]}}}",
            "[]",
            "time, after: 1",
            "half a period apart",
        ),
    ],
)
def test_errors_of_a_file(scenario, generators, contacts, when, message):
    with pytest.raises(MultiQpError, match=r"(?s)test.yaml:\d+") as caught:
        scenario(generators, contacts, when)
    assert message in str(caught.value)


def test_errors_of_registration():
    class OtherSpec(GeneratorSpec):
        type: Literal["probe"]

    with pytest.raises(ArgumentError, match="already"):
        register_generator(OtherSpec, Probe)
    with pytest.raises(ArgumentError, match="Literal"):
        register_generator(GeneratorSpec, Probe)
    with pytest.raises(ArgumentError, match="subclasses of GeneratorSpec"):
        register_generator(ProbeSpec, dict)


TWO_STATES = """
    transitions: [{to: again, when: {type: command, name: go}}]
  again:
    contacts: [left_foot, right_foot]
    generators: {arms: {type: antagonistic, subsystem: humanoid, joints: ["*ELBOW*"]}}
"""


def test_an_unknown_generator_is_named(scenario):
    with pytest.raises(ArgumentError, match="legs"):
        Controller(scenario()).generator("leg")


def test_all_shipped_types_can_be_created(scenario):
    loaded = scenario("{legs: {type: probe}}")
    assert GENERATORS.keys() == GENERATOR_SPECS.models.keys()
    wave = GENERATOR_SPECS.models["oscillation"](type="oscillation", joints={"humanoid/NECK_Y": 0.1})
    gait = GENERATOR_SPECS.models["walking"](type="walking", subsystem="humanoid", feet=list(FEET))
    for spec in (wave, gait):
        assert isinstance(make_generator("one", spec, loaded), MotionGenerator)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (("arm", "tension"), 0.5, "unknown generator 'arm'; did you mean 'arms'"),
        (("arms", "tensoin"), 0.5, "unknown setting 'tensoin'; did you mean 'tension'"),
        (("arms", "tension"), 1.5, "expected a number from 0 to 1, got 1.5"),
        (("arms", "tension"), float("nan"), "got nan"),
        (("arms", "tension"), True, "got True"),
    ],
)
def test_settings_outside_their_range_are_refused(setting, value, message):
    controller = Controller(load_scenario("hold"))
    with pytest.raises(ArgumentError, match=message):
        controller.adjust(*setting, value)
    assert not controller.generator("arms").changed


def test_settings_hold_in_the_next_state(tmp_path):
    text = find_resource("config/scenarios/hold.yaml").read_text("utf-8").replace("    hold: 8.0", TWO_STATES)
    (tmp_path / "two.yaml").write_text(text, "utf-8")
    controller = Controller(load_scenario(str(tmp_path / "two.yaml")))
    state = controller.scenario.scene.initial_state()
    controller.step(state, 0.0)
    before = controller.generators["arms"]
    before.adjust("tension", 0.875)
    controller.command("go")
    for tick in range(1, 4):
        controller.step(state, tick * controller.dt)
    assert controller.machine.present.name == "again" and controller.generators["arms"] is not before
    assert controller.generators["arms"].setting("tension") == 0.875
