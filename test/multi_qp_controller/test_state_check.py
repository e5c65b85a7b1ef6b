"""State check: refused entries, and commands for invalid states."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest
from numba.core import event

from multi_qp_controller import Controller
from multi_qp_controller.command import Status
from multi_qp_controller.state_check import StateCheck
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

DT = 0.005
KNEE = "humanoid/R_KNEE_P"


def place(scene, joint):
    made = scene.model.joints[scene.model.getJointId(joint)]
    return made.idx_q, made.idx_v


def corrupted(scene, *, q=(), v=()):
    """Return the initial state with these entries replaced: (entry, value) each."""
    state = scene.initial_state()
    for array, entries in ((state.q, q), (state.v, v)):
        for entry, value in entries:
            array[entry] = value
    return state


def commands(scenario, state, ticks=30):
    """Return the commands for some valid states, then `ticks` corrupted ones."""
    controller, good = Controller(scenario, dt=DT), scenario.scene.initial_state()
    for k in range(3):
        before = controller.step(good, k * DT)
    return before, [controller.step(state, (3 + k) * DT) for k in range(ticks)], controller


@pytest.mark.parametrize("speed", [np.inf, -np.inf, np.nan, 1e6, -1e6, 1e300, 100.0])
def test_implausible_joint_velocity_is_named_and_not_damped(box, speed):
    scene = box.scene
    _, iv = place(scene, KNEE)
    state = corrupted(scene, v=[(iv, speed)])
    before, found, controller = commands(box, state)
    assert {answer.diagnostics.status for answer in found} == {Status.FALLBACK}
    np.testing.assert_array_equal(found[0].tau, before.tau)  # held
    knee = scene.actuated_joint_names.index(KNEE)
    assert found[-1].tau[knee] == 0.0
    message = found[-1].diagnostics.message
    assert message.startswith(f"invalid state: {KNEE} velocity is ")
    if np.isfinite(speed):
        assert "expected at most 50 rad/s" in message  # five times its limit
    assert controller.step(scene.initial_state(), 1.0).diagnostics.status is Status.OK


def test_joints_of_valid_velocity_are_damped_beside_an_invalid_one(box):
    scene = box.scene
    knee = scene.actuated_joint_names.index(KNEE)
    state = corrupted(scene, v=[(scene.actuated_v, 1.0), (scene.actuated_v[knee], 1e6)])
    tau = commands(box, state)[1][-1].tau
    assert tau[knee] == 0.0
    assert (np.delete(tau, knee) < 0.0).all()


@pytest.mark.parametrize("angle", [np.nan, np.inf, -np.inf, 1e10, -1e10, 7.0])
def test_joint_far_outside_its_range_is_refused_by_name(box, angle):
    iq, _ = place(box.scene, KNEE)
    found = commands(box, corrupted(box.scene, q=[(iq, angle)]))[1]
    assert {answer.diagnostics.status for answer in found} == {Status.FALLBACK}
    assert found[0].diagnostics.message.startswith(f"invalid state: {KNEE} position is ")


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0, 0.99, 1.01, 1e8, np.nan])
def test_quaternion_of_wrong_norm_is_refused_by_name(box, factor):
    state = box.scene.initial_state()
    state.q[3:7] *= factor
    found = commands(box, state)[1]
    assert {answer.diagnostics.status for answer in found} == {Status.FALLBACK}
    assert "humanoid/root_joint quaternion has norm" in found[0].diagnostics.message
    assert (np.abs(found[-1].tau) <= box.scene.torque_limits).all()


@pytest.mark.parametrize("factor", [1.0 + 5e-4, 1.0 - 5e-4])
def test_quaternion_is_normalised_in_a_copy(box, factor):
    state = box.scene.initial_state()
    state.q[3:7] *= factor
    given = state.q.copy()
    command = Controller(box, dt=DT).step(state, 0.0)
    exact = Controller(box, dt=DT).step(box.scene.initial_state(), 0.0)
    assert command.diagnostics.status is Status.OK
    np.testing.assert_allclose(command.tau, exact.tau, atol=1e-6)
    np.testing.assert_array_equal(state.q, given)


@pytest.mark.parametrize("entry, value", [(0, 1e6), (2, -1e6), (4, 1e6), (5, np.inf)])
def test_implausible_base_velocity_is_refused(box, entry, value):
    found = commands(box, corrupted(box.scene, v=[(entry, value)]), ticks=2)[1]
    assert found[0].diagnostics.status is Status.FALLBACK
    assert found[0].diagnostics.message.startswith("invalid state: humanoid/root_joint ")


def test_implausible_base_position_is_refused(box):
    found = commands(box, corrupted(box.scene, q=[(0, 1e10)]), ticks=1)[1]
    assert "humanoid/root_joint x position is 1e+10 m, expected -1e+07 to 1e+07 m" in found[0].diagnostics.message


def test_states_within_the_margins_are_accepted(box):
    """Bases at 10 m/s, joints beyond their position limits, and velocities above their limits."""
    scene, check = box.scene, StateCheck(box.scene, box.spec.state_check)
    limits, state = box.scene.limits, box.scene.initial_state()
    for subsystem in scene.subsystems.values():
        state.v[subsystem.v_slice.start : subsystem.v_slice.start + 3] = 10.0
    for beyond in (limits.lower - 2.0, limits.upper + 2.0):
        state.q[limits.q_index] = np.where(np.isfinite(beyond), beyond, 0.0)
        state.v[limits.v_index] = 4.0 * limits.velocity
        usable, fault = check(state)
        assert fault == ""
        np.testing.assert_array_equal(usable.q, state.q)
        np.testing.assert_array_equal(usable.v, state.v)


def test_margins_are_set_by_the_scenario(tmp_path, box):
    text = box.path.read_text().replace("subsystems:", "state_check: {position_margin: 0.1}\nsubsystems:", 1)
    (tmp_path / "box.yaml").write_text(text)
    scenario = load_scenario(tmp_path / "box.yaml")
    iq, _ = place(scenario.scene, KNEE)
    row = scenario.scene.limits.q_index.tolist().index(iq)
    for by, accepted in ((0.09, True), (0.11, False)):
        state = corrupted(scenario.scene, q=[(iq, scenario.scene.limits.upper[row] + by)])
        assert (StateCheck(scenario.scene, scenario.spec.state_check)(state)[1] == "") is accepted


def test_continuous_joint_is_on_the_unit_circle(workshop):
    workshop.chain("wheel", [{"type": "continuous"}])
    scenario = workshop.load(subsystems={"wheel": {"model": "wheel"}})
    check = StateCheck(scenario.scene, scenario.spec.state_check)
    for values, accepted in (((0.6, -0.8), True), ((0.0, 0.0), False), ((3.0, 4.0), False), ((np.nan, 1.0), False)):
        usable, fault = check(State(np.array(values), np.zeros(1)))
        assert (fault == "") is accepted
        assert accepted or "wheel/joint0 (cos, sin) has norm" in fault
        assert accepted or np.isnan(usable.q).all()


def test_prismatic_joint_is_reported_in_metres(workshop):
    workshop.chain("slider", [{"type": "prismatic", "extra": '<limit lower="0" upper="1" velocity="2" effort="9"/>'}])
    scenario = workshop.load(subsystems={"slider": {"model": "slider"}})
    fault = StateCheck(scenario.scene, scenario.spec.state_check)(State(np.array([9.0]), np.array([-11.0])))[1]
    assert "slider/joint0 position is 9 m, expected -3 to 4 m" in fault
    assert "slider/joint0 velocity is -11 m/s, expected at most 10 m/s" in fault


CONVERTED = {
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "big endian": lambda a: a.astype(">f8"),
    "integers": lambda a: np.round(a).astype(int),
    "strided": lambda a: np.repeat(a, 3)[::3],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "read-only": lambda a: np.frombuffer(a.tobytes()),
    "a column of a matrix": lambda a: np.asfortranarray(np.stack([a, a])).T[:, 0],
    "not aligned": lambda a: np.frombuffer(b"x" + a.tobytes(), dtype=np.uint8)[1:].view(np.float64),
    "a list": lambda a: a.tolist(),
    "a subclass": lambda a: a.view(type("Sub", (np.ndarray,), {})),
}


@pytest.mark.parametrize("how", CONVERTED)
def test_all_numeric_types_are_converted_without_compilation(box, how):
    Controller(box, dt=DT).step(box.scene.initial_state(), 0.0)
    compiled, good = [], box.scene.initial_state()

    class Listener(event.Listener):
        def on_start(self, what):
            compiled.append(what)

        def on_end(self, what):
            pass

    converted = State(CONVERTED[how](good.q), CONVERTED[how](good.v))
    listener = Listener()
    event.register("numba:compile", listener)
    try:
        for time in (0, np.float32(0.005), np.int64(1), True):
            command = Controller(box, dt=DT).step(converted, time)
            assert command.diagnostics.status is not Status.FALLBACK or how in ("integers", "float16")
    finally:
        event.unregister("numba:compile", listener)
    assert not compiled


REFUSED = {
    "nothing": (None, "expected a State with q and v, got NoneType"),
    "text": ("state", "expected a State with q and v, got str"),
    "a list": ([0.0], "expected a State with q and v, got list"),
    "no q": (State(None, np.zeros(42)), "q is not a vector of numbers, but NoneType"),
    "text as q": (State("q", np.zeros(42)), "q is not a vector of numbers, but str"),
    "texts as q": (State(["0"] * 44, np.zeros(42)), "q is not a vector of numbers, but an array of <U1"),
    "objects": (State([None] * 44, np.zeros(42)), "q is not a vector of numbers, but list"),
    "ragged": (State([[1.0], [1.0, 2.0]], np.zeros(42)), "q is not a vector of numbers"),
    "complex": (State(np.zeros(44) * 1j, np.zeros(42)), "q is not a vector of numbers, but an array of complex128"),
    "truth values": (State(np.zeros(44, dtype=bool), np.zeros(42)), "q is not a vector of numbers"),
    "a column": (State(np.zeros((44, 1)), np.zeros(42)), "q has the wrong size (44, 1), expected (44,)"),
    "nothing in it": (State(np.zeros(0), np.zeros(42)), "q has the wrong size (0,), expected (44,)"),
    "more": (State(np.zeros(44), np.zeros(43)), "v has the wrong size (43,), expected (42,)"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("recording", [False, True])
def test_invalid_state_object_returns_fallback_with_reason(box, what, recording):
    state, reason = REFUSED[what]
    controller = Controller(box, dt=DT)
    controller.records_input = recording
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(20):
            command = controller.step(state, k * DT)
            assert command.diagnostics.status is Status.FALLBACK
            assert f"invalid state: {reason}" in command.diagnostics.message
            assert not command.tau.any()
    assert controller.step(box.scene.initial_state(), 1.0).diagnostics.status is Status.OK


@pytest.mark.parametrize("time", [None, "now", "0.1", np.nan, np.inf, -np.inf, [0.0, 1.0], object(), 10**400])
def test_invalid_time_returns_fallback_that_holds_then_damps(box, time):
    scene, controller = box.scene, Controller(box, dt=DT)
    good = [controller.step(scene.initial_state(), k * DT) for k in range(3)][-1]
    moving = corrupted(scene, v=[(scene.actuated_v, 1.0)])
    found = [controller.step(moving, time) for _ in range(20)]
    assert {answer.diagnostics.status for answer in found} == {Status.FALLBACK}
    assert found[0].diagnostics.message.startswith("the time is ")
    np.testing.assert_array_equal(found[0].tau, good.tau)
    assert (found[-1].tau < 0.0).all()
    assert np.isfinite([answer.time for answer in found]).all()
    assert controller.step(scene.initial_state(), 1.0).diagnostics.status is Status.OK


def test_caller_may_reuse_its_arrays(box):
    """The disturbance observer uses the state of the last tick, which must be a copy."""
    scene, found = box.scene, []
    for own in (False, True):
        controller = Controller(box, dt=DT, closed_loop=box.spec.closed_loop)
        buffer, random = scene.initial_state(), np.random.default_rng(0)
        for k in range(20):
            v = 0.01 * random.standard_normal(scene.nv)
            buffer.v[:] = v
            state = State(buffer.q.copy(), v) if own else buffer
            command = controller.step(state, k * DT)
        found.append(command.tau)
    np.testing.assert_array_equal(*found)


def test_random_states_never_raise_or_exceed_a_torque_limit(box):
    scene, random, controller = box.scene, np.random.default_rng(1), Controller(box, dt=DT)
    values = np.array([0.0, np.nan, np.inf, -np.inf, 1e6, -1e300, 1e-300, 3.0, -50.0, 7.0])
    good = scene.initial_state()
    for k in range(200):
        q, v = good.q.copy(), good.v.copy()
        for array in (q, v):
            where = random.choice(len(array), random.integers(0, 4), replace=False)
            array[where] = random.choice(values, len(where))
        command = controller.step(State(q, v), k * DT)
        assert np.isfinite(command.tau).all()
        assert (np.abs(command.tau) <= scene.torque_limits * (1 + 1e-9)).all()
        if command.diagnostics.status is not Status.FALLBACK:
            assert np.isfinite(pin.integrate(scene.model, q, DT * (v + DT * command.a))).all()
    for time in (10.0, 100.0, 1000.0):  # tasks that were given up meanwhile are resumed, one after the other
        command = controller.step(good, time)
    assert command.diagnostics.status in (Status.OK, Status.REDUCED)
    assert command.diagnostics.solver_status == "solved"
