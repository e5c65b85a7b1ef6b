"""`multi-qp`: reads the command line and hands over to one command."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from multi_qp_cli import (
    bench_command,
    check_command,
    com_command,
    list_command,
    plan_command,
    plot_command,
    replay_command,
    robustness_command,
    ros_command,
    run_command,
    table_command,
)
from multi_qp_scene.errors import MultiQpError

#: Exit statuses: the goals were reached; they were not; the arguments or a file are wrong.
SUCCESS, GOALS_MISSED, BAD_INPUT = 0, 1, 2
#: In the order in which the help lists them.
COMMANDS: tuple[Any, ...] = (
    list_command,
    run_command,
    plan_command,
    ros_command,
    check_command,
    replay_command,
    com_command,
    table_command,
    plot_command,
    bench_command,
    robustness_command,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="multi-qp: %(levelname)s: %(message)s", level=logging.WARNING)
    if sys.stderr.isatty():  # somebody waits
        logging.getLogger("multi_qp_scene.jit").setLevel(logging.INFO)
    try:
        return int(options.run(options))
    except MultiQpError as error:
        print(f"multi-qp: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("multi-qp: interrupted", file=sys.stderr)
        return GOALS_MISSED
    except BrokenPipeError:  # the reader of a pipe has gone, as in `multi-qp list | head -1`
        sys.stderr.close()
        return SUCCESS


class _Parser(argparse.ArgumentParser):
    """Takes options only in full and answers a wrong one with one line, as do the parsers of the commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit."""
        self.exit(BAD_INPUT, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="multi-qp",
        description="Several robots, their objects and their surroundings, controlled by one quadratic program.",
        epilog="Exit status: 0 the goals were reached, 1 they were not, 2 bad arguments or a bad file.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return parser


def _version() -> str:
    try:
        return version("multi_qp_controller")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
