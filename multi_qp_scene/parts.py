"""What a scene is built from."""

from __future__ import annotations

from dataclasses import dataclass, field

from multi_qp_scene.models import LoadedModel
from multi_qp_scene.schema.scenario_file import EnvironmentSpec, LoadSpec, SubsystemSpec


@dataclass
class SceneParts:
    """Models and how they are used, by subsystem name.

    Attributes:
        subsystems: the moving ones.
        environment: the fixed ones.
        loads: masses on their links that may change.
    """

    subsystems: dict[str, tuple[LoadedModel, SubsystemSpec]] = field(default_factory=dict)
    environment: dict[str, tuple[LoadedModel, EnvironmentSpec]] = field(default_factory=dict)
    loads: dict[str, LoadSpec] = field(default_factory=dict)
