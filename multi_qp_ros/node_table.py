"""Table of the processes of a scenario on ROS, shared by the launch file and `multi-qp ros`; independent of ROS."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import check

#: Name of the controller node.
CONTROLLER = "multi_qp_controller"
#: Environment variable with the process id of the parent, with which a node ends.
PARENT = "MULTI_QP_PARENT"
#: Common parameters that determine the scene, passed also to viewer and planners.
_SEEN = ("scenario", "set", "seed")
#: Type of parameter values.
Value = bool | int | float | str
_N = TypeVar("_N", int, float)


@dataclass(frozen=True)
class LaunchArgument:
    """One argument of `scenario.launch.py`.

    Attributes:
        default: default value as text; None if the argument is required.
        description: one line.
        choices: valid values; any if empty.
    """

    default: str | None
    description: str
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether the argument is boolean."""
        return self.choices == _SWITCH


_SWITCH = ("true", "false")
#: Parameters where a robot walks dynamically: a stall of 50 ms leads neither to braking nor to a fallback.
PATIENT_SIMULATOR: dict[str, Value] = {"watchdog_periods": 12, "watchdog_time": 0.06}
PATIENT_CONTROLLER: dict[str, Value] = {"max_state_age": 12}
#: Timeout of the simulator for a command when the speed is unlimited [s].
LONG_PATIENCE = 30.0
#: Simulator backends; "none": real robots.
BACKENDS = ("integrator", "mujoco", "none")
LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")
LAUNCH_ARGUMENTS = {
    "scenario": LaunchArgument(None, "name of a scenario, or path of its file"),
    "backend": LaunchArgument("integrator", "simulator backend; none: real robots", BACKENDS),
    "rviz": LaunchArgument("true", "open RViz", _SWITCH),
    "page": LaunchArgument("true", "serve the page for a browser", _SWITCH),
    "headless": LaunchArgument("false", "without RViz and page, at unlimited speed, to the end of the run", _SWITCH),
    "record": LaunchArgument(
        "false", "record ticks into <scenario>.mcap, for replay, and all topics with ros2 bag", _SWITCH
    ),
    "use_sim_time": LaunchArgument(
        "true", "lock-step with the simulator's clock; else, and where the robots are real, by the wall clock", _SWITCH
    ),
    "goal": LaunchArgument(
        "scenario", "initial goal of a plan: 'scenario': that of its file; 'none'; 'x y z' or 'x y z yaw' of the base"
    ),
    "set": LaunchArgument("", "parameters of the scenario, as 'box.mass=5, path.duration=2'"),
    "seed": LaunchArgument("0", "seed of everything random in the scenario"),
    "dt": LaunchArgument("0.0", "control period [s]; 0: the scenario's"),
    "port": LaunchArgument("8080", "of the page, or the next free one"),
    "log_level": LaunchArgument("info", "of the nodes", LOG_LEVELS),
    "namespace": LaunchArgument("", "of all nodes and topics"),
}

GAZEBO_ARGUMENTS = {
    "scenario": LAUNCH_ARGUMENTS["scenario"],
    "rviz": LAUNCH_ARGUMENTS["rviz"],
    "page": LAUNCH_ARGUMENTS["page"],
    "headless": LaunchArgument("false", "gz-sim without its window, no RViz, no page", _SWITCH),
    "log_level": LAUNCH_ARGUMENTS["log_level"],
}


@dataclass(frozen=True)
class NodeSpec:
    """One process.

    Attributes:
        name: name of the node.
        module: module to run with `python -m multi_qp_ros.start_node`.
        executable: name for `ros2 run multi_qp_controller`.
        parameters: values by name.
        essential: whether its end ends the graph.
        failure: exit status that ends the graph if the node is not essential.
    """

    name: str
    module: str
    executable: str
    parameters: Mapping[str, Value]
    essential: bool = True
    failure: int | None = None

    def ends_graph(self, status: int) -> bool:
        """Return whether its end with this exit status ends the graph."""
        return self.essential or (self.failure is not None and status == self.failure)

    def command(self, *, namespace: str = "", log_level: str = "info") -> list[str]:
        """Return the command line that starts the node without launch_ros."""
        given = [part for name, value in self.parameters.items() for part in ("-p", f"{name}:={_yaml(value)}")]
        remap = ["-r", f"__ns:=/{namespace.strip('/')}"] if namespace.strip("/") else []
        arguments = ["--ros-args", *given, *remap, "--log-level", log_level]
        return [sys.executable, "-m", "multi_qp_ros.start_node", self.module, *arguments]


def launch_settings(*, assignments: str, seed: str, dt: str) -> dict[str, Value]:
    """Return the parameters `set`, `seed` and `dt` of the nodes from launch arguments.

    Raises:
        MultiQpError: when one is not a number, or out of its range.
    """
    period, number = _number("dt", dt, float), _number("seed", seed, int)
    if period:
        check("period", period, "dt")
    if not 0 <= number < 2**31:
        raise MultiQpError(f"seed: expected 0 to 2147483647, got {number}")
    return {"set": assignments, "seed": number, "dt": period}


