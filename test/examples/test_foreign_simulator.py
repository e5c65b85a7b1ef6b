"""`examples/foreign_simulator.py` in the place of the simulator, on a graph of processes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
SCENARIO, WORLD = FOLDER / "foreign_arm" / "reach.yaml", FOLDER / "foreign_arm" / "world.xml"
#: However busy the machine is [s].
PATIENCE = 300


def test_it_imports_nothing_of_this_project():
    tree = ast.parse((FOLDER / "foreign_simulator.py").read_text("utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    third = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    messages = {"builtin_interfaces", "nav_msgs", "rosgraph_msgs", "sensor_msgs", "std_msgs"}
    assert third == {"mujoco", "numpy", "rclpy"} | messages


def test_its_world_is_the_scene_of_the_scenario():
    """The arm has the same M and the same gravity torques as in the controller's model, and the same initial state."""
    world = mujoco.MjModel.from_xml_path(str(WORLD))
    data = mujoco.MjData(world)
    mujoco.mj_resetDataKeyframe(world, data, 0)
    scene = load_scenario(SCENARIO).scene
    assert data.qpos[:2] == pytest.approx(scene.q0[:2]) and data.qpos[2:5] == pytest.approx(scene.q0[2:5], abs=1e-9)
    data.qvel[:2] = [0.3, -0.7]
    mujoco.mj_forward(world, data)
    M = np.zeros((world.nv, world.nv))
    mujoco.mj_fullM(world, data, M)
    kinematics = Kinematics(scene)
    kinematics.update(State(scene.q0, np.array([0.3, -0.7, 0, 0, 0, 0, 0, 0])))
    assert M[:2, :2] == pytest.approx(kinematics.M[:2, :2], abs=1e-9)
    assert data.qfrc_bias[:2] == pytest.approx(kinematics.N[:2], abs=1e-9)


def test_velocity_of_a_floating_base_is_in_its_own_frame():
    sys.path.insert(0, str(FOLDER))
    try:
        from foreign_simulator import World
    finally:
        sys.path.remove(str(FOLDER))
    world, random = World(str(WORLD)), np.random.default_rng(0)
    X = pin.SE3.Random()
    world.data.qpos[2:5] = X.translation
    world.data.qpos[5:9] = np.roll(pin.Quaternion(X.rotation).coeffs(), 1)
    world.data.qvel[2:] = random.standard_normal(6)
    position, quaternion, linear, angular = (part.copy() for part in world.floating_base("cube"))
    h = 1e-6
    mujoco.mj_integratePos(world.model, world.data.qpos, world.data.qvel, h)
    moved, turned, *_ = world.floating_base("cube")
    step = pin.log6(pin.XYZQUATToSE3(np.r_[position, quaternion]).actInv(pin.XYZQUATToSE3(np.r_[moved, turned])))
    assert np.r_[linear, angular] == pytest.approx(step.vector / h, abs=1e-4)


@pytest.mark.slow
def test_the_controller_reaches_the_goals_in_it(tmp_path):
    from multi_qp_cli.node_processes import on_this_machine

    environment = {**os.environ, **on_this_machine(), "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    report = tmp_path / "report.json"
    settings = {"scenario": SCENARIO, "report": report} | dict.fromkeys(
        ("lock_step", "use_sim_time", "closed_loop", "autostart", "exit_at_end"), "true"
    )
    parameters = [part for name, value in settings.items() for part in ("-p", f"{name}:={value}")]
    program = [sys.executable, str(FOLDER / "foreign_simulator.py"), str(WORLD), "--period", "0.005"]
    simulator = subprocess.Popen(
        [*program, "--patience", str(PATIENCE)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        node = [sys.executable, "-m", "multi_qp_ros.nodes.controller_node", "--ros-args", *parameters]
        done = subprocess.run(node, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        said = simulator.communicate(timeout=60)[0]
    finally:
        simulator.kill()
    assert done.returncode == 0, done.stdout + done.stderr + said
    assert simulator.returncode == 0, said
    found = json.loads(report.read_text("utf-8"))
    assert found["completed"] and found["qp_failures"] == 0
    assert all(goal["reached"] for goal in found["goals"].values())
