"""Controller: invalid states, infeasible QPs, user tasks, fallback and recovery."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.references.references import PoseReference, RestingPose
from multi_qp_controller.take_snapshot import take_snapshot
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
    """A controller, with the state integrated from its accelerations."""

    def __init__(self, scenario, **options):
        self.scenario, self.scene = scenario, scenario.scene
        self.controller = Controller(scenario, dt=DT, **options)
        self.state, self.time, self.command = self.scene.initial_state(), 0.0, None

    def step(self, measured=None):
        self.command = self.controller.step(self.state if measured is None else measured, self.time)
        self.time += DT
        if self.command.diagnostics.status is not Status.FALLBACK:
            v = self.state.v + DT * self.command.a
            self.state = State(pin.integrate(self.scene.model, self.state.q, DT * v), v)
        return self.command

    def corrupted(self, *, q=None, v=None, value=np.nan):
        """Return the state with one corrupted entry."""
        state = State(self.state.q.copy(), self.state.v.copy())
        if q is not None:
            state.q[q] = value
        if v is not None:
            state.v[v] = value
        return state

    def index(self, joint):
        model = self.scene.model.joints[self.scene.model.getJointId(joint)]
        return model.idx_q, model.idx_v


@pytest.fixture
def bench(box):
    box.spec.states["stand"].transitions.clear()
    return Bench(box)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["q", "v"])
def test_non_finite_state_is_reported_with_joint_name(bench, where, value):
    bench.step()
    iq, iv = bench.index("humanoid/R_KNEE_P")
    command = bench.step(bench.corrupted(value=value, **({"q": iq} if where == "q" else {"v": iv})))
    assert command.diagnostics.status is Status.FALLBACK
    what = "position" if where == "q" else "velocity"
    assert command.diagnostics.message == f"invalid state: humanoid/R_KNEE_P {what} is not finite ({value})"
    assert np.isfinite(command.tau).all()
    assert np.isnan(command.a).all()
    assert command.wrenches == {}


def test_report_names_free_flyer_axes_and_limits_the_number_of_joints(bench):
    state = bench.corrupted(v=slice(0, 12))
    message = bench.controller.step(state, 0.0).diagnostics.message
    assert message.startswith(
        "invalid state: humanoid/root_joint x velocity is not finite (nan); humanoid/root_joint y"
    )
    assert message.endswith("and 7 more")


def test_fallback_holds_then_damps_then_recovers(bench):
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


def test_damping_torque_is_within_torque_limits(bench):
    bench.step()
    blind = bench.corrupted(q=20)
    blind.v[bench.scene.actuated_v] = 20.0  # more than the motors' limits allow to brake
    for _ in range(10):
        tau = bench.step(blind).tau
    assert (np.abs(tau) <= bench.scene.torque_limits).all()
    assert (tau == -bench.scene.torque_limits).any()


def test_invalid_first_state_returns_zero_torque(box):
    bench = Bench(box)
    command = bench.step(bench.corrupted(q=9))
    assert command.diagnostics.status is Status.FALLBACK
    assert not command.tau.any()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("first", [True, False])
def test_non_finite_time_returns_fallback_for_one_tick(bench, first):
    if not first:
        bench.step()
    command = bench.controller.step(bench.state, np.nan)
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message == "the time is nan"
    assert np.isfinite(command.tau).all()
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("missing", ["q", "v"])
def test_state_of_wrong_size_returns_fallback(bench, missing):
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
    """Raises in `compute` while `broken`."""

    dim = 1

    def compute(self, kinematics, time, J, b):
        if self.broken:
            raise ZeroDivisionError("of the user's own")
        J[0, 9] = 1.0


@pytest.mark.parametrize("options", [{}, {"formulation": "reduced", "solver": "daqp"}])
def test_raising_task_is_left_out_and_logged_once_with_location(bench, caplog, options):
    bench = Bench(bench.scenario, **options)
    task, without = Failing("mine"), Bench(bench.scenario, **options)
    task.broken = True
    bench.controller.add_task(task)
    line = Failing.compute.__code__.co_firstlineno + 2
    for _ in range(100):
        command, other = bench.step(), without.step()
        assert command.diagnostics.status is Status.REDUCED
        expected = f"task 'mine' is left out: ZeroDivisionError: of the user's own ({__file__}:{line})"
        assert command.diagnostics.message == expected
        np.testing.assert_allclose(command.tau, other.tau, rtol=0, atol=1e-4)
    assert [record.message for record in caplog.records] == [expected]
    task.broken = False
    command = bench.step()
    assert (command.diagnostics.status, command.diagnostics.message) == (Status.OK, "")


CORRUPTIONS = {
    "NaN in b": lambda J, b: b.fill(np.nan),
    "inf in b": lambda J, b: b.fill(-np.inf),
    "NaN in J": lambda J, b: J[0].fill(np.nan),
    "1e300": lambda J, b: b.fill(1e300) or J.fill(1.0),
    "the wrong shape": lambda J, b: J.__setitem__(slice(None), np.zeros((3, 3))),
}


@pytest.mark.parametrize("options", [{}, {"formulation": "reduced", "solver": "daqp"}])
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_task_with_invalid_rows_is_left_out(bench, how, options):
    class Corrupted(Failing):
        def compute(self, kinematics, time, J, b):
            CORRUPTIONS[how](J, b)

    bench = Bench(bench.scenario, **options)
    good = bench.step()
    bench.controller.add_task(Corrupted("mine"))
    command = bench.step()
    assert command.diagnostics.status is Status.REDUCED
    assert "task 'mine' is left out: " in command.diagnostics.message
    np.testing.assert_allclose(command.tau, good.tau, atol=0.02 * bench.scene.torque_limits.max())
    bench.controller.remove_task("mine")
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, "heavy", None, [1.0, 2.0]])
def test_task_with_invalid_weight_is_left_out(bench, weight):
    task = Failing("mine")
    task.broken = False
    bench.controller.add_task(task)
    bench.step()
    task.weight = weight
    with np.errstate(invalid="ignore"):
        assert bench.step().diagnostics.status is Status.REDUCED
    task.weight = 1.0
    assert bench.step().diagnostics.status is Status.OK


def test_raising_user_reference_leaves_out_only_its_task(bench):
    class Reference(PoseReference):
        def sample(self, time):
            raise LookupError("no such pose")

    frame = bench.scene.frame_id("humanoid/right_palm")
    bench.step()
    goal = lambda kinematics, pose: Reference()  # noqa: E731
    bench.controller.add_task(PoseTask("reach", frame_a=frame, goal=goal))
    command = bench.step()
    assert command.diagnostics.status is Status.REDUCED
    assert command.diagnostics.message.startswith("task 'reach' is left out: LookupError: no such pose (")


class Broken(Task):
    """Raises in one of its methods."""

    dim = 1

    def __init__(self, where):
        super().__init__("mine")
        self.where = where

    def start(self, kinematics, time):
        self.fail("start")

    def compute(self, kinematics, time, J, b):
        J[0, 9] = 1.0

    def columns(self, scene):
        return self.fail("columns")

    def get_state(self):
        self.fail("get_state")
        return super().get_state()

    def target(self, kinematics):
        return self.fail("target")

    def fail(self, where):
        if where == self.where:
            raise RuntimeError(f"in {where}")


@pytest.mark.parametrize("where", ["start", "columns", "get_state", "target"])
def test_other_raising_task_methods_are_logged_and_ticks_continue(bench, caplog, where):
    controller = bench.controller
    controller.records_input = True
    controller.add_task(Broken(where))
    for _ in range(5):
        command = bench.step()
        assert command.diagnostics.status is Status.OK, command.diagnostics.message
        take_snapshot(controller, command)
    messages = [record.message for record in caplog.records]
    assert len(messages) == 1
    assert f"RuntimeError: in {where} ({__file__}:" in messages[0]


def test_task_that_fails_to_start_is_not_added(bench):
    bench.step()
    with pytest.raises(RuntimeError, match="in start"):
        bench.controller.add_task(Broken("start"))
    assert "mine" not in bench.controller.tasks
    assert bench.step().diagnostics.status is Status.OK


def test_fallback_is_logged_once_for_each_cause(bench, caplog):
    bench.step()
    iv = bench.index("humanoid/R_KNEE_P")[1]
    for k in range(10):
        bench.step(bench.corrupted(v=iv, value=1e6 + k))
        bench.step()
    bench.step(bench.corrupted(v=0))
    knee, base = (record.message for record in caplog.records)
    assert knee.startswith("fallback in state 'stand': invalid state: humanoid/R_KNEE_P velocity is 1e+06 rad/s")
    assert "root_joint x velocity is not finite" in base


def test_after_post_update_queries_refer_to_the_last_step(box):
    """Forces and snapshots use the contacts of the last step, also when `post_update` changes them."""
    bench, changes = Bench(load_scenario("box")), 0
    while bench.controller.machine.phase.name != "lift":
        command = bench.step()
        contacts, forces = dict(bench.controller.contacts), bench.controller.forces
        snapshot = take_snapshot(bench.controller, command)
        bench.controller.post_update()
        changes += list(bench.controller.qp_data.contacts.contacts) != list(contacts.values())
        assert bench.controller.contacts == contacts
        again = take_snapshot(bench.controller, command)
        for name, force in bench.controller.forces.items():
            np.testing.assert_array_equal(force, forces[name])
        assert [contact.name for contact in again.contacts] == [contact.name for contact in snapshot.contacts]
        for one, other in zip(again.contacts, snapshot.contacts, strict=True):
            np.testing.assert_array_equal(one.forces, other.forces)
            np.testing.assert_array_equal(one.points, other.points)
        assert {target.name for target in again.targets} == {target.name for target in snapshot.targets}
    assert changes == 1  # palm contacts made, table contact broken


@pytest.mark.parametrize("formulation", ["condensed", "reduced"])
def test_snapshot_of_a_fallback_in_the_first_tick_has_the_initial_configuration(box, formulation):
    bench = Bench(box, formulation=formulation)
    snapshot = take_snapshot(bench.controller, bench.step(bench.corrupted(q=9)))
    np.testing.assert_array_equal(snapshot.q, bench.scene.q0)
    assert snapshot.status == "fallback"
    assert np.isfinite(snapshot.com_total).all()


def knee_task(bench, goal=0.6, weight=1000.0, name="knee"):
    iq, iv = bench.index("humanoid/NECK_Y")
    return JointAngleTask(name, joint=ScalarJoint(iq, iv), goal=goal, weight=weight, stiffness=50.0)


@pytest.mark.parametrize("early", [True, False])
def test_user_task_can_be_added_and_removed(bench, early):
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


def test_task_names_are_unique(bench):
    bench.step()
    with pytest.raises(ValueError, match="there is a task 'posture' already"):
        bench.controller.add_task(knee_task(bench, name="posture"))
    with pytest.raises(MultiQpError, match="unknown added task 'posture'"):
        bench.controller.remove_task("posture")  # a task of the scenario


def test_tsid_task_affects_the_solution(bench):
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


def test_weight_change_takes_effect_in_the_next_tick(bench):
    """Also from zero and to zero."""
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
def test_infeasible_limits_are_relaxed(box, formulation, solver):
    """A velocity limit beyond the motors' capability is relaxed and reported; the dynamics still hold."""
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


