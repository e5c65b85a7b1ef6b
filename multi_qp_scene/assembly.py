"""Assembly of the models of subsystems into one pinocchio model."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pinocchio as pin

from multi_qp_scene.models import LoadedModel

_NEUTRAL_TINT = (0.55, 0.6, 0.66)

#: Geometry of a part, with its model, and the placement of its base.
_Geometry = tuple[pin.GeometryModel, pin.Model, pin.SE3]


class Assembler:
    """Appends models under the universe, prefixing every name.

    Attributes:
        model: model of all appended subsystems.
    """

    def __init__(self) -> None:
        self.model = pin.Model()
        self._inertias: dict[str, pin.Inertia] = {}
        self._collision: list[_Geometry] = []
        self._visual: list[_Geometry] = []

    @cached_property
    def collision_model(self) -> pin.GeometryModel:
        """Collision geometry of all subsystems, once all of them are appended."""
        return _gathered(self._collision, self.model)

    @cached_property
    def visual_model(self) -> pin.GeometryModel:
        """Their visual geometry, tinted."""
        return _gathered(self._visual, self.model)

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
        self._collision.append((collision, part, placement))
        self._visual.append((visual, part, placement))
        # appendModel of pinocchio 3.4 applies the placement of fixed joints twice
        for k in range(1, self.model.njoints):
            self.model.inertias[k] = self._inertias[self.model.names[k]]


def _gathered(geometries: list[_Geometry], model: pin.Model) -> pin.GeometryModel:
    """Return the geometries of all parts of a model; each part that is appended shifts the frames of the others."""
    gathered = pin.GeometryModel()
    for more, part, placement in geometries:
        for item in more.geometryObjects:
            frame, joint = part.frames[item.parentFrame], item.parentJoint
            item.parentFrame = model.getFrameId(frame.name, frame.type)
            item.parentJoint = model.getJointId(part.names[joint]) if joint else 0
            if not joint:
                item.placement = placement * item.placement
            gathered.addGeometryObject(item)
    return gathered


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
