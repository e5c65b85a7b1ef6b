"""Kernels of walking in a process of their own."""

import subprocess
import sys

SCRIPT = """
import gc
from numba.core.dispatcher import Dispatcher
from multi_qp_controller.controller import Controller
from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.integrator import Integrator


def loaded():
    kernels = (one for one in gc.get_objects() if isinstance(one, Dispatcher))
    return {f"{one.py_func.__module__}.{one.py_func.__name__} {one.signatures}" for one in kernels if one.signatures}


scenario = load_scenario("walk_stairs")
Controller(scenario).warm_up()
before = loaded()
controller, robot = Controller(scenario), Integrator(scenario)
for tick in range(160):
    command = controller.step(robot.state, tick * controller.dt)
    robot.step(command, controller.dt)
print(controller.generator("gait").stepper.walk.phase, sorted(loaded() - before))
"""


def test_no_tick_after_the_warm_up_loads_or_compiles_a_kernel():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "swing []\n"
