"""Equations of motion recomputed from the log alone with numpy and pinocchio, without the controller."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import nnls

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import run_scenario

EVERY = 20  # [ticks]
RELATIVE = 1e-9


class Record:
    """A log read from its file, with a model.

    Attributes:
        log: arrays by name.
        model: of the whole scene.
    """

    def __init__(self, path, scenario) -> None:
        with np.load(path, allow_pickle=False) as file:
            self.log = {name: file[name] for name in file.files}
        self.scene = scenario.scene
        self.model = scenario.scene.model
        self.data = self.model.createData()
        self.motors = [
            self.model.joints[self.model.getJointId(str(name))].idx_v for name in self.log["actuated_joint_names"]
        ]

    @property
    def ticks(self) -> range:
        return range(0, len(self.log["time"]), EVERY)

    def at(self, tick: int) -> None:
        """Compute placements and Jacobians of one tick."""
        pin.computeJointJacobians(self.model, self.data, self.log["q"][tick])
        pin.updateFramePlacements(self.model, self.data)

    def active(self, tick: int) -> np.ndarray:
        return np.flatnonzero(self.log["contact_active"][tick])

    def world_wrench(self, tick: int, contact: int) -> np.ndarray:
        """Return the wrench on the first body at the world's origin, in world axes, (6,)."""
        first = self.model.getFrameId(str(self.log["contact_surfaces"][contact, 0]))
        return self.data.oMf[first].act(pin.Force(self.log["contact_wrench"][tick, contact])).vector

    def world_jacobian(self, surface: str) -> np.ndarray:
        """Return the Jacobian of the body of a surface, at the world's origin, (6, nv)."""
        joint = self.model.frames[self.model.getFrameId(surface)].parentJoint
        if joint == 0:
            return np.zeros((6, self.model.nv))
        return pin.getJointJacobian(self.model, self.data, joint, pin.WORLD)


@pytest.fixture(scope="module", params=["animation", "robot"])
def record(request, tmp_path_factory, box_run, robot_run) -> Record:
    path = tmp_path_factory.mktemp("log") / "run.npz"
    if request.param == "animation":
        box_run.log.save(path)
        about = json.loads(str(np.load(path)["scenario"]))
        scenario = load_scenario(about["name"], parameters=about["parameters"], seed=about["seed"])
    else:
        scenario, result = robot_run
        result.log.save(path)
    return Record(path, scenario)


def test_keys_and_shapes(record):
    log, model = record.log, record.model
    T, C, na = len(log["time"]), len(log["contact_names"]), len(log["actuated_joint_names"])
    shapes = {
        "time": (T,),
        "q": (T, model.nq),
        "v": (T, model.nv),
        "a": (T, model.nv),
        "tau": (T, na),
        "state": (T,),
        "contact_names": (C,),
        "contact_active": (T, C),
        "contact_wrench": (T, C, 6),
        "contact_surfaces": (C, 2),
        "contact_friction": (C,),
        "subsystem_names": (2,),
    }
    assert {name: log[name].shape for name in shapes} == shapes
    assert (na, C, model.nv) == (30, 5, 42)
    assert log["contact_active"].dtype == bool
    assert list(log["joint_names"]) == list(model.names)[1:]
    assert list(log["subsystem_names"]) == ["humanoid", "box"]
    assert all(np.isfinite(log[name]).all() for name in ("time", "q", "v", "a", "tau", "contact_wrench"))
    assert np.all(log["contact_wrench"][~log["contact_active"]] == 0.0)
    dt = json.loads(str(log["scenario"]))["dt"]
    np.testing.assert_allclose(np.diff(log["time"]), dt, rtol=1e-9)


def test_the_largest_torque_step_is_that_of_the_log(robot_run, tmp_path):
    scenario, result = robot_run
    result.log.save(tmp_path / "run.npz")
    steps = np.abs(np.diff(Record(tmp_path / "run.npz", scenario).log["tau"], axis=0)) / scenario.scene.torque_limits
    assert result.report["worst"]["torque_step_ratio"] == pytest.approx(steps.max(), rel=1e-9) != 0.0


