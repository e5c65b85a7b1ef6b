"""`multi-qp`: reads the command line and hands over to one command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from multi_qp_cli import check_command, list_command, run_command
from multi_qp_scene.errors import MultiQpError

#: Exit statuses: the goals were reached; they were not; the arguments or a file are wrong.
SUCCESS, GOALS_MISSED, BAD_INPUT = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="multi-qp",
        description="Several robots, their objects and their surroundings, controlled by one quadratic program.",
        epilog="Exit status: 0 the goals were reached, 1 they were not, 2 bad arguments or a bad file.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (list_command, run_command, check_command):
        command.add_to(commands)
    return parser


def _version() -> str:
    try:
        return version("multi_qp_controller")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
