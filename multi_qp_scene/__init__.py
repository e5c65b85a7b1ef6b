"""Scene description: subsystems, surfaces, contacts, environment and scenario files."""

from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.scene import Scene, State

__all__ = ["ConfigError", "MultiQpError", "Scenario", "Scene", "State", "load_scenario"]