def test_task_errors_are_those_of_the_ticks_in_which_a_task_is_active(robot_run):
    log, nan = robot_run[1].log, np.nan
    assert robot_run[1].report["task_errors"] == log.task_errors()
    assert set(log.task_errors()) == set(log.task_names.tolist())
    short = replace(
        log,
        time=np.array([0.0, 0.1, 0.2, 0.3]),
        task_names=np.array(["com", "hand/position", "never"]),
        task_units=np.array(["m", "m", "rad"]),
        task_error=np.array([[3.0, nan, nan], [4.0, 1.0, nan], [0.0, nan, nan], [nan, nan, nan]]),
    )
    com = {"unit": "m", "rms": pytest.approx(5.0 / np.sqrt(3.0)), "largest": 4.0, "time": 0.1, "last": 0.0}
    hand = {"unit": "m", "rms": 1.0, "largest": 1.0, "time": 0.1, "last": 1.0}
    assert short.task_errors() == {"com": com, "hand/position": hand}


def test_the_equation_of_motion_holds_for_every_body(record):
    """M a + N = S τ + Σ Jᵀ w, with +w on the first body and -w on the second, for each subsystem by itself."""
    log, model = record.log, record.model
    for tick in record.ticks:
        inertial = pin.rnea(model, record.data, log["q"][tick], log["v"][tick], log["a"][tick])
        record.at(tick)
        applied = np.zeros(model.nv)
        applied[record.motors] = log["tau"][tick]
        for contact in record.active(tick):
            first, second = map(str, log["contact_surfaces"][contact])
            wrench = record.world_wrench(tick, contact)
            applied += record.world_jacobian(first).T @ wrench
            applied += record.world_jacobian(second).T @ -wrench
        for name, subsystem in record.scene.subsystems.items():
            mine = subsystem.v_slice
            scale = max(np.abs(inertial[mine]).max(), np.abs(applied[mine]).max())
            error = np.abs(inertial[mine] - applied[mine]).max()
            assert error <= RELATIVE * scale, f"{name} at {log['time'][tick]:.3f} s"


def test_newton_and_euler_hold_for_the_box(record):
    """The box by hand: rate of momentum about its centre of mass = weight and the wrenches of hands and table on it."""
    log, model = record.log, record.model
    joint = model.getJointId("box/root_joint")
    inertia, idx_q, idx_v = model.inertias[joint], model.joints[joint].idx_q, model.joints[joint].idx_v
    touched = 0
    for tick in record.ticks:
        record.at(tick)
        pose = pin.XYZQUATToSE3(log["q"][tick, idx_q : idx_q + 7])
        v, a = (log[name][tick, idx_v : idx_v + 6] for name in ("v", "a"))
        R, omega, lever = pose.rotation, v[3:], inertia.lever
        a_com = R @ (a[:3] + np.cross(omega, v[:3]) + np.cross(a[3:], lever) + np.cross(omega, np.cross(omega, lever)))
        com = pose.act(lever)
        force = inertia.mass * np.array([0.0, 0.0, -9.81])
        moment = np.zeros(3)
        for contact in record.active(tick):
            bodies = [str(name).split("/")[0] for name in log["contact_surfaces"][contact]]
            if "box" in bodies:
                sign = 1.0 if bodies[0] == "box" else -1.0
                wrench = sign * record.world_wrench(tick, contact)
                force = force + wrench[:3]
                moment = moment + wrench[3:] - np.cross(com, wrench[:3])
                touched += 1
        spin = inertia.inertia @ omega
        np.testing.assert_allclose(inertia.mass * a_com, force, atol=1e-7)
        np.testing.assert_allclose(R @ (inertia.inertia @ a[3:] + np.cross(omega, spin)), moment, atol=1e-7)
    assert touched > len(record.ticks), "table, then two hands"


