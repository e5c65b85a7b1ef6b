"""Logs that `multi-qp plot` reads, with validation: they may be damaged, or of another scene."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import check
from multi_qp_scene.npz_files import read_arrays
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.log import LARGEST, QP_SIZE, WHAT
from multi_qp_viewer.curves import RunCurves, Series

if TYPE_CHECKING:
    from multi_qp_viewer.plots import RunTimes

#: Kinds of dtype and shape of the arrays of a log that are read; letters are sizes, see `_read`.
_ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "time": ("f", ("T",)),
    "state": ("U", ("T",)),
    "q": ("f", ("T", "nq")),
    "v": ("f", ("T", "nv")),
    "tau": ("f", ("T", "na")),
    "contact_names": ("U", ("C",)),
    "contact_surfaces": ("U", ("C", 2)),
    "contact_friction": ("f", ("C",)),
    "contact_active": ("b", ("T", "C")),
    "contact_wrench": ("f", ("T", "C", 6)),
    "task_names": ("U", ("P",)),
    "task_units": ("U", ("P",)),
    "task_error": ("f", ("T", "P")),
    "tick_ms": ("f", ("T",)),
    "qp_size": ("i", ("T", len(QP_SIZE))),
}
#: Arrays of tick times; the curves are of the others.
_OF_TICKS = ("time", "tick_ms", "state", "qp_size")
#: Arrays that may contain NaN.
_WITH_NAN = ("task_error",)
#: Largest uncompressed size of these arrays [B], about 3 million ticks.
_LARGEST_TICKS = 256 << 20
#: Longest run [s].
_LONGEST = 1e8


class _About(msgspec.Struct):
    """Part of the JSON in a log that is read."""

    name: str
    parameters: dict[str, float]
    seed: int
    dt: float


def times_of(path: Path) -> RunTimes:
    """Return the tick times of a log.

    Raises:
        MultiQpError: when it is not a log, is empty, or contains invalid numbers.
    """
    from multi_qp_viewer.plots import RunTimes  # imports matplotlib

    arrays = read_arrays(path, [*_OF_TICKS, "scenario"], what=WHAT, largest=_LARGEST_TICKS)
    about = _about(path, arrays.pop("scenario"))
    _validate(path, arrays, {}, WHAT)
    check("period", about.dt, f"'{path}': dt")
    tick_ms = arrays["tick_ms"]
    if not ((tick_ms >= 0.0) & (tick_ms <= 1e3 * _LONGEST)).all():
        raise MultiQpError(f"'{path}': tick_ms is not finite and positive")
    variables = int(arrays["qp_size"][:, 0].max())
    return RunTimes(about.name, arrays["time"], tick_ms, arrays["state"], about.dt, variables)


def curves_of(path: Path, scenario_file: str | None) -> tuple[RunCurves, Series, Scenario]:
    """Return the curves of a log.

    Args:
        path: of the log.
        scenario_file: scenario of the log; None for one of `multi-qp list`, which the log names.

    Raises:
        MultiQpError: when it is no log, its scenario is unknown, or it is the log of another scene.
    """
    names = [name for name in _ARRAYS if name in Series.__dataclass_fields__]
    arrays = read_arrays(path, [*names, "scenario"], what=WHAT, largest=LARGEST)
    about = _about(path, arrays.pop("scenario"))
    if scenario_file is None and about.name not in scenario_names():
        raise MultiQpError(f"'{path}': the scenario '{about.name}' is not in `multi-qp list`: add --scenario FILE.yaml")
    scenario = load_scenario(scenario_file or about.name, parameters=about.parameters, seed=about.seed)
    scene = scenario.scene
    sizes = {"nq": scene.nq, "nv": scene.nv, "na": scene.na}
    sizes |= {"C": arrays["contact_names"].size, "P": arrays["task_names"].size}
    _validate(path, arrays, sizes, f"a log of the scenario '{scenario.name}'")
    series = Series(**arrays)
    return RunCurves(scene, series), series, scenario


def _about(path: Path, written: NDArray[Any]) -> _About:
    try:
        return msgspec.json.decode(str(written), type=_About)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MultiQpError(f"'{path}': scenario: {error}; is not {WHAT}") from None


def _validate(path: Path, arrays: dict[str, NDArray[Any]], sizes: dict[str, int], what: str) -> None:
    """Check arrays of a log, with sizes by their letters except T, the ticks; convert all floats to float64.

    Raises:
        MultiQpError: when one does not have its shape, or a number is invalid; it is not `what`.
    """
    ticks = arrays["time"].size
    if ticks == 0:
        raise MultiQpError(f"'{path}' contains no ticks")
    letters = {**sizes, "T": ticks}
    for name, array in arrays.items():
        kind, shape = _ARRAYS[name][0], tuple(letters.get(str(letter), letter) for letter in _ARRAYS[name][1])
        if array.dtype.kind != kind or array.shape != shape:
            found = f"has dtype {array.dtype} and shape {array.shape}, expected {shape}"
            raise MultiQpError(f"'{path}': {name} {found}; is not {what}")
        if kind == "f":
            arrays[name] = array.astype(float)
            if name not in _WITH_NAN and not np.isfinite(arrays[name]).all():
                raise MultiQpError(f"'{path}': {name} is not finite")
    if (np.diff(arrays["time"]) < 0.0).any() or np.abs(arrays["time"]).max() > _LONGEST:
        raise MultiQpError(f"'{path}': time is not increasing, or above {_LONGEST:g} s")
