"""Plan centre-of-mass trajectories, and generate and evaluate their inputs."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from multi_qp_cli.com import SEQUENCE, SUBCOMMANDS
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.suggestions import unknown_name


def add_to(commands: Any) -> None:
    """Declare the command."""
    modules = {name: import_module(module) for name, module in SUBCOMMANDS.items()}
    parser = commands.add_parser(
        "com",
        description=__doc__,
        epilog="; ".join(f"{name}: {module.SUMMARY}" for name, module in modules.items()),
    )
    what = ", ".join(SUBCOMMANDS) + (", or a contact sequence" if SEQUENCE else "")
    parser.add_argument("what", metavar="WHAT", help=f"{what}; `multi-qp com WHAT --help` for details")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its arguments")
    parser.set_defaults(run=run, parser_class=type(parser))


def run(options: argparse.Namespace) -> int:
    """Run the subcommand."""
    module_name, arguments = SUBCOMMANDS.get(options.what), options.rest
    prog = f"multi-qp com {options.what}"
    if module_name is None:
        if SEQUENCE is None:
            raise MultiQpError(unknown_name("subcommand of com", options.what, list(SUBCOMMANDS)))
        module_name, arguments, prog = SEQUENCE, [options.what, *options.rest], "multi-qp com"
    module = import_module(module_name)
    parser = options.parser_class(prog=prog, description=module.__doc__)
    module.add_options(parser)
    return int(module.run(parser.parse_args(arguments)))