def test_contact_forces_stay_in_their_friction_cones(record):
    """Non-negative forces at the corners of the surface, each within the pyramid inscribed in the Coulomb cone."""
    log = record.log
    for contact, friction in enumerate(log["contact_friction"]):
        surface = record.scene.surfaces[str(log["contact_surfaces"][contact, 0])]
        rays = pyramid_rays(surface.points, friction)
        active = [tick for tick in record.ticks if log["contact_active"][tick, contact]]
        assert active, log["contact_names"][contact]
        for wrench in log["contact_wrench"][active, contact]:
            assert wrench[2] <= 0.0, "a body is pushed against its outward normal"
            assert np.hypot(*wrench[:2]) <= -friction * wrench[2] * (1.0 + RELATIVE)
            _, distance = nnls(rays, wrench)
            assert distance <= RELATIVE * max(1.0, np.abs(wrench).max())


def pyramid_rays(points: np.ndarray, friction: float) -> np.ndarray:
    """Return wrenches that a planar surface can receive: 4 edges at each corner, pushing along -z, (6, 16)."""
    columns = []
    for point in points:
        for tangent in ([1, 0], [0, 1], [-1, 0], [0, -1]):
            force = np.array([friction * tangent[0], friction * tangent[1], -1.0])
            columns.append(np.concatenate([force, np.cross(point, force)]))
    return np.array(columns).T


def test_positions_integrate_velocities_and_these_the_accelerations(record):
    """v⁺ = v + a Δt, then q⁺ = q ⊕ v⁺ Δt."""
    log, dt = record.log, json.loads(str(record.log["scenario"]))["dt"]
    np.testing.assert_allclose(log["v"][1:], log["v"][:-1] + log["a"][:-1] * dt, atol=1e-13, rtol=0)
    for tick in range(0, len(log["time"]) - 1, EVERY):
        moved = pin.integrate(record.model, log["q"][tick], log["v"][tick + 1] * dt)
        np.testing.assert_allclose(log["q"][tick + 1], moved, atol=1e-13, rtol=0)


def test_contacts_stay_where_they_were_made(record):
    log = record.log
    for contact in range(len(log["contact_names"])):
        first, second = (record.model.getFrameId(str(name)) for name in log["contact_surfaces"][contact])
        made = None
        for tick, active in enumerate(log["contact_active"][:, contact]):
            if not active:
                made = None
            elif made is None or tick % EVERY == 0:
                record.at(tick)
                pose = record.data.oMf[second].actInv(record.data.oMf[first])
                made = made or pose
                assert np.linalg.norm(pose.translation - made.translation) <= 1e-3
                assert np.linalg.norm(pin.log3(made.rotation.T @ pose.rotation)) <= 1e-2


def test_torques_and_joints_stay_within_their_limits(record):
    log, scene = record.log, record.scene
    assert np.all(np.abs(log["tau"]) <= scene.torque_limits + 1e-9)
    limits = scene.limits
    angle, speed = log["q"][:, limits.q_index], log["v"][:, limits.v_index]
    assert np.all(angle >= limits.lower - 1e-9) and np.all(angle <= limits.upper + 1e-9)
    assert np.all(np.abs(speed) <= limits.velocity + 1e-9)


def test_the_same_seed_writes_the_same_bytes_and_another_does_not(tmp_path):
    """Compared until the box is on its random path; `carry` is the first state with random numbers.

    Tick durations differ between runs.
    """
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        run = run_scenario(load_scenario("box", seed=seed), dt=0.02, duration=8.0)
        replace(run.log, tick_ms=np.zeros_like(run.log.tick_ms)).save(tmp_path / f"{name}.npz")
    contents = {name: (tmp_path / f"{name}.npz").read_bytes() for name in "abc"}
    assert contents["a"] == contents["b"]
    one, other = (Log.load(tmp_path / f"{name}.npz") for name in "ac")
    assert one.state[-1] == "carry"
    before = one.state != "carry"
    np.testing.assert_array_equal(one.q[before], other.q[before])
    assert not np.allclose(one.q[-1], other.q[-1])


def test_a_log_reads_back_what_was_saved(robot_run, tmp_path):
    log = robot_run[1].log
    log.save(tmp_path / "run.npz")
    read = Log.load(tmp_path / "run.npz")
    for name in log.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(read, name), getattr(log, name))
