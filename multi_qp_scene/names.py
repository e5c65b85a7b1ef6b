"""Valid names of references in a scenario file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from multi_qp_scene.mimic import Mimic
from multi_qp_scene.models import LoadedModel


@dataclass
class Names:
    """Valid names in a scenario. Names of subsystems whose model failed to load (`unreadable`) are not checked.

    Attributes:
        moving: subsystems.
        fixed: environment models.
        unreadable: subsystems and environment models without a usable model.
        links: full names of links.
        joints: full names of movable joints.
        surfaces: full names of surfaces, each with that of its link.
        postures: names of postures, by subsystem.
        effort_limits: names of the sets of effort limits, by subsystem.
        mimics: mimic relations by subsystem and joint.
        floating: subsystems with a free-flyer.
        massless: subsystems without mass on any moving link.
        motorised: subsystems with motors.
    """

    moving: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    joints: set[str] = field(default_factory=set)
    surfaces: dict[str, str] = field(default_factory=dict)
    postures: dict[str, set[str]] = field(default_factory=dict)
    effort_limits: dict[str, set[str]] = field(default_factory=dict)
    mimics: dict[str, dict[str, Mimic]] = field(default_factory=dict)
    floating: set[str] = field(default_factory=set)
    massless: set[str] = field(default_factory=set)
    motorised: set[str] = field(default_factory=set)

    def add(self, name: str, loaded: LoadedModel | None, *, moving: bool) -> None:
        """Add the names of one subsystem."""
        (self.moving if moving else self.fixed).add(name)
        if loaded is None:
            self.unreadable.add(name)
            return
        self.unreadable.discard(name)
        self.links |= {f"{name}/{link}" for link in loaded.urdf.links}
        self.joints |= {f"{name}/{joint}" for joint in loaded.urdf.joints}
        self.surfaces |= {f"{name}/{surface}": f"{name}/{spec.link}" for surface, spec in loaded.spec.surfaces.items()}
        self.postures[name] = {"zero", *loaded.spec.postures}
        self.effort_limits[name] = set(loaded.spec.effort_limits)
        self.mimics[name] = loaded.urdf.mimics
        if loaded.spec.root == "free_flyer":
            self.floating.add(name)
        if loaded.urdf.mass == 0.0:
            self.massless.add(name)
        if loaded.urdf.actuated_joints:
            self.motorised.add(name)

    def without(self, subsystems: set[str]) -> Names:
        """Return the names without those of some subsystems or pieces of the environment."""

        def kept(names: set[str]) -> set[str]:
            return {name for name in names if name.split("/")[0] not in subsystems}

        return replace(
            self,
            moving=kept(self.moving),
            fixed=kept(self.fixed),
            links=kept(self.links),
            joints=kept(self.joints),
            surfaces={name: link for name, link in self.surfaces.items() if name.split("/")[0] not in subsystems},
        )

    @property
    def frames(self) -> set[str]:
        """Links and surfaces: names with a pose."""
        return self.links | set(self.surfaces)

    def excused(self, name: str) -> bool:
        """Whether a name belongs to an unreadable subsystem, so that it cannot be checked."""
        return name.split("/")[0] in self.unreadable
