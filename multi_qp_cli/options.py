"""Command-line options shared by several commands, and their validation."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from multi_qp_controller.qp.choice import FORMULATION_NAMES, SOLVER_NAMES, choose
from multi_qp_scene.errors import KeyedError, MultiQpError
from multi_qp_scene.executor import Executor, executor_of
from multi_qp_scene.limits import check
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.yaml_document import located_in


def add_scenario_options(parser: argparse.ArgumentParser) -> None:
    """Declare the scenario, its parameters and the seed."""
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
        MultiQpError: when an option or the scenario is invalid.
    """
    if options.seed < 0:
        raise MultiQpError(f"--seed: expected 0 or above, got {options.seed}")
    check("seed", options.seed, "--seed")
    scenario = load_scenario(options.scenario, parameters=parameters_from(options.parameters), seed=options.seed)
    try:  # the scene package does not depend on the solvers
        choose((scenario.spec.formulation, scenario.spec.solver))
    except MultiQpError as error:
        with located_in(scenario.path):
            raise KeyedError(("solver",), str(error)) from None
    return scenario


def add_qp_options(parser: argparse.ArgumentParser) -> None:
    """Declare formulation and solver of the QP."""
    parser.add_argument("--solver", help=f"QP solver: {', '.join(SOLVER_NAMES)}")
    parser.add_argument("--formulation", help=f"QP formulation: {', '.join(FORMULATION_NAMES)}")


def check_qp_options(options: argparse.Namespace) -> None:
    """Raise a MultiQpError when formulation or solver is unknown, or they do not fit."""
    require_known("--solver", "solver", options.solver, SOLVER_NAMES)
    require_known("--formulation", "formulation", options.formulation, FORMULATION_NAMES)
    choose((options.formulation, options.solver))


def add_executor_options(parser: Any, *, jobs: int | None, default: str) -> None:
    """Declare where jobs are executed.

    Args:
        parser: parser or group of options.
        jobs: default number of processes.
        default: the same for the help.
    """
    parser.add_argument("--jobs", type=int, default=jobs, metavar="N", help=f"parallel processes (default: {default})")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="execute jobs on the workers of the Dask scheduler at this address, as tcp://host:8786, not here",
    )


def executor_from(options: argparse.Namespace, count: int) -> Executor:
    """Return the executor that the options name, for a number of jobs.

    Raises:
        MultiQpError: the number of processes is invalid, or the cluster does not answer or fit.
    """
    workers = (os.cpu_count() or 1) if options.jobs is None else options.jobs
    if workers < 1:
        raise MultiQpError(f"--jobs: expected 1 or above, got {workers}")
    check("samples", workers, "--jobs")
    return executor_of(min(workers, count), options.cluster)


def name_for_workers(scenario: str) -> str:
    """Return the name of a shipped scenario, or the absolute path of a file, as workers have other folders."""
    return os.path.abspath(scenario) if Path(scenario).suffix in (".yaml", ".yml") else scenario


def require_known(option: str, kind: str, name: str | None, valid: Iterable[str]) -> None:
    """Raise a MultiQpError when a given option is not one of the valid names."""
    names = list(valid)
    if name is not None and name not in names:
        raise MultiQpError(f"{option}: {unknown_name(kind, name, names)}")


def require_within(option: str, value: float | None, limit: str) -> None:
    """Raise a MultiQpError when a given option is not a positive number within a limit."""
    if value is not None and not (math.isfinite(value) and value > 0):
        unit = " of seconds" if limit in ("time", "period") else ""
        raise MultiQpError(f"{option}: expected a positive number{unit}, got {value:g}")
    if value is not None:
        check(limit, value, option)


def parameters_from(settings: list[str]) -> dict[str, float]:
    """Return the parameters of `--set`.

    Raises:
        MultiQpError: when one is invalid.
    """
    values = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise MultiQpError(f"--set: expected NAME=VALUE, got '{setting}'")
        try:
            values[name] = float(value)
        except ValueError:
            raise MultiQpError(f"--set {name}: expected a number, got '{value}'") from None
    return values


def output_path(option: str, text: str | None, *, suffixes: tuple[str, ...] = ()) -> Path | None:
    """Return the output path of an option, checked before any work is done.

    Raises:
        MultiQpError: when it cannot be written, or the suffix is none of `suffixes`.
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
    existed = path.exists()
    if existed and not path.is_file():  # a pipe, whose reader would take this for its end
        return path
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise MultiQpError(f"{option}: cannot write '{text}': {error.strerror}") from None
    return path


def output_folder(option: str, text: str | None) -> Path | None:
    """Return the output folder of an option, made if it does not exist.

    Raises:
        MultiQpError: when it cannot be made.
    """
    if text is None:
        return None
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MultiQpError(f"{option}: cannot make the folder '{folder}': {error.strerror}") from None
    return folder
