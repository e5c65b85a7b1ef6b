"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from pathlib import Path

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario, load_scenario


def add_scenario_options(parser: argparse.ArgumentParser) -> None:
    """Declare which scenario is meant, and with which parameters."""
    parser.add_argument("scenario", help="a name from `multi-qp list`, or the path of a .yaml file")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="parameters",
        help="set a parameter that the scenario declares, as box.mass=5; can be repeated",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random in the scenario (default 0)")


def load_from(options: argparse.Namespace) -> Scenario:
    """Load the scenario that the options name.

    Raises:
        MultiQpError: when an option or the scenario is wrong.
    """
    return load_scenario(options.scenario, parameters=_parameters(options.parameters), seed=options.seed)


def _parameters(settings: list[str]) -> dict[str, float]:
    values = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise MultiQpError(f"--set takes NAME=VALUE, got '{setting}'")
        try:
            values[name] = float(value)
        except ValueError:
            raise MultiQpError(f"--set {name}: expected a number, got '{value}'") from None
    return values


def output_path(option: str, text: str | None, *, suffixes: tuple[str, ...] = ()) -> Path | None:
    """Return where an option writes to; refuse a place that cannot be written before any work is done.

    Raises:
        MultiQpError: when the folder is not there, or the suffix is none of `suffixes`.
    """
    if text is None:
        return None
    path = Path(text)
    if suffixes and path.suffix.lower() not in suffixes:
        raise MultiQpError(f"{option}: expected a file ending in {' or '.join(suffixes)}, got '{text}'")
    if path.is_dir():
        raise MultiQpError(f"{option}: '{text}' is a folder, expected a file")
    if not path.absolute().parent.is_dir():
        raise MultiQpError(f"{option}: the folder '{path.parent}' does not exist")
    return path
