"""Invalid arguments of the Python interface: one-line messages, without side effects."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.command import Status
from multi_qp_controller.tasks import JointAngleTask
from multi_qp_controller.tasks.base import Task
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator import Integrator
from multi_qp_simulator.runner import run_scenario


def refusal(call, *arguments, **named) -> str:
    """Return the one-line message of the exception that a call raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MultiQpError) as raised:
            call(*arguments, **named)
    message = str(raised.value)
    assert "\n" not in message and len(message) < 250
    return message


CONTROLLERS = [
    ("scenario", "box", "scenario: expected a Scenario, as `load_scenario` returns it, got 'box'"),
    ("scenario", None, "scenario: expected a Scenario"),
    ("dt", "0.01", "dt: expected a number [s], got '0.01'"),
    ("dt", [0.01], "dt: expected a number"),
    ("dt", True, "dt: expected a number [s], got True"),
    ("dt", np.nan, "dt: expected a number [s], got nan"),
    ("dt", 10**400, "dt: expected a number [s]"),
    ("dt", 0, "dt: expected 1e-06 to 0.5 s, got 0"),
    ("dt", -0.01, "dt: expected 1e-06 to 0.5 s, got -0.01"),
    ("dt", 1e-300, "dt: expected 1e-06 to 0.5 s, got 1e-300"),
    ("dt", 5.0, "dt: expected 1e-06 to 0.5 s, got 5"),
    ("solver", 5, "solver: expected a name, got 5"),
    ("solver", ["daqp"], "solver: expected a name, got ['daqp']"),
    ("formulation", ["full"], "formulation: expected a name, got ['full']"),
    ("deadline", "soon", "deadline: expected a number [s], got 'soon'"),
    ("deadline", 0, "deadline: expected at least 1e-06 s, got 0"),
    ("closed_loop", {}, "closed_loop: expected a ClosedLoopSpec, as `scenario.spec.closed_loop` is one, got dict"),
]


@pytest.mark.parametrize(("name", "value", "reason"), CONTROLLERS)
def test_invalid_controller_arguments_are_refused(scenario, name, value, reason):
    assert refusal(Controller, **({"scenario": scenario} | {name: value})).startswith(reason)


@pytest.mark.parametrize("name", ["stairs", "twister"])
def test_error_for_missing_states_names_their_generator(name):
    scenario = load_scenario(name)
    for call in (Controller, run_scenario):
        assert refusal(call, scenario).startswith(f"scenario '{name}' has no states yet: use `motion_generation.state")


SCENARIOS = [
    ({"name_or_path": None}, "scenario: expected a name or a path, got None"),
    ({"name_or_path": 5}, "scenario: expected a name or a path, got 5"),
    ({"name_or_path": b"box"}, "scenario: expected a name or a path, got bytes"),
    ({"parameters": "box.mass=5"}, "parameters: expected a mapping of names to numbers, got 'box.mass=5'"),
    ({"parameters": [("box.mass", 5)]}, "parameters: expected a mapping of names to numbers, got [('box.mass', 5)]"),
    ({"parameters": {"box.mass": "5"}}, "parameter 'box.mass': expected a number [kg], got '5'"),
    ({"parameters": {"box.mass": None}}, "parameter 'box.mass': expected a number [kg], got None"),
    ({"parameters": {"box.mass": True}}, "parameter 'box.mass': expected a number [kg], got True"),
    ({"parameters": {"box.mass": [5]}}, "parameter 'box.mass': expected a number [kg], got [5]"),
    ({"parameters": {"box.mass": 10**400}}, "parameter 'box.mass': expected a number [kg], got 1"),
    ({"seed": "1"}, "seed: expected an integer from 0 to 9223372036854775807, got '1'"),
    ({"seed": 1.5}, "seed: expected an integer"),
    ({"seed": True}, "seed: expected an integer"),
    ({"seed": None}, "seed: expected an integer"),
    ({"seed": -1}, "seed: expected an integer"),
    ({"seed": 10**400}, "seed: expected an integer"),
]


@pytest.mark.parametrize(("given", "reason"), SCENARIOS)
def test_invalid_scenario_sources_are_refused(given, reason):
    assert refusal(load_scenario, **({"name_or_path": "box"} | given)).startswith(reason)


def test_integers_beyond_the_conversion_limit_are_refused(scenario):
    assert refusal(Controller, scenario, dt=10**5000) == "dt: expected a number [s], got a value that cannot be shown"
    assert refusal(load_scenario, "box", seed=10**5000).endswith("got a value that cannot be shown")


def test_numpy_scalars_are_accepted():
    scenario = load_scenario("box", parameters={"box.mass": np.float32(5)}, seed=np.int64(3))
    assert (scenario.parameters["box.mass"], scenario.seed) == (5.0, 3)
    assert Controller(scenario, dt=np.float64(0.01), deadline=np.int32(5)).dt == 0.01


class Mine(Task):
    """A user task with replaced attributes."""

    dim = 1

    def __init__(self, **attributes):
        super().__init__("mine")
        vars(self).update(attributes)

    def compute(self, kinematics, time, J, b):
        J[0, 9] = 1.0


