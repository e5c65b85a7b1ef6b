"""Scene description: subsystems, surfaces, contacts, environment and scenario files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multi_qp_scene.errors import ConfigError, MultiQpError
    from multi_qp_scene.scenario import Scenario, load_scenario
    from multi_qp_scene.scene import Scene, State

__all__ = ["ConfigError", "MultiQpError", "Scenario", "Scene", "State", "load_scenario"]

#: Module of each public name. Imports are lazy: using one module of the package does not import all of it.
_MODULES = {
    "ConfigError": "errors",
    "MultiQpError": "errors",
    "Scenario": "scenario",
    "Scene": "scene",
    "State": "scene",
    "load_scenario": "scenario",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
