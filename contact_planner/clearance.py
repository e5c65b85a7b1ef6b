"""Does a posture touch what it should not?"""

from __future__ import annotations

from collections.abc import Iterable

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body, Limb

Array = NDArray[np.float64]

#: How far the bodies at the ends of limbs may sink into what they touch [m]: numbers are rounded.
_TOUCH = 2e-3
#: What they keep from bodies beside it [m].
_APART = 2e-3


class Clearance:
    """Collision tests of one character, with itself and with all that stands around it.

    Attributes:
        margin: distance that is kept to what is not touched [m].
    """

    def __init__(self, body: Body, *, margin: float = 0.01) -> None:
        """Choose the pairs: those that the model file names for the character itself, and all with the rest."""
        self.margin = margin
        own = [k for k, g in enumerate(body.geometry.geometryObjects) if g.name.startswith(f"{body.name}/")]
        rest = [k for k in range(body.geometry.ngeoms) if k not in set(own)]
        ends = {limb.end_joint for limb in body.limbs.values()}
        geometry = body.geometry.copy()
        geometry.removeAllCollisionPairs()
        margins = []
        for first, second in self.self_pairs(body):
            geometry.addCollisionPair(pin.CollisionPair(first, second))
            margins.append(0.0)
        for first in own:
            touches = geometry.geometryObjects[first].parentJoint in ends
            for second in rest:
                geometry.addCollisionPair(pin.CollisionPair(first, second))
                margins.append(-_TOUCH if touches else margin)
        objects = list(geometry.geometryObjects)
        self._rest = [(objects[k].name.split("/")[0], objects[k].geometry, objects[k].placement) for k in rest]
        self._ends = {
            end: [(objects[k].geometry, objects[k].placement) for k in own if objects[k].parentJoint == end]
            for end in ends
        }
        self._end_request, self._end_result = coal.CollisionRequest(), coal.CollisionResult()
        self._trunk_joints = set(range(body.model.njoints)) - {k for limb in body.limbs.values() for k in limb.links}
        self._whole = _Test(body, geometry, margins)
        trunk = geometry.copy()
        trunk.removeAllCollisionPairs()
        trunk_margins = []
        for pair, kept in zip(list(geometry.collisionPairs), margins, strict=True):
            if pair.second in rest and geometry.geometryObjects[pair.first].parentJoint in self._trunk_joints:
                trunk.addCollisionPair(pair)
                trunk_margins.append(kept)
        self._trunk = _Test(body, trunk, trunk_margins)

    def end_is_free(self, limb: Limb, X_world_surface: pin.SE3, onto: str) -> bool:
        """Whether the last link of a limb would hit nothing with its surface at a pose, the rest of the body aside.

        Args:
            limb: the limb.
            X_world_surface: where its surface would be.
            onto: full name of the surface that it touches there; from other bodies it keeps a distance.
        """
        X_world_joint = X_world_surface * limb.X_joint_surface.inverse()
        touched = onto.split("/")[0]
        for piece, place in self._ends[limb.end_joint]:
            X_world_piece = X_world_joint * place
            for owner, other, there in self._rest:
                self._end_request.security_margin = -_TOUCH if owner == touched else _APART
                self._end_result.clear()
                if coal.collide(piece, X_world_piece, other, there, self._end_request, self._end_result):
                    return False
        return True

    @staticmethod
    def self_pairs(body: Body) -> Iterable[tuple[int, int]]:
        """Return the pairs of geometries of the character that its model file says to keep apart."""
        frames, geometry = body.model.frames, body.geometry
        by_link: dict[str, list[int]] = {}
        for k, piece in enumerate(geometry.geometryObjects):
            by_link.setdefault(frames[piece.parentFrame].name, []).append(k)
        for link_1, link_2 in body.scene.self_collisions.get(body.name, ()):
            for first in by_link.get(link_1, ()):
                for second in by_link.get(link_2, ()):
                    yield first, second

    def is_free(self, q: Array) -> bool:
        """Whether the whole body touches nothing but where its limbs end."""
        return self._whole.is_free(q)

    def trunk_is_free(self, q: Array) -> bool:
        """Whether what belongs to no limb keeps its distance to the surroundings."""
        return self._trunk.is_free(q)

    def hits(self, q: Array) -> list[tuple[str, str]]:
        """Return the pairs of geometries that are too close."""
        return self._whole.hits(q)


class _Test:
    def __init__(self, body: Body, geometry: pin.GeometryModel, margins: list[float]) -> None:
        self._model, self._data, self._geometry = body.model, body.model.createData(), geometry
        self._geometry_data = geometry.createData()
        for k, margin in enumerate(margins):
            self._geometry_data.collisionRequests[k].security_margin = margin

    def is_free(self, q: Array) -> bool:
        return not pin.computeCollisions(self._model, self._data, self._geometry, self._geometry_data, q, True)

    def hits(self, q: Array) -> list[tuple[str, str]]:
        pin.computeCollisions(self._model, self._data, self._geometry, self._geometry_data, q, False)
        objects = self._geometry.geometryObjects
        return [
            (objects[pair.first].name, objects[pair.second].name)
            for pair, result in zip(self._geometry.collisionPairs, self._geometry_data.collisionResults, strict=True)
            if result.isCollision()
        ]
