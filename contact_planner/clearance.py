"""Collision checks of one character with itself and its surroundings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product

import coal
import numpy as np
import pinocchio as pin

from contact_planner.body import CharacterModel, Limb
from multi_qp_scene.arrays import Array
from multi_qp_scene.pairs import UNLISTED_SECURITY, unlisted_pairs
from multi_qp_scene.separation import Separation

#: Penetration that is tolerated between the last link of a limb and a body that it touches, against rounding [m].
_TOUCH = 2e-3
#: The same at the end of a limb with a point contact: a ball foot whose leg tilts touches beside its point [m].
_TOUCH_POINT = 5e-3
#: Distance of the last link from all other bodies [m].
_APART = 2e-3
#: Distance by which the character's own bodies are separated beyond the least one [m].
_SPARE = 6.5e-3
#: Regularisation of J Jᵀ, and largest change of a joint, when they are separated [m²], [rad].
_SINGULAR, _LARGEST_STEP = 1e-3, 0.3


class CollisionChecker:
    """Collision checker of one character, with itself and with all surrounding bodies.

    Attributes:
        margin: least distance to bodies that are not touched [m].
    """

    def __init__(
        self,
        body: CharacterModel,
        *,
        margin: float = 0.01,
        apart: float | None = None,
        own: float = 0.0,
        touched: Collection[str] = (),
        overlap: float | None = None,
    ) -> None:
        """Select collision pairs: all of the character's own links that can meet, and all with other bodies.

        Args:
            body: the character.
            margin: least distance to bodies that are not touched [m].
            apart: least distance to other characters [m]; `margin` by default.
            own: least distance between bodies of the character itself [m]; of those that its model file does not list,
                at most that which the controller keeps.
            touched: names of other characters that may be touched, beside the environment.
            overlap: tolerated overlap with the environment of links that touch [m]; a small one by default.
        """
        self.margin = margin
        own_geometries = [k for k, g in enumerate(body.geometry.geometryObjects) if g.name.startswith(f"{body.name}/")]
        rest = [k for k in range(body.geometry.ngeoms) if k not in set(own_geometries)]
        ends = {limb.end_joint: _touch(limb) if overlap is None else overlap for limb in body.limbs.values()}
        geometry = body.geometry.copy()
        geometry.removeAllCollisionPairs()
        others = {name for name in body.scene.subsystems if name not in touched}
        margins = []
        for first, second, listed in self.self_pairs(body):
            geometry.addCollisionPair(pin.CollisionPair(first, second))
            margins.append(own if listed else min(own, UNLISTED_SECURITY))
        self._own = Separation(body.model, geometry.copy(), clearance=own + _SPARE)
        for first in own_geometries:
            touches = ends.get(geometry.geometryObjects[first].parentJoint)
            for second in rest:
                geometry.addCollisionPair(pin.CollisionPair(first, second))
                if geometry.geometryObjects[second].name.split("/")[0] in others:
                    margins.append(margin if apart is None else apart)
                else:
                    margins.append(margin if touches is None else -touches)
        objects = list(geometry.geometryObjects)
        self._rest = [(objects[k].name.split("/")[0], objects[k].geometry, objects[k].placement) for k in rest]
        self._ends = {
            end: [(objects[k].geometry, objects[k].placement) for k in own_geometries if objects[k].parentJoint == end]
            for end in ends
        }
        self._end_request, self._end_result = coal.CollisionRequest(), coal.CollisionResult()
        self._trunk_joints = set(range(body.model.njoints)) - {k for limb in body.limbs.values() for k in limb.links}
        self._all = _CollisionPairs(body, geometry, margins)
        self._trunk = self._all.subset(self._trunk_joints, rest)
        self._limbs = {name: self._all.subset(set(limb.links), rest) for name, limb in body.limbs.items()}
        self._away = {
            name: Separation(
                body.model,
                self._all.subset(set(limb.links) - {limb.end_joint}, rest).geometry,
                clearance=margin + _SPARE,
            )
            for name, limb in body.limbs.items()
        }

    def end_is_free(self, limb: Limb, X_world_surface: pin.SE3, onto: str) -> bool:
        """Whether the last link of a limb is collision-free with its surface at a pose; other links are not checked.

        Args:
            limb: the limb.
            X_world_surface: pose of its surface.
            onto: full name of the surface that it touches there; other bodies need a distance.
        """
        X_world_joint = X_world_surface * limb.X_joint_surface.inverse()
        touched = onto.split("/")[0]
        for piece, place in self._ends[limb.end_joint]:
            X_world_piece = X_world_joint * place
            for owner, other, there in self._rest:
                self._end_request.security_margin = -_touch(limb) if owner == touched else _APART
                self._end_result.clear()
                if coal.collide(piece, X_world_piece, other, there, self._end_request, self._end_result):
                    return False
        return True

    @staticmethod
    def self_pairs(body: CharacterModel) -> Iterable[tuple[int, int, bool]]:
        """Yield the pairs of geometries of the character that can meet, and whether its model file lists them."""
        frames, geometry = body.model.frames, body.geometry
        by_link: dict[str, list[int]] = {}
        for k, piece in enumerate(geometry.geometryObjects):
            by_link.setdefault(frames[piece.parentFrame].name, []).append(k)
        listed = body.scene.self_collisions.get(body.name, ())
        for pair in (*listed, *unlisted_pairs(body.scene, body.name)):
            for first, second in product(*(by_link.get(link, ()) for link in pair)):
                yield first, second, pair in listed

    def is_free(self, q: Array) -> bool:
        """Whether the whole body is collision-free, apart from the last links of limbs that touch."""
        return self._all.is_free(q)

    def is_free_but_for(self, q: Array, limbs: Iterable[Limb]) -> bool:
        """Whether all collisions involve one of these limbs."""
        links = {k for limb in limbs for k in limb.links}
        return all(links & {first, second} for first, second in self._all.hitting_joints(q))

    def limb_is_free(self, limb: Limb, q: Array) -> bool:
        """Whether the links of one limb keep their distance from the surroundings."""
        return self._limbs[limb.name].is_free(q)

    def trunk_is_free(self, q: Array) -> bool:
        """Whether the links of no limb keep their distance from the surroundings."""
        return self._trunk.is_free(q)

    def hits(self, q: Array) -> list[tuple[str, str]]:
        """Return the pairs of geometries that are too close."""
        return self._all.hits(q)

    def separating_step(self, q: Array) -> Array:
        """Return the least change of joint angles that separates the character's own bodies to first order, (nv,)."""
        return _least_step(*self._own.rows(q))

    def withdrawing_step(self, q: Array, limbs: Iterable[str], J_kept: Array) -> Array:
        """Return the least change of configuration that also withdraws limbs from the surroundings, (nv,).

        Args:
            q: configuration, (nq,).
            limbs: names of the limbs; their last links, which touch, are left out.
            J_kept: Jacobian of what the change maintains to first order, such as contacts, (k, nv).
        """
        found = [self._own.rows(q), *(self._away[limb].rows(q) for limb in limbs)]
        J, lacks = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _least_step(J - (J @ np.linalg.pinv(J_kept, rcond=1e-6)) @ J_kept, lacks)


