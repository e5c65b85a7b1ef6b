"""Transition conditions of every type, true and false."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pinocchio as pin
import pytest
from pydantic import TypeAdapter

from multi_qp_controller.controller import Controller
from multi_qp_controller.state_machine import Condition, conditions, register_condition
from multi_qp_controller.state_machine.conditions import make_condition
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_controller.tasks import JointAngleTask
from multi_qp_scene.errors import ArgumentError, MultiQpError
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import State
from multi_qp_scene.schema.conditions import CONDITION_SPECS, AnyConditionSpec, ConditionSpec

ENTERED = 10.0
YES, NO = {"type": "command", "name": "go"}, {"type": "command", "name": "stop"}


def parsed(**condition):
    return TypeAdapter(AnyConditionSpec).validate_python(condition)


def holds(spec, context):
    return make_condition(spec).holds(context)


@pytest.fixture
def context(scenario, lab):
    """Return a factory of transition contexts of the box scenario, with replaced quantities."""
    scene = scenario.scene

    def make(*, time=ENTERED, q=None, v=None, tasks=None, source=scenario):
        state = source.scene.initial_state()
        state = State(state.q if q is None else q, state.v if v is None else v)
        return TransitionContext(
            source, lab.kinematics(source.scene, state), tasks or {}, time, ENTERED, frozenset({"go"})
        )

    make.scene = scene
    return make


def shifted(scene, subsystem, twist):
    """Return q0 with one free-flyer moved by a body twist for 1 s."""
    step = np.zeros(scene.nv)
    first = scene.subsystems[subsystem].v_slice.start
    step[first : first + 6] = twist
    return pin.integrate(scene.model, scene.q0, step)


@pytest.mark.parametrize(("after", "expected"), [(0.0, True), (1.5, True), (1.6, False)])
def test_time(context, after, expected):
    assert holds(parsed(type="time", after=after), context(time=ENTERED + 1.5)) is expected


@pytest.mark.parametrize(
    ("bounds", "time", "expected"),
    [
        ({"error": 0.31}, 13.0, True),
        ({"error": 0.29}, 13.0, False),
        ({"speed": 0.51}, 13.0, True),
        ({"speed": 0.49}, 13.0, False),
        ({"error": 0.31, "speed": 0.51}, 13.0, True),
        ({"error": 0.31, "speed": 0.49}, 13.0, False),
        ({"error": 0.31}, 11.0, False),  # the reference has not ended
    ],
)
def test_task(context, lab, bounds, time, expected):
    scene = context.scene
    q, v = scene.q0.copy(), np.zeros(scene.nv)
    q[20], v[19] = 0.3, 0.5
    now = context(time=time, q=q, v=v)
    task = JointAngleTask("arm", joint=ScalarJoint(q_index=20, v_index=19), goal=0.0, duration=2.0)
    task.start(lab.kinematics(scene, scene.initial_state()), ENTERED)
    lab.rows(task, now.kinematics, ENTERED + 5.0)
    now = context(time=time, q=q, v=v, tasks={"arm": task})
    assert holds(parsed(type="task", task="arm", **bounds), now) is expected
    assert holds(parsed(type="reference_done", task="arm"), now) is (time >= ENTERED + 2.0)


@pytest.mark.parametrize(("margin", "expected"), [(0.0, True), (0.02, True), (0.3, False)])
def test_com_inside(context, margin, expected):
    condition = parsed(type="com_inside", subsystems=["humanoid"], contacts=["left_foot", "right_foot"], margin=margin)
    assert holds(condition, context()) is expected


def test_com_inside_uses_the_named_subsystems_and_contacts(context):
    feet = ["left_foot", "right_foot"]
    assert not holds(parsed(type="com_inside", subsystems=["box"], contacts=feet), context())
    assert not holds(parsed(type="com_inside", subsystems=["humanoid"], contacts=["left_foot"]), context())
    assert holds(parsed(type="com_inside", subsystems=["box"], contacts=["box_on_table"]), context())


@pytest.mark.parametrize(("speed", "inside"), [(0.2, True), (0.35, True), (0.45, False)])
def test_com_inside_tests_the_capture_point_on_demand(context, speed, inside):
    """The whole robot moves ahead: c + v √(h / g) is 10 cm ahead of the soles' middle at 0.37 m/s."""
    v = np.zeros(context.scene.nv)
    v[context.scene.subsystems["humanoid"].v_slice.start] = speed
    feet = {"subsystems": ["humanoid"], "contacts": ["left_foot", "right_foot"]}
    assert holds(parsed(type="com_inside", capture_point=True, **feet), context(v=v)) is inside
    assert holds(parsed(type="com_inside", **feet), context(v=v))