@pytest.mark.parametrize(("waiting", "status"), [(True, Status.RELAXED), (False, Status.FALLBACK)])
def test_fallback_solvers_are_used_only_without_deadline(box, waiting, status):
    """They take many times as long as a tick, and the robot meanwhile moves away from any solution.

    Without compiled kernels the fallback solvers are always used.
    """
    if not COMPILED:
        status = Status.RELAXED
    box.spec.states["stand"].transitions.clear()
    controller, state = Controller(box, deadline=None if waiting else 1e9), box.scene.initial_state()
    assert controller.step(state, 0.0).diagnostics.status is Status.OK
    v = state.v.copy()
    v[box.scene.velocity_names.index("humanoid/R_SHOULDER_P")] = -40.0
    diagnostics = controller.step(State(state.q, v), 0.005).diagnostics
    assert diagnostics.status is status, diagnostics.message
    assert diagnostics.message.startswith("the QP has no solution")
    assert controller.failed_problem is not None
    assert controller.step(state, 0.01).diagnostics.status is Status.OK


def test_infeasibility_of_a_200_kg_box_is_explained():
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


def test_no_explanation_without_failure(bench):
    bench.step()
    assert bench.controller.failed_problem is None
    assert bench.controller.explain_failure() is None


@pytest.mark.parametrize("dt", [0.0, -0.01, np.nan, np.inf])
def test_time_step_must_be_positive(scenario, dt):
    with pytest.raises(MultiQpError, match="dt: expected "):
        Controller(scenario, dt=dt)


