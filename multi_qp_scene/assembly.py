"""Assembly of the models of subsystems into one pinocchio model."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.models import LoadedModel

_NEUTRAL_TINT = (0.55, 0.6, 0.66)


class Assembler:
    """Appends models under the universe, prefixing every name.

    Attributes:
        model: model of all appended subsystems.
        collision_model: their collision geometry.
        visual_model: their visual geometry, tinted.
    """

    def __init__(self) -> None:
        self.model = pin.Model()
        self.collision_model = pin.GeometryModel()
        self.visual_model = pin.GeometryModel()
        self._inertias: dict[str, pin.Inertia] = {}

    def append(
        self,
        name: str,
        loaded: LoadedModel,
        *,
        mass: float | None,
        placement: pin.SE3,
        color: tuple[float, float, float] | None,
    ) -> None:
        """Append one subsystem with its base at `placement`."""
        urdf = loaded.urdf
        part = urdf.model.copy()
        collision, visual = urdf.collision_model.copy(), urdf.visual_model.copy()
        _tint(visual, urdf.tinted, color or loaded.spec.color or _NEUTRAL_TINT)
        _prefix(part, name)
        for geometry in (collision, visual):
            for item in geometry.geometryObjects:
                item.name = f"{name}/{item.name}"
        if mass is not None:
            _scale_mass(part, mass)
        self._inertias |= {part.names[k]: part.inertias[k].copy() for k in range(1, part.njoints)}
        self.model = pin.appendModel(self.model, part, 0, placement)
        # appendModel would add all collision pairs, in a time that is cubic in the number of pieces
        _append(self.collision_model, collision, self.model, part, placement)
        _append(self.visual_model, visual, self.model, part, placement)
        # appendModel of pinocchio 3.4 applies the placement of fixed joints twice
        for k in range(1, self.model.njoints):
            self.model.inertias[k] = self._inertias[self.model.names[k]]


def _append(
    geometries: pin.GeometryModel, more: pin.GeometryModel, model: pin.Model, part: pin.Model, placement: pin.SE3
) -> None:
    """Add a part's geometries to those of the model that it has been appended to."""
    for item in more.geometryObjects:
        frame, joint = part.frames[item.parentFrame], item.parentJoint
        item.parentFrame = model.getFrameId(frame.name, frame.type)
        item.parentJoint = model.getJointId(part.names[joint]) if joint else 0
        if not joint:
            item.placement = placement * item.placement
        geometries.addGeometryObject(item)


def _prefix(model: pin.Model, name: str) -> None:
    for k in range(1, model.njoints):
        model.names[k] = f"{name}/{model.names[k]}"
    for frame in list(model.frames)[1:]:
        model.frames[model.getFrameId(frame.name, frame.type)].name = f"{name}/{frame.name}"


def _scale_mass(model: pin.Model, mass: float) -> None:
    total = sum(inertia.mass for inertia in model.inertias)
    for k, inertia in enumerate(model.inertias):
        scale = mass / total
        model.inertias[k] = pin.Inertia(inertia.mass * scale, inertia.lever, inertia.inertia * scale)


def _tint(visual: pin.GeometryModel, tinted: frozenset[str], color: tuple[float, float, float]) -> None:
    for item in visual.geometryObjects:
        if item.name in tinted:
            item.meshColor = np.array([*color, 1.0])
