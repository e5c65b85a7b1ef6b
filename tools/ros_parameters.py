"""Generator of the tables of parameters and launch arguments in docs/ros2.md: `python tools/ros_parameters.py`."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from multi_qp_ros.node_table import LAUNCH_ARGUMENTS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ros2.md"
NODES = {
    "multi_qp_controller": "multi_qp_ros.nodes.controller_node",
    "simulator": "multi_qp_ros.nodes.simulator_node",
    "contact_planner": "multi_qp_ros.nodes.contact_planner_node",
    "com_trajectory": "multi_qp_ros.nodes.com_trajectory_node",
    "viewer": "multi_qp_ros.nodes.viewer_node",
}


def rows(specs: tuple[Any, ...]) -> list[str]:
    """Return the rows of a table: name, default, range or choices, description."""
    found = []
    for spec in specs:
        values = ""
        if spec.choices:
            values = ", ".join(choice for choice in spec.choices if choice)
        elif spec.minimum is not None:
            values = f"{spec.minimum:g} … {spec.maximum:g}"
        default = str(spec.default).lower() if isinstance(spec.default, bool) else str(spec.default)
        found.append(f"| `{spec.name}` | {default} | {values} | {spec.description} |")
    return found


def table(node: str) -> str:
    """Return the table of one node."""
    head = ["| parameter | default | values | what it is |", "|---|---|---|---|"]
    return "\n".join([*head, *rows(import_module(NODES[node]).PARAMETERS)])


def launch_table(arguments: dict[str, Any]) -> str:
    """Return the table of the arguments of a launch file."""
    found = ["| argument | default | values | what it is |", "|---|---|---|---|"]
    for name, argument in arguments.items():
        default = "must be given" if argument.default is None else argument.default
        found.append(f"| `{name}` | {default} | {', '.join(argument.choices)} | {argument.description} |")
    return "\n".join(found)


def main() -> None:
    """Write the page."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {f"parameters of {node}": table(node) for node in NODES}
    tables["launch"] = launch_table(LAUNCH_ARGUMENTS)
    for name, lines in tables.items():
        place = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, count = re.subn(place, lambda m, new=lines: f"{m[1]}{new}\n{m[2]}", text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} places for {name}, expected 1")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
