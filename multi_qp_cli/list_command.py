"""List the scenarios, one line each."""

from __future__ import annotations

import argparse
from typing import Any

from rich.text import Text

from multi_qp_cli.output import Console
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.resources import scenario_names, scenario_path
from multi_qp_scene.yaml_document import YamlDocument


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("list", description=__doc__)
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the scenarios with their parameters, truncated to the width of a terminal."""
    console = Console()
    names = scenario_names()
    width = max(map(len, names), default=0)
    for name in names:
        description, parameters = _about(name)
        line = Text.assemble((name.ljust(width), "bold"), "  ", description, ("  " + parameters, "dim"))
        line.rstrip()
        if console.is_terminal:
            line.truncate(console.width, overflow="ellipsis")
        console.print(line, soft_wrap=True)
    return 0


def _about(name: str) -> tuple[str, str]:
    try:
        data = YamlDocument.load(scenario_path(name)).data
    except ConfigError:
        return "(cannot be read: see multi-qp check)", ""
    parameters = data.get("parameters") or {}
    shown = ", ".join(f"{key}={value.get('default')}" for key, value in parameters.items() if isinstance(value, dict))
    return str(data.get("description", "")), shown