def launch_port(text: str) -> int:
    """Return the port of the page from a launch argument.

    Raises:
        MultiQpError: when it is not a port.
    """
    port = _number("port", text, int)
    if not 1 <= port <= 65535:
        raise MultiQpError(f"port: expected 1 to 65535, got {port}")
    return port


def _number(name: str, text: str, kind: type[_N]) -> _N:
    try:
        return kind(text)
    except ValueError:
        raise MultiQpError(f"{name}: expected a number, got '{text}'") from None


def environment() -> dict[str, str]:
    """Return environment variables of a node that this process starts.

    The node ends with this process. BLAS is limited to one thread: the matrices of the solvers are small.
    """
    threads = "OPENBLAS_NUM_THREADS"
    return {threads: os.environ.get(threads, "1"), PARENT: str(os.getpid())}


def node_table(
    scenario: str,
    *,
    backend: str = "integrator",
    use_sim_time: bool = True,
    speed: float = 1.0,
    settings: Mapping[str, Value] | None = None,
    simulator: Mapping[str, Value] | None = None,
    controller: Mapping[str, Value] | None = None,
    viewer: Mapping[str, Value] | None = None,
    com_trajectory: Mapping[str, Value] | None = None,
    contact_planner: Mapping[str, Value] | None = None,
    walks: bool = False,
) -> list[NodeSpec]:
    """Return the nodes of a scenario.

    Args:
        scenario: name or path.
        backend: simulator backend; "none": real robots.
        use_sim_time: run in lock-step with the simulation clock (reproducible); otherwise, and always with real robots,
            by the wall clock.
        speed: largest ratio of simulated to real time; 0: unlimited.
        settings: additional parameters of simulator and controller, such as `seed`, `dt` and `set`.
        simulator: additional parameters of the simulator.
        controller: additional parameters of the controller.
        viewer: additional parameters of the viewer; None: no viewer. With a page, the controller is interactive.
        com_trajectory: additional parameters of the node that computes curves for contact sequences; None: no node.
        contact_planner: additional parameters of the node that computes contact sequences for goals; None: no such
            node. Requires `com_trajectory`.
        walks: whether a robot walks dynamically; braked, or without a new command, it falls.
    """
    use_sim_time = use_sim_time and backend != "none"
    common: dict[str, Value] = {"scenario": scenario, "lock_step": use_sim_time, "closed_loop": backend != "integrator"}
    common |= settings or {}
    nodes = []
    if backend != "none":
        world: dict[str, Value] = {**common, "backend": backend, "speed": speed}
        if use_sim_time and not speed:  # slow nodes are waited for; a node that dies ends the graph
            world["patience"] = LONG_PATIENCE
        world |= PATIENT_SIMULATOR if walks else {}
        world |= simulator or {}
        nodes.append(NodeSpec("simulator", "multi_qp_ros.nodes.simulator_node", "simulator_node", world))
    interactive = viewer is not None and bool(viewer.get("page", True))
    control: dict[str, Value] = {**common, "use_sim_time": use_sim_time, "autostart": True, "interactive": interactive}
    control |= PATIENT_CONTROLLER if walks else {}
    control |= controller or {}
    nodes.append(NodeSpec(CONTROLLER, "multi_qp_ros.nodes.controller_node", "controller_node", control))
    seen = {name: value for name, value in common.items() if name in _SEEN}
    for name, more in (("com_trajectory", com_trajectory), ("contact_planner", contact_planner)):
        if more is not None:
            given = {**seen, **more}
            module, executable = f"multi_qp_ros.nodes.{name}_node", f"{name}_node"
            failure = 1 if given.get("exit_on_failure") else None
            nodes.append(NodeSpec(name, module, executable, given, essential=False, failure=failure))
    if viewer is not None:
        shown = {**seen, "use_sim_time": use_sim_time, **viewer}
        nodes.append(NodeSpec("viewer", "multi_qp_ros.nodes.viewer_node", "viewer_node", shown, essential=False))
    return nodes


def planning_nodes(has_plan: bool, *, goal: str, headless: bool) -> dict[str, Mapping[str, Value] | None]:
    """Return the arguments of `node_table` for the planning nodes, which scenarios with a `plan` have.

    Args:
        has_plan: whether the scenario has a `plan`.
        goal: initial goal, as parameter of the contact planner.
        headless: whether a failure of the planner ends the graph, as no other goal can be given.
    """
    if not has_plan:
        return {}
    return {"com_trajectory": {}, "contact_planner": {"goal": goal, "exit_on_failure": headless}}


def _yaml(value: Value) -> str:
    """Return a value as YAML from which rcl's parser infers the same type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
