"""The controller under bad states, impossible demands and tasks of the user's own."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.references import RestingPose
from multi_qp_controller.tasks import JointAngleTask, PoseTask, TsidTask
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tsid_compat import tsid
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import run_scenario

DT = 0.01


class Bench:
    """A controller and the state that its accelerations lead to."""

    def __init__(self, scenario, **options):
        self.scenario, self.scene = scenario, scenario.scene
        self.controller = Controller(scenario, dt=DT, **options)
        self.state, self.time, self.command = self.scene.initial_state(), 0.0, None

    def step(self, seen=None):
        self.command = self.controller.step(self.state if seen is None else seen, self.time)
        self.time += DT
        if self.command.diagnostics.status is not Status.FALLBACK:
            v = self.state.v + DT * self.command.a
            self.state = State(pin.integrate(self.scene.model, self.state.q, DT * v), v)
        return self.command

    def spoiled(self, *, q=None, v=None, value=np.nan):
        """Return the state with one entry spoiled."""
        state = State(self.state.q.copy(), self.state.v.copy())
        if q is not None:
            state.q[q] = value
        if v is not None:
            state.v[v] = value
        return state

    def index(self, joint):
        made = self.scene.model.joints[self.scene.model.getJointId(joint)]
        return made.idx_q, made.idx_v


@pytest.fixture
def bench(box):
    box.spec.states["stand"].transitions.clear()
    return Bench(box)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["q", "v"])
def test_a_state_that_is_not_finite_names_its_joint(bench, where, value):
    bench.step()
    iq, iv = bench.index("humanoid/R_KNEE_P")
    command = bench.step(bench.spoiled(value=value, **({"q": iq} if where == "q" else {"v": iv})))
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message == "the state is not finite: humanoid/R_KNEE_P"
    assert np.isfinite(command.tau).all()
    assert np.isnan(command.a).all()
    assert command.wrenches == {}


def test_the_axis_of_a_free_flyer_and_many_joints_are_named_briefly(bench):
    state = bench.spoiled(v=slice(0, 12))
    message = bench.controller.step(state, 0.0).diagnostics.message
    assert message.startswith("the state is not finite: humanoid/root_joint x, humanoid/root_joint y")
    assert message.endswith("and 7 more")


def test_a_fallback_holds_then_brakes_then_recovers(bench):
    for _ in range(5):
        good = bench.step()
    moving = State(bench.state.q.copy(), bench.state.v.copy())
    iq, _ = bench.index("humanoid/L_ELBOW_P")
    moving.q[iq] = np.nan
    moving.v[bench.scene.actuated_v] = np.linspace(-3.0, 3.0, bench.scene.na)
    hold = bench.scenario.spec.fallback.hold
    for k in range(15):
        tau = bench.step(moving).tau
        if k * DT < hold - 1e-9:
            np.testing.assert_array_equal(tau, good.tau)
            continue
        speed = moving.v[bench.scene.actuated_v]
        assert (tau * speed <= 0.0).all()
        assert (np.abs(tau) <= bench.scene.torque_limits).all()
        assert np.abs(tau).max() > 0.0
    recovered = bench.step()
    assert recovered.diagnostics.status is Status.OK
    assert recovered.diagnostics.message == ""
    assert (np.abs(recovered.tau - good.tau) < 0.05 * bench.scene.torque_limits).all()


def test_the_braking_torque_is_bounded_by_the_limits(bench):
    bench.step()
    mad = bench.spoiled(q=20)
    mad.v[:] = 1e9
    for _ in range(10):
        tau = bench.step(mad).tau
    np.testing.assert_array_equal(tau, -bench.scene.torque_limits)


def test_a_bad_first_state_gives_no_torque(box):
    bench = Bench(box)
    command = bench.step(bench.spoiled(q=9))
    assert command.diagnostics.status is Status.FALLBACK
    assert not command.tau.any()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("first", [True, False])
def test_a_time_that_is_not_finite_is_a_fallback_and_no_more(bench, first):
    if not first:
        bench.step()
    command = bench.controller.step(bench.state, np.nan)
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message == "the time is nan"
    assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("missing", ["q", "v"])
def test_a_state_of_the_wrong_size_is_a_fallback(bench, missing):
    good = bench.step()
    state = State(bench.state.q[:-1], bench.state.v) if missing == "q" else State(bench.state.q, bench.state.v[:-1])
    for _ in range(10):
        command = bench.step(state)
        assert command.diagnostics.status is Status.FALLBACK
        assert "wrong size" in command.diagnostics.message
        assert command.tau.shape == good.tau.shape
        assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


class Failing(Task):
    """Works until it does not."""

    dim = 1

    def compute(self, kinematics, time, J, b):
        if self.broken:
            raise ZeroDivisionError("of the user's own")
        J[0, 9] = 1.0


def test_an_exception_in_a_task_is_a_fallback(bench):
    task = Failing("mine")
    task.broken = False
    bench.controller.add_task(task)
    good = bench.step()
    assert good.diagnostics.status is Status.OK
    task.broken = True
    command = bench.step()
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message == "ZeroDivisionError: of the user's own"
    np.testing.assert_array_equal(command.tau, good.tau)
    task.broken = False
    assert bench.step().diagnostics.status is Status.OK


def test_a_task_that_writes_nan_is_a_fallback(bench):
    class Nan(Failing):
        def compute(self, kinematics, time, J, b):
            b[:] = np.nan

    bench.step()
    bench.controller.add_task(Nan("mine"))
    command = bench.step()
    assert command.diagnostics.status is Status.FALLBACK
    assert np.isfinite(command.tau).all()
    assert "not_finite" in command.diagnostics.message
    bench.controller.remove_task("mine")
    assert bench.step().diagnostics.status is Status.OK


def knee_task(bench, goal=0.6, weight=1000.0, name="knee"):
    iq, iv = bench.index("humanoid/NECK_Y")
    return JointAngleTask(name, joint=ScalarJoint(iq, iv), goal=goal, weight=weight, stiffness=50.0)


@pytest.mark.parametrize("early", [True, False])
def test_a_user_adds_and_removes_a_task(bench, early):
    if not early:
        bench.step()
    bench.controller.add_task(knee_task(bench))
    iq, _ = bench.index("humanoid/NECK_Y")
    for _ in range(100):
        assert bench.step().diagnostics.status is Status.OK
    assert bench.state.q[iq] == pytest.approx(0.6, abs=0.02)
    bench.controller.remove_task("knee")
    for _ in range(200):
        bench.step()
    assert abs(bench.state.q[iq]) < 0.02


def test_a_name_is_given_once(bench):
    bench.step()
    with pytest.raises(ValueError, match="there is a task 'posture' already"):
        bench.controller.add_task(knee_task(bench, name="posture"))
    with pytest.raises(KeyError):
        bench.controller.remove_task("posture")  # the scenario's


def test_a_tsid_task_takes_part(bench):
    inner = tsid.TaskSE3Equality("hand", bench.controller.kinematics.robot, "humanoid/left_palm")
    inner.useLocalFrame(False)
    inner.setKp(np.full(6, 40.0))
    inner.setKd(np.full(6, 2 * np.sqrt(40.0)))
    bench.step()
    goal = bench.controller.kinematics.pose(bench.scene.frame_id("humanoid/left_palm")).copy()
    goal.translation = goal.translation + [0.1, 0.05, 0.1]
    sample = tsid.TrajectorySample(12, 6)
    sample.value(np.concatenate([goal.translation, goal.rotation.flatten(order="F")]))
    inner.setReference(sample)
    bench.controller.add_task(TsidTask("hand", task=inner, weight=1e4))
    for _ in range(200):
        assert bench.step().diagnostics.status is Status.OK
    bench.controller.kinematics.update(bench.state)
    reached = bench.controller.kinematics.pose(bench.scene.frame_id("humanoid/left_palm"))
    assert np.linalg.norm(reached.translation - goal.translation) < 0.01
    assert bench.controller.tasks["hand"].error < 0.05


def test_a_weight_may_change_while_running(bench):
    """The next tick goes by it, also from zero and to zero."""
    bench.controller.add_task(knee_task(bench, weight=1.0))
    bench.step()
    _, iv = bench.index("humanoid/NECK_Y")
    accelerations = []
    for weight in (1.0, 1000.0, 0.0):
        bench.controller.tasks["knee"].weight = weight
        accelerations.append(bench.controller.step(bench.state, bench.time).a[iv])
    light, heavy, none = accelerations
    assert heavy == pytest.approx(50.0 * 0.6, rel=0.1)
    assert none < light < heavy


@pytest.mark.parametrize("solver", ["daqp", "piqp_sparse", "quadprog"])
@pytest.mark.parametrize("formulation", ["full", "reduced"])
def test_limits_give_way_before_the_run_does(box, formulation, solver):
    """A velocity limit that no torque can keep: relaxed, by name, and physics still holds."""
    box.spec.states["stand"].transitions.clear()
    bench = Bench(box, formulation=formulation, solver=solver)
    bench.step()
    v = bench.state.v.copy()
    v[bench.index("humanoid/R_SHOULDER_P")[1]] = -40.0  # five times its limit: no motor stops that in one tick
    command = bench.controller.step(State(bench.state.q, v), bench.time)
    diagnostics = command.diagnostics
    assert diagnostics.status is Status.RELAXED
    assert diagnostics.message.startswith("the QP has no solution (infeasible); ")
    assert diagnostics.message.endswith("were relaxed")
    assert "joint limit humanoid/R_SHOULDER_P" in diagnostics.slack
    assert all(name.startswith(("joint limit", "collision", "balance")) for name in diagnostics.slack)
    assert diagnostics.dynamics_residual < 1e-8
    assert (np.abs(command.tau) <= bench.scene.torque_limits * (1 + 1e-6)).all()
    violated = [entry.row for entry in bench.controller.explain_failure().violated]
    assert any("R_SHOULDER_P" in row for row in violated)
    assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize(("waits", "status"), [(True, Status.RELAXED), (False, Status.FALLBACK)])
def test_the_reserve_is_only_asked_where_the_world_waits(box, waits, status):
    """It takes many times as long as a tick; by then the robot is further from any solution.

    Without kernels there is nothing faster, and the reserve is asked everywhere.
    """
    if not COMPILED:
        status = Status.RELAXED
    box.spec.states["stand"].transitions.clear()
    controller, state = Controller(box, deadline=None if waits else 1e9), box.scene.initial_state()
    assert controller.step(state, 0.0).diagnostics.status is Status.OK
    v = state.v.copy()
    v[box.scene.velocity_names.index("humanoid/R_SHOULDER_P")] = -40.0
    diagnostics = controller.step(State(state.q, v), 0.005).diagnostics
    assert diagnostics.status is status, diagnostics.message
    assert diagnostics.message.startswith("the QP has no solution")
    assert controller.failed_problem is not None
    assert controller.step(state, 0.01).diagnostics.status is Status.OK


def test_a_box_of_200_kg_is_explained():
    scenario = load_scenario("box", parameters={"box.mass": 200.0})
    controllers = []
    result = run_scenario(scenario, dt=0.02, observers=[lambda controller, _: controllers.append(controller)])
    assert not result.succeeded
    assert result.report["qp_failures"] > 0
    explanation = controllers[-1].explain_failure()
    named = " ".join([v.row for v in explanation.violated] + [c.row for c in explanation.conflict])
    assert "infeasible" in explanation.message
    assert "dynamics box/root_joint" in named
    assert "torque limit humanoid/" in named or "friction cone" in named
    assert np.isfinite(result.log.tau).all()


def test_nothing_to_explain_while_all_is_well(bench):
    bench.step()
    assert bench.controller.failed_problem is None
    assert bench.controller.explain_failure() is None


@pytest.mark.parametrize("dt", [0.0, -0.01, np.nan, np.inf])
def test_a_time_step_must_be_positive(scenario, dt):
    with pytest.raises(MultiQpError, match="time step must be a positive number"):
        Controller(scenario, dt=dt)


@pytest.mark.parametrize("option", [{"solver": "nonsense"}, {"formulation": "nonsense"}])
def test_unknown_names_list_the_valid_ones(scenario, option):
    with pytest.raises(MultiQpError, match="unknown .*nonsense.*(daqp|reduced)"):
        Controller(scenario, **option)


def test_diagnostics_count_as_the_paper(bench):
    diagnostics = bench.step().diagnostics
    assert (diagnostics.variables, diagnostics.equalities) == (42 + 30 + 48, 42 + 36)
    assert diagnostics.inequalities >= 30 + 30 + 48
    assert diagnostics.state == "stand"
    assert diagnostics.solver_status == "solved"
    assert 0.0 < diagnostics.solve_ms < diagnostics.tick_ms


def test_wrenches_are_those_of_the_forces(bench):
    command = bench.step()
    assert set(command.wrenches) == {"left_foot", "right_foot", "box_on_table"}
    for name, contact in bench.controller.contacts.items():
        forces = bench.controller.forces[name]
        assert (forces >= 0.0).all()
        np.testing.assert_allclose(contact.W @ forces, command.wrenches[name], atol=1e-9)


def test_two_controllers_answer_alike_bit_for_bit(box):
    one, other = Bench(box), Bench(box)
    for _ in range(20):
        a, b = one.step(), other.step()
        assert (a.tau == b.tau).all()
        assert (a.a == b.a).all()


OUTSIDE = {
    "knee, lower": {"R_KNEE_P": ("lower", 0.05), "L_KNEE_P": ("lower", 0.05)},
    "elbows, upper": {"R_ELBOW_P": ("upper", 0.05), "L_ELBOW_P": ("upper", 0.05)},
    "elbow, lower": {"R_ELBOW_P": ("lower", 0.05)},
    "chest and neck": {"CHEST_P": ("lower", 0.05), "NECK_P": ("upper", 0.05), "NECK_Y": ("lower", 0.05)},
    "shoulder, wrists": {"L_SHOULDER_R": ("lower", 0.05), "L_WRIST_P": ("upper", 0.05), "R_WRIST_R": ("lower", 0.05)},
}


@pytest.mark.parametrize("dt", [0.005, 0.02])
@pytest.mark.parametrize("case", OUTSIDE)
def test_a_start_outside_joint_limits_recovers(box, case, dt):
    scene, limits = box.scene, box.scene.limits
    box.spec.states["stand"].transitions.clear()
    q, rows = scene.q0.copy(), []
    if "knee" in case:  # upright all the same: hips and ankles share what the knees turn
        for joint in ("HIP_P", "ANKLE_P"):
            for side in "RL":
                q[scene.model.joints[scene.model.getJointId(f"humanoid/{side}_{joint}")].idx_q] = 0.034
    for joint, (side, by) in OUTSIDE[case].items():
        iq = scene.model.joints[scene.model.getJointId(f"humanoid/{joint}")].idx_q
        row = limits.q_index.tolist().index(iq)
        rows.append(row)
        q[iq] = limits.lower[row] - by if side == "lower" else limits.upper[row] + by
    controller, state = Controller(box, dt=dt), State(stood_up(scene, q), np.zeros(scene.nv))
    for step in range(round(1.5 / dt)):
        command = controller.step(state, step * dt)
        assert command.diagnostics.status is Status.OK, f"{step * dt:.3f} s: {command.diagnostics.message}"
        v = state.v + dt * command.a
        state = State(pin.integrate(scene.model, state.q, dt * v), v)
    angles = state.q[limits.q_index[rows]]
    assert (angles >= limits.lower[rows] - 1e-6).all()
    assert (angles <= limits.upper[rows] + 1e-6).all()


def stood_up(scene, q):
    """Put the right sole back where it was; the left one then hangs where the legs put it."""
    data, sole = scene.model.createData(), scene.frame_id("humanoid/right_sole")
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    wanted = data.oMf[sole].copy()
    pin.framesForwardKinematics(scene.model, data, q)
    base = wanted * data.oMf[sole].inverse() * pin.XYZQUATToSE3(q[:7])
    q = q.copy()
    q[:7] = pin.SE3ToXYZQUAT(base)
    return q


def test_a_pose_task_of_the_users_own_beats_the_posture(bench):
    frame = bench.scene.frame_id("humanoid/right_palm")
    bench.step()
    goal = bench.controller.kinematics.pose(frame).copy()
    goal.translation = goal.translation + [0.1, -0.05, 0.1]
    task = PoseTask("reach", frame_a=frame, goal=lambda *_: RestingPose(goal), weight=1e4, stiffness=40.0)
    bench.controller.add_task(task)
    for _ in range(200):
        assert bench.step().diagnostics.status is Status.OK
    assert task.position_error < 0.01
    assert task.rotation_error < 0.05
