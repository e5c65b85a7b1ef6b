"""Parts of a scene: loaded models with their specifications."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from multi_qp_scene.models import LoadedModel
from multi_qp_scene.schema.scenario_file import EnvironmentSpec, LoadSpec, SubsystemSpec


@dataclass
class SceneParts:
    """Loaded models and their specifications, by name.

    Attributes:
        subsystems: moving models.
        environment: fixed models.
        loads: variable masses on their links.
    """

    subsystems: dict[str, tuple[LoadedModel, SubsystemSpec]] = field(default_factory=dict)
    environment: dict[str, tuple[LoadedModel, EnvironmentSpec]] = field(default_factory=dict)
    loads: dict[str, LoadSpec] = field(default_factory=dict)

    @property
    def controlled(self) -> SceneParts:
        """The same parts without the subsystems that are not controlled."""
        subsystems = {name: part for name, part in self.subsystems.items() if part[1].controlled}
        return self if len(subsystems) == len(self.subsystems) else replace(self, subsystems=subsystems)
