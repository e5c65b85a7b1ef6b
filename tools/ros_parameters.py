"""Lists of parameters and launch arguments, written into docs/ros2.md: `python tools/ros_parameters.py`."""

from __future__ import annotations

import re
import textwrap
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


def item(name: str, default: str, values: str, description: str) -> str:
    """Return an item of a list, wrapped at 120 columns: name, default, range or choices, description."""
    terms = f" ({values})" if values else ""
    text = f"- `{name}`{default and ' = '}{default}{terms}: {description}"
    return textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def parameter_list(node: str) -> str:
    """Return the list of parameters of one node."""
    items = []
    for spec in import_module(NODES[node]).PARAMETERS:
        values = ""
        if spec.choices:
            values = ", ".join(choice for choice in spec.choices if choice)
        elif spec.minimum is not None:
            values = f"{spec.minimum:g} … {spec.maximum:g}"
        default = str(spec.default).lower() if isinstance(spec.default, bool) else str(spec.default)
        items.append(item(spec.name, default, values, spec.description))
    return "\n".join(items)


def launch_list(arguments: dict[str, Any]) -> str:
    """Return the list of the arguments of a launch file."""
    items = []
    for name, argument in arguments.items():
        values = "must be given" if argument.default is None else ", ".join(argument.choices)
        items.append(item(name, argument.default or "", values, argument.description))
    return "\n".join(items)


def main() -> None:
    """Write the page."""
    text = PAGE.read_text(encoding="utf-8")
    lists = {f"parameters of {node}": parameter_list(node) for node in NODES}
    lists["launch"] = launch_list(LAUNCH_ARGUMENTS)
    for name, lines in lists.items():
        place = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, count = re.subn(place, lambda m, new=lines: f"{m[1]}{new}\n{m[2]}", text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} places for {name}, expected 1")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
