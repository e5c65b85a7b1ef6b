"""Command-line parser of `multi-qp` and dispatch to its commands."""

from __future__ import annotations

import argparse
import errno
import gc
import logging
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from multi_qp_cli.output import LogFormatter, discard_standard_output
from multi_qp_scene.errors import MultiQpError

#: Exit statuses: goals reached; goals not reached; invalid arguments or file.
SUCCESS, GOALS_MISSED, BAD_INPUT = 0, 1, 2
#: Commands with their summaries, in the order of the help; each is a module `<name>_command`.
COMMANDS = {
    "list": "list the scenarios",
    "run": "run a scenario",
    "plan": "plan the contacts of a scenario that has a goal instead of states",
    "synthesize": "find contacts and motion of a scenario from task terms",
    "motion": "retarget a recorded motion of a person to a robot",
    "ros": "run a scenario as a ROS 2 graph",
    "check": "check a scenario file",
    "show": "draw a model and its contact surfaces",
    "replay": "recompute a tick of a recording",
    "com": "centre-of-mass trajectories",
    "table": "run the paper's scenes and compare with its Table 1",
    "plot": "plot curves or tick times from logs",
    "bench": "benchmarks, together with comparable software",
    "robustness": "randomised runs with model mismatch and disturbances",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return exit_status("multi-qp", lambda: _run(given))


def exit_status(program: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit status; a user's mistake is one message of the program, not a traceback."""
    try:
        try:
            return command()
        finally:
            if sys.stdout is not None:  # None if it was closed by the caller
                sys.stdout.flush()  # report write errors here, not during the shutdown of Python
    except MultiQpError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return GOALS_MISSED
    except BrokenPipeError:  # the reader of a pipe has closed it, as in `multi-qp list | head -1`
        discard_standard_output()
        return SUCCESS
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        discard_standard_output()
        print(f"{program}: cannot write {error.filename or 'to standard output'}: {error.strerror}", file=sys.stderr)
        return BAD_INPUT


def _run(given: list[str]) -> int:
    options = _parser(given).parse_args(given)
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("multi-qp: %(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    if sys.stderr.isatty():  # interactive: report compilation
        logging.getLogger("multi_qp_scene.jit").setLevel(logging.INFO)
    return int(options.run(options))


class _Parser(argparse.ArgumentParser):
    """Parser without abbreviations of options, whose errors are one line; also the class of the command parsers."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Print an error and exit."""
        self.exit(BAD_INPUT, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command line; no command but the given one is imported, since imports are slow."""
    parser = _Parser(
        prog="multi-qp",
        description="Whole-body control of several robots, objects and their environment by one quadratic program.",
        epilog="Exit status: 0 goals reached by a healthy run, 1 not, 2 invalid arguments or file.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if given and given[0] in COMMANDS:
        gc.disable()  # collections are a fifth of the time of imports
        try:
            command = import_module(f"multi_qp_cli.{given[0]}_command")
        finally:
            gc.freeze()
            gc.enable()
        command.add_to(commands)
    else:  # the help of `multi-qp`, or an error
        for name, summary in COMMANDS.items():
            commands.add_parser(name, help=summary)
    return parser


def _version() -> str:
    try:
        return version("multi_qp_controller")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