TASKS = [
    (None, "task: expected a Task, got None"),
    ("posture", "task: expected a Task, got 'posture'"),
    (JointAngleTask, "task: expected a Task, got "),
    (Mine(name=5), "name of a task: expected text, got 5"),
    (Mine(dim="x"), "dim of task 'mine': expected an integer from 1 to 10000, got 'x'"),
    (Mine(dim=-1), "dim of task 'mine': expected an integer from 1 to 10000, got -1"),
    (Mine(dim=1.5), "dim of task 'mine': expected an integer"),
    (Mine(weight="x"), "weight of task 'mine': expected a number, got 'x'"),
    (Mine(weight=np.nan), "weight of task 'mine': expected a number"),
    (Mine(weight=-1), "weight of task 'mine': expected at least 0, got -1"),
    (Mine(pairs=((99999, None),)), "a frame in pairs of task 'mine': expected an integer from 0 to "),
    (Mine(pairs=(("hand", None),)), "a frame in pairs of task 'mine': expected an integer from 0 to "),
    (Mine(pairs=5), "pairs or selects of task 'mine': "),
    (Mine(selects=[99999]), "an entry of selects of task 'mine': expected an integer from 0 to 41, got 99999"),
    (Mine(selects=[-1]), "an entry of selects of task 'mine': expected an integer from 0 to 41, got -1"),
    (Mine(selects=[1, 2]), "selects of task 'mine' has 2 entries, expected 1, one a row"),
    (Mine(name="posture"), "there is a task 'posture' already"),
]


@pytest.mark.parametrize(("task", "reason"), TASKS)
def test_invalid_tasks_are_not_added(box, task, reason):
    """Also a negative number of rows, with which a kernel would write out of bounds."""
    controller, state = Controller(box), box.scene.initial_state()
    assert controller.step(state, 0.0).diagnostics.status is Status.OK
    tasks = set(controller.tasks)
    assert refusal(controller.add_task, task).startswith(reason)
    assert set(controller.tasks) == tasks
    assert controller.step(state, 0.005).diagnostics.status is Status.OK


def test_error_for_unknown_name_lists_known_names(box):
    controller = Controller(box)
    controller.step(box.scene.initial_state(), 0.0)
    controller.add_task(Mine())
    assert (
        refusal(controller.remove_task, "min") == "unknown added task 'min'; did you mean 'mine'? (added tasks: mine)"
    )
    for wrong in (None, 5, [], "putback"):
        assert refusal(controller.command, wrong).startswith("unknown command ")
        assert refusal(controller.set_target, wrong, np.zeros(3)).startswith("unknown target in state 'stand' ")
        assert refusal(controller.remove_task, wrong).startswith("unknown added task ")
        assert refusal(box.scene.loads.set_mass, wrong, 1.0).startswith("unknown load ")
    assert "'put_back'" in refusal(controller.command, "putback")


@pytest.fixture(scope="module")
def interactive():
    """Return a controller in the state in which a user moves the box."""
    scenario = load_scenario("box")
    spec = scenario.spec.model_copy(update={"initial_state": "play"})
    controller = Controller(replace(scenario, spec=spec))
    controller.step(scenario.scene.initial_state(), 0.0)
    assert list(controller.targets) == ["box"]
    return controller


TURNED = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
TARGETS = [
    (None, None, "position of target 'box': expected 3 numbers [m], got None"),
    ("up", None, "position of target 'box': expected 3 numbers [m], got 'up'"),
    ([1.0, 2.0], None, "position of target 'box': expected 3 numbers [m], got [1.0, 2.0]"),
    (np.zeros((3, 1)), None, "position of target 'box': expected 3 numbers [m], got "),
    (["1", "2", "3"], None, "position of target 'box': expected 3 numbers [m], got "),
    ([1j, 0, 0], None, "position of target 'box': expected 3 numbers [m], got "),
    ([np.nan, 0, 0], None, "position of target 'box' must be finite, got [nan, 0.0, 0.0]"),
    ([1e300, 0, 0], None, "position of target 'box': expected 3 numbers [m] up to 1e+07, got "),
    (np.zeros(3), "upright", "rotation of target 'box': expected 3 x 3 numbers, got 'upright'"),
    (np.zeros(3), np.eye(4), "rotation of target 'box': expected 3 x 3 numbers, got "),
    (np.zeros(3), np.zeros((3, 3)), "rotation of target 'box': expected a rotation matrix, got "),
    (np.zeros(3), -np.eye(3), "rotation of target 'box': expected a rotation matrix, got "),
    (np.zeros(3), np.full((3, 3), np.nan), "rotation of target 'box' must be finite, got "),
]


@pytest.mark.parametrize(("position", "rotation", "reason"), TARGETS)
def test_invalid_target_poses_are_refused(interactive, position, rotation, reason):
    assert refusal(interactive.set_target, "box", position, rotation).startswith(reason)


@pytest.mark.parametrize("rotation", [None, TURNED, TURNED.tolist()])
def test_target_accepts_lists_and_integers(interactive, rotation):
    interactive.set_target("box", [1, 0, 1], rotation)
    target = interactive.tasks["box"].sample(0.0)
    np.testing.assert_array_equal(target[:3], [1.0, 0.0, 1.0])


@pytest.mark.parametrize("dt", [None, "0.01", np.nan, -0.01])
def test_simulator_step_refuses_invalid_arguments(scenario, dt):
    world = Integrator(scenario)
    command = Controller(scenario).step(world.state, 0.0)
    assert refusal(world.step, command, dt).startswith("dt: expected ")
    for wrong in (None, "command", 5):
        assert refusal(world.step, wrong, 0.01).startswith("command: expected a Command, as `Controller.step` returns")
    assert refusal(Integrator, "box").startswith("scenario: expected a Scenario")


@pytest.mark.parametrize("saved", [None, 5, "state", {}, {"interactive": True}])
def test_invalid_saved_states_are_refused(scenario, saved):
    assert refusal(Controller(scenario).set_state, saved).startswith("the saved state does not fit this scenario: ")