def _least_step(J: Array, lacks: Array) -> Array:
    """Return the least step, (nv,), that increases distances of gradients J, (k, nv), by `lacks`, (k,) [m]."""
    step: Array = J.T @ np.linalg.solve(J @ J.T + _SINGULAR * np.eye(len(lacks)), lacks)
    largest = float(np.abs(step).max(initial=0.0))
    return step * min(1.0, _LARGEST_STEP / largest) if largest > 0.0 else step


def _touch(limb: Limb) -> float:
    return _TOUCH_POINT if limb.surface.kind == "point" else _TOUCH


class _CollisionPairs:
    """Collision test over a list of geometry pairs."""

    def __init__(self, body: CharacterModel, geometry: pin.GeometryModel, margins: list[float]) -> None:
        self._model, self._data, self.geometry = body.model, body.model.createData(), geometry
        self._geometry_data = geometry.createData()
        self._body, self._margins = body, margins
        for k, margin in enumerate(margins):
            self._geometry_data.collisionRequests[k].security_margin = margin

    def subset(self, joints: set[int], others: list[int]) -> _CollisionPairs:
        """Return the test of the geometries on these joints with these other geometries."""
        geometry, margins = self.geometry.copy(), []
        geometry.removeAllCollisionPairs()
        for pair, margin in zip(list(self.geometry.collisionPairs), self._margins, strict=True):
            if pair.second in others and self.geometry.geometryObjects[pair.first].parentJoint in joints:
                geometry.addCollisionPair(pair)
                margins.append(margin)
        return _CollisionPairs(self._body, geometry, margins)

    def is_free(self, q: Array) -> bool:
        return not pin.computeCollisions(self._model, self._data, self.geometry, self._geometry_data, q, True)

    def hitting_joints(self, q: Array) -> list[tuple[int, int]]:
        """Return the pairs of joints whose geometries are too close."""
        objects = self.geometry.geometryObjects
        return [(int(objects[a].parentJoint), int(objects[b].parentJoint)) for a, b in self._hitting(q)]

    def hits(self, q: Array) -> list[tuple[str, str]]:
        objects = self.geometry.geometryObjects
        return [(str(objects[a].name), str(objects[b].name)) for a, b in self._hitting(q)]

    def _hitting(self, q: Array) -> list[tuple[int, int]]:
        pin.computeCollisions(self._model, self._data, self.geometry, self._geometry_data, q, False)
        return [
            (int(pair.first), int(pair.second))
            for pair, result in zip(self.geometry.collisionPairs, self._geometry_data.collisionResults, strict=True)
            if result.isCollision()
        ]
