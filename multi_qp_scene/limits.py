"""Limits of values in files and options: sizes, counts, and plausible ranges of physical quantities.

`MULTI_QP_LIMITS="friction=50, mesh_bytes=2e9"` in the environment widens ranges so that they include these values; it
applies to all commands, nodes and scripts. Files cannot widen a range: they may be from another author than the user.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.suggestions import unknown_name

#: Environment variable that widens limits.
VARIABLE = "MULTI_QP_LIMITS"


@dataclass(frozen=True)
class Limit:
    """The range of one kind of value.

    Attributes:
        low: least value; 0 passes too where the format takes 0.
        high: largest value; the negative range of a signed value is the mirrored one.
        meaning: the limited quantity, with its unit.
    """

    low: float
    high: float
    meaning: str


#: All limits by name. A file at its size limits is read within some seconds and 1 GB.
LIMITS: dict[str, Limit] = {
    "yaml_bytes": Limit(0, 2e6, "size of a YAML or JSON file [B]"),
    "motion_bytes": Limit(0, 1e8, "size of a recorded motion [B]"),
    "yaml_values": Limit(0, 40_000, "values of a YAML file, with what its aliases and merge keys repeat"),
    "yaml_depth": Limit(0, 60, "nesting of lists and mappings in a YAML file"),
    "name_length": Limit(0, 250, "characters of a name"),
    "xml_bytes": Limit(0, 5e6, "size of a URDF [B]"),
    "xml_depth": Limit(0, 100, "nesting of elements in a URDF or a DAE mesh"),
    "links": Limit(0, 1000, "links of a URDF"),
    "shapes": Limit(0, 1000, "visual and collision shapes of a URDF"),
    "degrees_of_freedom": Limit(0, 150, "degrees of freedom of one subsystem"),
    "bodies": Limit(0, 500, "subsystems and pieces of the environment of a scenario"),
    "mesh_bytes": Limit(0, 150e6, "size of the meshes of a URDF, each counted as often as it is used [B]"),
    "mesh_vertices": Limit(0, 5e6, "vertices and faces of the meshes of a URDF, each counted as often as it is used"),
    "mesh_seconds": Limit(0, 5, "CPU time for loading the meshes of a URDF [s]"),
    "mesh_memory": Limit(0, 1e9, "memory to load a mesh [B]"),
    "convex_solids": Limit(0, 300, "convex solids of a mesh in the environment"),
    "collision_pairs": Limit(0, 5000, "monitored pairs of convex pieces"),
    "ticks": Limit(0, 1e7, "control periods of a run"),
    "samples": Limit(0, 1e5, "points or knots of one random reference"),
    "number": Limit(1e-12, 1e9, "gains, weights, and other numbers without a specific range"),
    "friction": Limit(1e-6, 10, "Coulomb coefficient"),
    "mass": Limit(1e-12, 1e6, "[kg]"),
    "inertia": Limit(0, 1e9, "moment or product of inertia [kg m²]"),
    "gear_ratio": Limit(1e-4, 1e6, "gear ratio"),
    "joint_inertia": Limit(1e-10, 1e9, "inertia moved by a joint [kg m²], [kg]"),
    "length": Limit(1e-9, 1e5, "length, size or distance [m]"),
    "position": Limit(0, 1e5, "coordinate of a position [m]"),
    "angle": Limit(0, 1e3, "joint position or other angle [rad], [m]"),
    "speed": Limit(1e-9, 1e4, "[m/s], [rad/s]"),
    "time": Limit(1e-9, 1e9, "time or duration [s]"),
    "period": Limit(1e-6, 0.5, "control period [s]; one of 5 or of 33.3 was meant in milliseconds"),
    "force": Limit(1e-9, 1e6, "force or torque [N], [N m]"),
    "effort": Limit(0, 1e9, "effort limit of a joint in a URDF that is not infinite [N], [N m]"),
    "scale": Limit(1e-6, 1e6, "factor by which a shape is stretched"),
    "mimic": Limit(0, 1e4, "multiplier of a joint that mimics another"),
    "seed": Limit(0, 2**63 - 1, "seed of random numbers"),
}


def limit(name: str) -> Limit:
    """Return a limit, as widened by the environment variable.

    Raises:
        MultiQpError: the variable is not a list of NAME=VALUE.
    """
    return _limits(os.environ.get(VARIABLE, ""))[name]


def excess(name: str, value: float, *, signed: bool = False, zero: bool = False, counting: bool = False) -> str | None:
    """Return a message for a value outside a limit, with the setting that allows it; None if it is inside.

    Args:
        name: of the limit.
        value: to compare; NaN is outside.
        signed: whether the negative range counts too.
        zero: whether 0 is allowed.
        counting: whether the count was stopped at the limit.
    """
    bounds = limit(name)
    low = -bounds.high if signed else bounds.low
    if low <= value <= bounds.high or (zero and value == 0.0):
        return None
    if counting:
        return f"more than the limit {name!r}, {bounds.high:.10g}; {VARIABLE}={name}={2 * bounds.high:.10g} doubles it"
    place = f"outside the limit {name!r}, [{low:g}, {bounds.high:g}]"
    if not low and value > 0.0:
        place = f"above the limit {name!r}, {bounds.high:.10g}"
    return f"{value:.10g} is {place}; {VARIABLE}={name}={value:.10g} allows it"


def check(name: str, value: float, subject: str) -> None:
    """Raise a MultiQpError that names the subject if a value is outside a limit."""
    message = excess(name, value)
    if message is not None:
        raise MultiQpError(f"{subject}: {message}")


@dataclass(frozen=True)
class Within:
    """Pydantic annotation of a number that must lie within a named limit.

    Attributes:
        name: of the limit.
        signed: whether the negative range counts too.
        zero: whether 0 is allowed.
    """

    name: str
    signed: bool = False
    zero: bool = False

    @property
    def ge(self) -> float | None:
        """Least value, for messages and the reference page."""
        return -LIMITS[self.name].high if self.signed and self.name != "number" else None

    @property
    def le(self) -> float | None:
        """Largest value, for messages and the reference page."""
        return LIMITS[self.name].high if self.name != "number" else None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the number after the checks of type and sign."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: float) -> float:
        message = excess(self.name, value, signed=self.signed, zero=self.zero)
        if message is not None:
            raise ValueError(message)
        return value


@lru_cache(maxsize=8)
def _limits(setting: str) -> dict[str, Limit]:
    limits = dict(LIMITS)
    for entry in setting.replace(",", " ").split():
        name, _, text = entry.partition("=")
        if name not in limits:
            raise MultiQpError(f"{VARIABLE}: {unknown_name('limit', name, limits)}")
        try:
            value = float(text)
        except ValueError:
            raise MultiQpError(f"{VARIABLE}: {name}: expected {name}=NUMBER, got {entry!r}") from None
        bounds, size = limits[name], abs(value)
        if size != size:
            raise MultiQpError(f"{VARIABLE}: {name}: expected a number, got NaN")
        limits[name] = replace(bounds, low=min(bounds.low, size), high=max(bounds.high, size))
    return limits