@pytest.mark.parametrize(
    ("twist", "speed", "expected"),
    [
        ((0, 0, 0, 0, 0, 0), 0.0, True),
        ((0, 0, 0.0009, 0, 0, 0), 0.0, True),
        ((0, 0, 0.0011, 0, 0, 0), 0.0, False),
        ((0.05, 0.03, 0, 0, 0, 1.0), 0.0, True),  # anywhere on the table, at any heading
        ((0, 0, 0, 0.03, 0, 0), 0.0, False),
        ((0, 0, 0, 0, 0, 0), 0.019, True),
        ((0, 0, 0, 0, 0, 0), 0.021, False),
    ],
)
def test_touching(context, twist, speed, expected):
    scene = context.scene
    v = np.zeros(scene.nv)
    v[scene.subsystems["box"].v_slice.start + 2] = speed
    now = context(q=shifted(scene, "box", twist), v=v)
    assert holds(parsed(type="touching", contact="box_on_table"), now) is expected


def test_touching_requires_small_angular_velocity(context):
    scene = context.scene
    v = np.zeros(scene.nv)
    v[scene.subsystems["box"].v_slice.start + 5] = 0.21
    assert not holds(parsed(type="touching", contact="box_on_table"), context(v=v))
    wide = parsed(type="touching", contact="box_on_table", speed=0.5)
    assert holds(wide, context(v=v))


@pytest.mark.parametrize(
    ("height", "time", "speed", "more", "expected"),
    [
        (0.0, ENTERED, 0.0, {}, True),
        (0.004, ENTERED + 0.5, 0.0, {}, True),
        (0.004, ENTERED + 0.1, 0.0, {}, False),  # at the beginning of a motion
        (0.004, ENTERED + 0.5, 0.002, {}, False),
        (0.004, ENTERED + 0.5, 0.0, {"distance": 0.001}, False),
        (0.006, ENTERED + 0.5, 0.0, {}, False),  # beyond the contact's tolerance
    ],
)
def test_surfaces_at_rest_within_tolerance_touch(context, height, time, speed, more, expected):
    v = np.zeros(context.scene.nv)
    v[context.scene.subsystems["box"].v_slice.start + 2] = speed
    now = context(q=shifted(context.scene, "box", (0, 0, height, 0, 0, 0)), v=v, time=time)
    assert holds(parsed(type="touching", contact="box_on_table", **more), now) is expected


def test_surfaces_at_rest_do_not_touch_before_the_references_have_ended(context, lab):
    task = JointAngleTask("arm", joint=ScalarJoint(q_index=20, v_index=19), goal=0.0, duration=2.0)
    task.start(lab.kinematics(context.scene, context.scene.initial_state()), ENTERED)
    q = shifted(context.scene, "box", (0, 0, 0.004, 0, 0, 0))
    for time, expected in ((ENTERED + 1.0, False), (ENTERED + 2.1, True)):
        now = context(q=q, time=time, tasks={"arm": task})
        assert holds(parsed(type="touching", contact="box_on_table"), now) is expected


def test_a_point_that_rotates_touches(workshop, context):
    workshop.block("leg", surfaces={"foot": {"type": "point", "link": "body", "rpy": [np.pi, 0, 0]}})
    workshop.block("plate", surfaces={"top": {"type": "planar", "link": "body", "size": [1, 1]}})
    scenario = workshop.load(
        subsystems={"leg": {"model": "leg"}, "plate": {"model": "plate"}},
        contacts={"stands": {"surfaces": ["leg/foot", "plate/top"]}},
    )
    v = np.zeros(scenario.scene.nv)
    v[scenario.scene.subsystems["leg"].v_slice.start + 4] = 1.0
    assert holds(parsed(type="touching", contact="stands"), context(v=v, source=scenario))


@pytest.mark.parametrize(("lift", "expected"), [(0.0, False), (0.049, False), (0.051, True)])
def test_separated(context, lift, expected):
    now = context(q=shifted(context.scene, "box", (0, 0, lift, 0, 0, 0)))
    assert holds(parsed(type="separated", contact="box_on_table", distance=0.05), now) is expected


def test_grasp_gap_is_invariant_about_the_handle_axis(workshop, context):
    surface = {"type": "grasp", "link": "body", "radius": 0.02, "length": 0.08}
    workshop.block("hand", surfaces={"grip": surface})
    workshop.block("bar", surfaces={"handle": surface | {"encloses": False}})
    scenario = workshop.load(
        subsystems={"hand": {"model": "hand"}, "bar": {"model": "bar"}},
        contacts={"hold": {"surfaces": ["hand/grip", "bar/handle"]}},
    )
    closed = parsed(type="touching", contact="hold")
    for twist, expected in (
        ((0, 0, 0, 0, 0, 0), True),
        ((0.3, 0, 0, 2.0, 0, 0), True),  # along the handle axis and about it
        ((0, 0.002, 0, 0, 0, 0), False),
        ((0, 0, 0, 0, 0, 0.1), False),
        ((0, 0, 0, 0, 0, np.pi), True),  # either direction of the axis
    ):
        q = shifted(scenario.scene, "hand", twist)
        assert holds(closed, context(q=q, source=scenario)) is expected, twist


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"above": 0.5}, True),
        ({"above": 0.53}, False),
        ({"below": 0.53}, True),
        ({"below": 0.5}, False),
        ({"above": 0.5, "below": 0.53}, True),
        ({"above": 0.1, "below": 0.2}, False),
    ],
)
def test_joint(context, bounds, expected):
    assert holds(parsed(type="joint", joint="humanoid/R_KNEE_P", **bounds), context()) is expected


