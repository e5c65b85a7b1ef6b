"""Parts of a scene: loaded models with their specifications."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from multi_qp_scene.models import LoadedModel
from multi_qp_scene.schema.subsystems import EnvironmentSpec, LoadSpec, SubsystemSpec


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
        """The same parts without the subsystems that are not controlled, and without unknown environment."""
        subsystems = {name: part for name, part in self.subsystems.items() if part[1].controlled}
        known = {name: part for name, part in self.environment.items() if part[1].unknown_part_of is None}
        if len(subsystems) + len(known) == len(self.subsystems) + len(self.environment):
            return self
        return replace(self, subsystems=subsystems, environment=known)
