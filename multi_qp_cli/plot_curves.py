"""Curves of a log for `multi-qp plot`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.npz_files import read_arrays
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.log import LARGEST, WHAT
from multi_qp_viewer.curves import RunCurves, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Kinds of dtype and shape of the arrays of a log that are read; letters are sizes, see `_sizes`.
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
}
#: Arrays that may contain NaN.
_WITH_NAN = ("task_error",)


class _About(msgspec.Struct):
    """Part of the JSON in a log from which the scene is built."""

    name: str
    parameters: dict[str, float]
    seed: int


def curves_of(path: Path, scenario_file: str | None) -> tuple[RunCurves, Series, Scenario]:
    """Return the curves of a log.

    Args:
        path: of the log.
        scenario_file: scenario of the log; None for one of `multi-qp list`, which the log names.

    Raises:
        MultiQpError: when it is no log, its scenario is unknown, or it is the log of another scene.
    """
    arrays = read_arrays(path, [*_ARRAYS, "scenario"], what=WHAT, largest=LARGEST)
    scenario = _scenario(path, arrays.pop("scenario"), scenario_file)
    scene = scenario.scene
    sizes: dict[str | int, int] = {"nq": scene.nq, "nv": scene.nv, "na": scene.na}
    for size, name in (("T", "time"), ("C", "contact_names"), ("P", "task_names")):
        sizes[size] = arrays[name].size
    if sizes["T"] == 0:
        raise MultiQpError(f"'{path}' contains no ticks")
    for name, (kind, letters) in _ARRAYS.items():
        array, shape = arrays[name], tuple(sizes.get(letter, letter) for letter in letters)
        if array.dtype.kind != kind or array.shape != shape:
            found = f"has dtype {array.dtype} and shape {array.shape}, expected {shape}"
            raise MultiQpError(f"'{path}': {name} {found}; is not a log of the scenario '{scenario.name}'")
        if kind == "f":
            arrays[name] = array.astype(float)
            if name not in _WITH_NAN and not np.isfinite(arrays[name]).all():
                raise MultiQpError(f"'{path}': {name} is not finite")
    if (np.diff(arrays["time"]) < 0.0).any():
        raise MultiQpError(f"'{path}': time is not increasing")
    series = Series(**arrays)
    return RunCurves(scene, series), series, scenario


def curve_drawing(path: Path, scenario_file: str | None, globs: Sequence[str] | None) -> Callable[[Figure], None]:
    """Return the drawing of the curves that match patterns, or, without patterns, of the balance from above.

    Raises:
        MultiQpError: as `curves_of`; when a pattern matches no curve, or the curves need too many panels.
    """
    curves, series, scenario = curves_of(path, scenario_file)
    from multi_qp_viewer import curve_plots  # imports matplotlib

    if globs is None:
        characters = [c.name for c in scenario.scene.characters]
        if not characters:
            raise MultiQpError("--over plane: the scene has no characters")
        balances = {name: curves.balance(name) for name in characters}
        return lambda figure: curve_plots.draw_balance(figure, balances)
    chosen = [curves.curve(name) for name in curves.match(globs)]
    panels = len({(curve.panel, curve.unit) for curve in chosen})
    if panels > curve_plots.MOST_PANELS:
        raise MultiQpError(f"--curves: {panels} panels, expected at most {curve_plots.MOST_PANELS}; name fewer curves")
    return lambda figure: curve_plots.draw_curves(figure, series.time, series.state, chosen)


def _scenario(path: Path, written: NDArray[Any], scenario_file: str | None) -> Scenario:
    try:
        about = msgspec.json.decode(str(written), type=_About)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MultiQpError(f"'{path}': scenario: {error}; is not {WHAT}") from None
    if scenario_file is None and about.name not in scenario_names():
        raise MultiQpError(f"'{path}': the scenario '{about.name}' is not in `multi-qp list`: add --scenario FILE.yaml")
    return load_scenario(scenario_file or about.name, parameters=about.parameters, seed=about.seed)
