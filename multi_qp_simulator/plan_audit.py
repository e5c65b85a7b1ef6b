"""Independent verification of contact plans: full model, linear programs, distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import coal
import numpy as np
import pinocchio as pin
from scipy.optimize import linprog

from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.scenario import Scenario

if TYPE_CHECKING:
    from contact_planner.stance import ContactPlan


#: Tolerance of contact poses [m], [rad].
PLACE, ANGLE = 1e-3, float(np.deg2rad(1.0))
#: Tolerated overlap of bodies in contact, by rounding [m].
_MAX_OVERLAP = 3e-3
_LIMIT = 1e-9


def can_stand(contacts: Iterable[Contact], com: Array) -> bool:
    """Return whether the contacts support the weight at a centre of mass, (3,) [m]: a linear program on ray loads."""
    columns = [
        np.concatenate([ray, np.cross(point - com, ray)])
        for contact in contacts
        for point, rays in zip(contact.points_in_world, contact.rays(), strict=True)
        for ray in rays
    ]
    A = np.array(columns).T
    answer = linprog(np.zeros(A.shape[1]), A_eq=A, b_eq=[0, 0, 1, 0, 0, 0], bounds=(0, None), method="highs")
    return bool(answer.status == 0)


class PlanAudit:
    """Verification of the stances of plans for one scenario."""

    def __init__(self, scenario: Scenario, character: str, *, margin: float = 0.0) -> None:
        """Set up.

        Args:
            scenario: the scenario.
            character: the planned subsystem.
            margin: required margin of the centre of mass in each of eight directions [m].
        """
        self._scene, self._name, self._margin = scenario.scene, character, margin
        self._body = self._scene.subsystems[character]
        self._model, self._data = self._scene.model, self._scene.model.createData()
        self._geometry = self._watched()
        self._geometry_data = self._geometry.createData()
        self._q = self._scene.q0

    def _watched(self) -> pin.GeometryModel:
        """Return the geometry with the relevant pairs: the character's own, and its bodies with all others."""
        geometry = self._scene.collision_model.copy()
        geometry.removeAllCollisionPairs()
        objects = list(geometry.geometryObjects)
        own = [item.name.startswith(f"{self._name}/") for item in objects]
        for second in range(len(objects)):
            for first in range(second):
                if own[first] != own[second]:
                    geometry.addCollisionPair(pin.CollisionPair(first, second))
        for first, second in self._own_pairs([k for k in range(len(objects)) if own[k]]):
            geometry.addCollisionPair(pin.CollisionPair(first, second))
        return geometry

    def _own_pairs(self, pieces: Sequence[int]) -> list[tuple[int, int]]:
        """Return all pairs of the character's pieces whose links do not overlap by construction.

        These are the pieces of one rigid body or of neighbours in the tree of bodies that carry pieces, and those that
        overlap at the zero configuration. No list of the model or of the planner is used.
        """
        geometry, objects = self._scene.collision_model, self._scene.collision_model.geometryObjects
        parents = [int(parent) for parent in self._model.parents]
        carrying = {int(objects[k].parentJoint) for k in pieces}

        def above(joint: int) -> int:
            joint = parents[joint]
            while joint and joint not in carrying:
                joint = parents[joint]
            return joint

        data = geometry.createData()
        pin.updateGeometryPlacements(self._model, self._data, geometry, data, pin.neutral(self._model))
        request, found = coal.CollisionRequest(), []
        overlapping = set()
        for first, second in combinations(pieces, 2):
            a, b = int(objects[first].parentJoint), int(objects[second].parentJoint)
            if a == b or above(a) == b or above(b) == a:
                continue
            found.append((first, second))
            shapes = [(objects[k].geometry, data.oMg[k]) for k in (first, second)]
            if coal.collide(*shapes[0], *shapes[1], request, coal.CollisionResult()):
                overlapping.add((a, b))
        joints = [(int(objects[a].parentJoint), int(objects[b].parentJoint)) for a, b in found]
        return [pair for pair, both in zip(found, joints, strict=True) if both not in overlapping]

    def mistakes(self, plan: ContactPlan, *, q: Array | None = None) -> list[str]:
        """Return the errors of all stances of a plan and of the steps between them.

        Args:
            plan: of the character.
            q: configuration of the whole scene with the poses of others, (nq,); the initial one if None.
        """
        self._q = self._scene.q0 if q is None else q
        found: list[str] = []
        for number, stance in enumerate(plan.stances):
            if number == 0:
                continue
            before = plan.stances[number - 1].contacts
            if stance.moved is None:
                rested = self.wrong(stance.q, before.values(), list(before.values()))
                found += [f"{number}, at rest: {text}" for text in rested]
                continue
            rest = [contact for limb, contact in stance.contacts.items() if limb != stance.moved]
            if any(not any(contact.same_as(old) for old in before.values()) for contact in rest):
                found.append(f"{number}: more than one contact changed")
            if (stance.lifted is None) != (stance.moved not in before):
                found.append(f"{number}: no posture for lifting {stance.moved}")
            if stance.lifted is not None:
                lifted = self.wrong(stance.lifted, before.values(), rest)
                found += [f"{number}, before {stance.moved} is lifted: {text}" for text in lifted]
            landed = self.wrong(stance.q, stance.contacts.values(), rest)
            found += [f"{number}, when {stance.moved} has landed: {text}" for text in landed]
        return found

    def wrong(self, posture: Array, touching: Iterable[Contact], holding: Sequence[Contact]) -> list[str]:
        """Return the errors of a posture.

        Args:
            posture: configuration of the character, (nq,).
            touching: required contacts.
            holding: contacts that must support the character.
        """
        q = self._q.copy()
        q[self._body.q_slice] = posture
        pin.framesForwardKinematics(self._model, self._data, q)
        found = [] if self._within_limits(q) else ["a joint is outside its limits"]
        found += [text for contact in touching if (text := self._misplaced(contact))]
        found += self._collisions(q)
        com = self._com()
        angles = np.arange(8) * np.pi / 4
        around = self._margin * np.stack([np.cos(angles), np.sin(angles), np.zeros(8)], axis=1)
        if not all(can_stand(holding, com + offset) for offset in (np.zeros(3), *around)):
            found.append(f"not balanced with a margin of {1e3 * self._margin:g} mm")
        return found

    def _within_limits(self, q: Array) -> bool:
        limits, part = self._scene.limits, self._body.v_slice
        own = [k for k, v in enumerate(limits.v_index) if part.start <= v < part.stop]
        angles = q[limits.q_index[own]]
        return bool((angles >= limits.lower[own] - _LIMIT).all() and (angles <= limits.upper[own] + _LIMIT).all())

    def _misplaced(self, contact: Contact) -> str:
        here = self._data.oMf[self._scene.surfaces[contact.surface].frame_id]
        away = float(np.linalg.norm(here.translation - contact.pose.translation))
        turned = float(np.linalg.norm(pin.log3(here.rotation.T @ contact.pose.rotation)))
        if away <= PLACE and (contact.kind == "point" or turned <= ANGLE):
            return ""
        return f"{contact.name} is {1e3 * away:.2f} mm and {np.rad2deg(turned):.2f}° off its pose"

    def _collisions(self, q: Array) -> list[str]:
        pin.computeDistances(self._model, self._data, self._geometry, self._geometry_data, q)
        pieces = self._geometry.geometryObjects
        return [
            f"{pieces[pair.first].name} is {-1e3 * result.min_distance:.1f} mm inside {pieces[pair.second].name}"
            for pair, result in zip(self._geometry.collisionPairs, self._geometry_data.distanceResults, strict=True)
            if result.min_distance < -_MAX_OVERLAP
        ]

    def _com(self) -> Array:
        joints = [k for k in range(1, self._model.njoints) if self._model.names[k].startswith(f"{self._name}/")]
        masses = np.array([self._model.inertias[k].mass for k in joints])
        places = np.array([self._data.oMi[k].act(self._model.inertias[k].lever) for k in joints])
        return np.asarray(masses @ places / masses.sum())
