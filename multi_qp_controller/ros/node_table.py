"""Which processes a scenario on ROS consists of: one table for the launch file and for `multi-qp ros`. Needs no ROS."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

#: What the viewer must know of the others' parameters: which scene it is.
_SEEN = ("scenario", "set", "seed")
#: A parameter's value.
Value = bool | int | float | str


@dataclass(frozen=True)
class LaunchArgument:
    """One argument of `scenario.launch.py`.

    Attributes:
        default: as text; None if it must be given.
        description: one line.
        choices: the valid texts; any if empty.
    """

    default: str | None
    description: str
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off."""
        return self.choices == _SWITCH


_SWITCH = ("true", "false")
#: As fast as it goes nobody watches: how long the simulator then waits for an answer before it goes on alone [s].
LONG_PATIENCE = 30.0
#: Who can play the robots; "none": they are real.
BACKENDS = ("integrator", "mujoco", "none")
LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")
LAUNCH_ARGUMENTS = {
    "scenario": LaunchArgument(None, "name of a scenario, or path of its file"),
    "backend": LaunchArgument("integrator", "who plays the robots; none: they are real", BACKENDS),
    "rviz": LaunchArgument("true", "open RViz", _SWITCH),
    "page": LaunchArgument("true", "serve the page for a browser", _SWITCH),
    "headless": LaunchArgument("false", "nothing to look at; as fast as the nodes go, to the end of the run", _SWITCH),
    "record": LaunchArgument(
        "false", "record ticks into <scenario>.mcap, for replay, and all topics with ros2 bag", _SWITCH
    ),
    "use_sim_time": LaunchArgument(
        "true", "lock-step with the simulator's clock; else, and where the robots are real, by the wall clock", _SWITCH
    ),
    "goal": LaunchArgument(
        "scenario", "of a plan at first: 'scenario', as its file says; 'none'; 'x y z' or 'x y z yaw' of the base"
    ),
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
        name: of the node.
        module: to run with `python -m`.
        executable: as `ros2 run multi_qp_controller` knows it.
        parameters: by name.
        essential: whether the graph is of no use without it.
        failure: exit status with which it ends the graph although it is not essential.
    """

    name: str
    module: str
    executable: str
    parameters: Mapping[str, Value]
    essential: bool = True
    failure: int | None = None

    def command(self, *, namespace: str = "", log_level: str = "info") -> list[str]:
        """Return the command line that starts it without launch_ros."""
        given = [part for name, value in self.parameters.items() for part in ("-p", f"{name}:={_yaml(value)}")]
        remap = ["-r", f"__ns:=/{namespace.strip('/')}"] if namespace.strip("/") else []
        arguments = ["--ros-args", *given, *remap, "--log-level", log_level]
        return [sys.executable, "-m", self.module, *arguments]


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
) -> list[NodeSpec]:
    """Return the nodes of a scenario.

    Args:
        scenario: name or path.
        backend: who plays the robots; "none" where they are real.
        use_sim_time: run in lock-step with the simulator's clock, repeatably; else by the wall clock, and so wherever
            the robots are real: they wait for no answer.
        speed: simulated seconds a second at most; 0: as fast as it goes.
        settings: more parameters of both, as `seed`, `dt` and `set`.
        simulator: more parameters of the simulator.
        controller: more parameters of the controller.
        viewer: more parameters of the viewer; there is none if None. With a page somebody is there to move targets.
        com_trajectory: more parameters of what answers contact sequences with curves; there is none if None.
        contact_planner: more parameters of what answers goals with contact sequences; there is none if None. It needs
            `com_trajectory`, too.
    """
    use_sim_time = use_sim_time and backend != "none"
    common: dict[str, Value] = {"scenario": scenario, "lock_step": use_sim_time, "closed_loop": backend != "integrator"}
    common |= settings or {}
    nodes = []
    if backend != "none":
        world: dict[str, Value] = {**common, "backend": backend, "speed": speed}
        if use_sim_time and not speed:  # whoever is slow is waited for, and a node that dies ends the graph in any case
            world["patience"] = LONG_PATIENCE
        world |= simulator or {}
        nodes.append(NodeSpec("simulator", "multi_qp_simulator.simulator_node", "simulator_node", world))
    attended = viewer is not None and bool(viewer.get("page", True))
    control: dict[str, Value] = {**common, "use_sim_time": use_sim_time, "autostart": True, "attended": attended}
    control |= controller or {}
    nodes.append(NodeSpec("multi_qp_controller", "multi_qp_controller.controller_node", "controller_node", control))
    seen = {name: value for name, value in common.items() if name in _SEEN}
    for name, more in (("com_trajectory", com_trajectory), ("contact_planner", contact_planner)):
        if more is not None:
            given = {**seen, **more}
            module, executable = f"{name}.{name}_node", f"{name}_node"
            failure = 1 if given.get("exit_on_failure") else None
            nodes.append(NodeSpec(name, module, executable, given, essential=False, failure=failure))
    if viewer is not None:
        shown = {**seen, "use_sim_time": use_sim_time, **viewer}
        nodes.append(NodeSpec("viewer", "multi_qp_viewer.viewer_node", "viewer_node", shown, essential=False))
    return nodes


def planning_nodes(has_plan: bool, *, goal: str, headless: bool) -> dict[str, Mapping[str, Value] | None]:
    """Return what `node_table` is to be told of the planning nodes: a scenario with a `plan` has them.

    Args:
        has_plan: whether the scenario has a `plan`.
        goal: to begin with, as the contact planner's parameter.
        headless: nobody is there to give another goal: where there is no plan, the graph ends.
    """
    if not has_plan:
        return {}
    return {"com_trajectory": {}, "contact_planner": {"goal": goal, "exit_on_failure": headless}}


def _yaml(value: Value) -> str:
    """Return a value so that rcl's parser keeps its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