def test_joint_condition_on_a_continuous_joint(workshop, context):
    workshop.chain("wheel", [{"type": "continuous", "extra": '<limit velocity="3" effort="5"/>'}])
    scenario = workshop.load(subsystems={"wheel": {"model": "wheel"}})
    now = context(q=np.array([np.cos(-2.0), np.sin(-2.0)]), source=scenario)
    assert holds(parsed(type="joint", joint="wheel/joint0", above=-2.1, below=-1.9), now)
    assert not holds(parsed(type="joint", joint="wheel/joint0", above=-1.9), now)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (YES, True),
        (NO, False),
        ({"type": "all", "of": [YES, YES]}, True),
        ({"type": "all", "of": [YES, NO]}, False),
        ({"type": "all", "of": []}, True),
        ({"type": "any", "of": [NO, YES]}, True),
        ({"type": "any", "of": [NO, NO]}, False),
        ({"type": "any", "of": []}, False),
        ({"type": "not", "of": NO}, True),
        ({"type": "not", "of": YES}, False),
        ({"type": "not", "of": {"type": "any", "of": [NO, {"type": "all", "of": [YES, NO]}]}}, True),
        ({"type": "all", "of": [{"type": "not", "of": NO}, {"type": "any", "of": [NO, YES]}]}, True),
    ],
)
def test_nesting(context, condition, expected):
    assert holds(parsed(**condition), context()) is expected


class AboveConditionSpec(ConditionSpec):
    type: Literal["above"]
    frame: str
    height: float

    def check(self, scenario, key, state):
        scenario.known((*key, "frame"), "link or surface", self.frame, scenario.names.frames)


class AboveCondition(Condition):
    Spec = AboveConditionSpec

    def holds(self, now):
        frame = now.scenario.scene.frame_id(self.spec.frame)
        return bool(now.kinematics.pose(frame).translation[2] >= self.spec.height)


@pytest.fixture
def registered():
    register_condition(AboveCondition)
    yield
    del CONDITION_SPECS.models["above"], conditions._BY_SPEC[AboveConditionSpec]
    CONDITION_SPECS.rebuild()


def lifting(workshop, when):
    """Return a scenario with a block that is at rest, and a transition from its first state."""
    workshop.block("block")
    return workshop.load(
        subsystems={"block": {"model": "block", "pose": {"xyz": [0.0, 0.0, 1.0]}}},
        initial_state="wait",
        states={"wait": {"transitions": [{"to": "end", "when": when}]}, "end": {}},
    )


ABOVE = {"type": "above", "frame": "block/body", "height": 0.9}


@pytest.mark.parametrize(
    ("when", "state"),
    [
        (ABOVE, "end"),
        (ABOVE | {"height": 1.1}, "wait"),
        ({"type": "not", "of": {"type": "all", "of": [ABOVE | {"height": 1.1}, NO]}}, "end"),
    ],
)
def test_a_registered_condition_is_used_from_a_file(registered, workshop, when, state):
    scenario = lifting(workshop, when)
    controller = Controller(scenario)
    controller.step(scenario.scene.initial_state(), 0.0)
    controller.post_update()
    assert controller.machine.state == state
    again = type(scenario.spec).model_validate_json(scenario.spec.model_dump_json(by_alias=True))
    assert again == scenario.spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame": "block/bodi"}, "unknown link or surface 'block/bodi'"),
        ({"hight": 1.0}, "hight"),
        ({"type": "abov"}, "above"),
    ],
)
def test_mistakes_in_a_registered_condition_are_reported_with_their_place(registered, workshop, change, message):
    with pytest.raises(MultiQpError) as error:
        lifting(workshop, {"type": "any", "of": [NO, ABOVE | change]})
    assert message in str(error.value) and ".yaml:" in str(error.value)


def test_only_conditions_of_a_new_type_can_be_registered():
    class SameType(AboveConditionSpec):
        type: Literal["time"]

    class OtherTime(AboveCondition):
        Spec = SameType

    for wrong, message in (
        (5, "condition: expected a class of conditions"),
        (Condition, "expected a subclass of Condition with a `Spec`"),
        (OtherTime, "the type 'time' is TimeConditionSpec already"),
    ):
        with pytest.raises(ArgumentError) as error:
            register_condition(wrong)
        assert message in str(error.value)


def test_every_type_of_condition_has_its_class():
    assert {one for one in CONDITION_SPECS.models.values()} == conditions._BY_SPEC.keys()