@pytest.mark.parametrize("option", [{"solver": "nonsense"}, {"formulation": "nonsense"}])
def test_error_for_unknown_name_lists_valid_names(scenario, option):
    with pytest.raises(MultiQpError, match="unknown .*nonsense.*(daqp|reduced)"):
        Controller(scenario, **option)


def test_problem_sizes_are_counted_as_in_vaillant2015(bench):
    diagnostics = bench.step().diagnostics
    assert (diagnostics.variables, diagnostics.equalities) == (42 + 30 + 48, 42 + 36)
    assert diagnostics.inequalities >= 30 + 30 + 48
    assert diagnostics.state == "stand"
    assert diagnostics.solver_status == "solved"
    assert 0.0 < diagnostics.solve_ms < diagnostics.tick_ms


def test_wrenches_equal_generators_times_multipliers(bench):
    command = bench.step()
    assert set(command.wrenches) == {"left_foot", "right_foot", "box_on_table"}
    for name, contact in bench.controller.contacts.items():
        forces = bench.controller.forces[name]
        assert (forces >= 0.0).all()
        np.testing.assert_allclose(contact.W @ forces, command.wrenches[name], atol=1e-9)


def test_two_controllers_return_equal_commands_bit_for_bit(box):
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
def test_start_outside_joint_limits_recovers(box, case, dt):
    scene, limits = box.scene, box.scene.limits
    box.spec.states["stand"].transitions.clear()
    q, rows = scene.q0.copy(), []
    if "knee" in case:  # still upright: hips and ankles compensate the knees
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
    """Move the base so that the right sole is at its initial pose; the left sole follows from the legs."""
    data, sole = scene.model.createData(), scene.frame_id("humanoid/right_sole")
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    initial = data.oMf[sole].copy()
    pin.framesForwardKinematics(scene.model, data, q)
    base = initial * data.oMf[sole].inverse() * pin.XYZQUATToSE3(q[:7])
    q = q.copy()
    q[:7] = pin.SE3ToXYZQUAT(base)
    return q


def test_user_pose_task_outweighs_the_posture(bench):
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
