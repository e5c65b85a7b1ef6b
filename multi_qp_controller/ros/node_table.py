"""Which processes a scenario on ROS consists of: one table for the launch file and for `multi-qp ros`. Needs no ROS."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

#: A parameter's value.
Value = bool | int | float | str


@dataclass(frozen=True)
class NodeSpec:
    """One process.

    Attributes:
        name: of the node.
        module: to run with `python -m`.
        executable: as `ros2 run multi_qp_controller` knows it.
        parameters: by name.
    """

    name: str
    module: str
    executable: str
    parameters: Mapping[str, Value]

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
    controller: Mapping[str, Value] | None = None,
) -> list[NodeSpec]:
    """Return the nodes of a scenario.

    Args:
        scenario: name or path.
        backend: who plays the robots; "none" where they are real.
        use_sim_time: run in lock-step with the simulator's clock, repeatably; else by the wall clock.
        speed: simulated seconds a second at most; 0: as fast as it goes.
        settings: more parameters of both, as `seed`, `dt` and `set`.
        controller: more parameters of the controller.
    """
    common: dict[str, Value] = {"scenario": scenario, "lock_step": use_sim_time, **(settings or {})}
    nodes = []
    if backend != "none":
        world: dict[str, Value] = {**common, "backend": backend, "speed": speed}
        nodes.append(NodeSpec("simulator", "multi_qp_simulator.simulator_node", "simulator_node", world))
    control: dict[str, Value] = {**common, "use_sim_time": use_sim_time, "autostart": True, **(controller or {})}
    nodes.append(NodeSpec("multi_qp_controller", "multi_qp_controller.controller_node", "controller_node", control))
    return nodes


def _yaml(value: Value) -> str:
    """Return a value so that rcl's parser keeps its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
