"""Pairs of pieces that the refinement keeps apart: at which nodes, by how much, with which weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pinocchio as pin

from contact_invariant.capsules import touching_joints
from contact_invariant.character import Character, Effector, behaviour_of
from contact_invariant.contact_schedule import Span, feet_of
from contact_invariant.moving_surfaces import MovingPiece
from contact_invariant.residuals import LINK_MARGIN
from multi_qp_scene.arrays import Array
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.overlaps import OverlapSearch, convex_geometry
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario

#: Distances that are kept [m]: from surroundings; at most between own links, at least `LINK_MARGIN`; and within which
#: pairs are looked at.
OUTSIDE_MARGIN, INSIDE_MARGIN, NEAR = 0.01, 0.04, 0.15
#: Distance beyond the influence of the QP's damper within which pairs are looked at that nothing but the QP lists [m].
BEYOND = 0.03
#: Factor of the weight of pairs that the scenario lists: the QP keeps them apart, and else does not follow the motion.
CLOSE = 10.0


@dataclass(frozen=True)
class NodeGeometry:
    """Postures, contacts and swings at a node, which say what pairs of pieces keep apart there.

    Attributes:
        postures: of the simplified motion by node: that of the node, and those that swinging limbs follow there.
        swings: node that each swinging limb follows.
        active: contacts.
        soon: effectors whose contact begins soon or has just ended, and how far off that is, 0..1: distances are
            by this, squared, those of the margins instead of those of the postures. With margins at once, a foot is
            thrown off the ground, or aside from the other one, as it leaves it.
        solid: name of the object where it is to be avoided.
        high: distance from surroundings that is kept where the posture has it [m]; of a swinging patch, that which it
            follows, as at the node itself it may land already, with 10 times the weight if it is larger than
            `OUTSIDE_MARGIN`.
        refined: posture of the refinement that is continued: limbs without a later contact may leave the simplified
            motion by far, and come close to what they were not near. Without it, pairs that only the QP lists are left
            out.
        lifts: height by which swinging limbs are lifted above that posture [m].
        placed: pieces of another character, pose and twist in the world.
        begun: share of the least distance from surroundings that is kept where the posture is closer, 0 at the start.
    """

    postures: dict[float, Array]
    swings: dict[int, float]
    active: list[Span]
    soon: Mapping[int, float]
    solid: str | None
    high: float
    refined: Array | None = None
    lifts: Mapping[int, float] = field(default_factory=dict)
    placed: Mapping[int, tuple[pin.SE3, pin.Motion]] = field(default_factory=dict)
    begun: float = 1.0


class RefinementPairs:
    """Pairs of pieces that must stay apart: own links and surroundings, and pairs of own links.

    Links of another character are surroundings that move. Pairs of own links are those that the model lists, and all
    that the QP keeps apart, which may come as close as surroundings.

    Attributes:
        shared: geometry with these pairs, and its data.
        dampers: velocity dampers of the QP between own links, with those of another character, and with surroundings
            that the scenario lists, by the indices of both pieces.
    """

    def __init__(self, scenario: Scenario, character: Character, others: Sequence[MovingPiece] = ()) -> None:
        scene, self._character, self._feet = scenario.scene, character, feet_of(behaviour_of(scenario))
        shapes = scene.collision_model.copy()
        self._others = {
            shapes.addGeometryObject(pin.GeometryObject(one.name, 0, 0, pin.SE3.Identity(), one.shape)): one
            for one in others
        }
        pieces = list(shapes.geometryObjects)
        own = [k for k, piece in enumerate(pieces) if piece.name.split("/")[0] == character.name]
        other = [k for k in range(len(pieces)) if k not in set(own)]
        self._link = {k: scene.model.frames[pieces[k].parentFrame].name for k in own}
        self._joint = {k: pieces[k].parentJoint for k in own}
        self._surface_joint = {e.name: scene.surfaces[e.surface].joint_id for e in character.effectors}
        self._joints = {e.name: touching_joints(scene, scene.surfaces[e.surface]) for e in character.effectors}
        apart = {frozenset(pair) for pair in character.apart}
        inside = [(a, b) for a in own for b in own if a < b and frozenset((self._link[a], self._link[b])) in apart]
        touches = {k: self._others[k].touches if k in self._others else frozenset() for k in other}
        outside = [(a, b) for a in own for b in other if self._joint[a] not in touches[b]]
        listed = {frozenset(pair) for pair in character.close}
        watched = [pair for pair in watched_pairs(scene, scenario.spec.collisions) if pair.damper]
        self.dampers = {
            (min(p.first, p.second), max(p.first, p.second)): p for p in watched if {p.first, p.second} <= {*own}
        }
        close = [(a, b) for a, b in combinations(own, 2) if frozenset((self._link[a], self._link[b])) in listed]
        unlisted = [pair for pair in self.dampers if pair not in {*inside, *close}]
        self._within = {pair: self.dampers[pair].influence + BEYOND for pair in unlisted}
        close += unlisted
        both = ((p, ends) for p in watched for ends in ((p.first, p.second), (p.second, p.first)))
        self.dampers |= {(a, b): p for p, (a, b) in both if a in own and b in other}
        self._inside, self._close = set(inside), set(close)
        self._names = [piece.name for piece in pieces]
        self.dampers |= {
            (a, b): one.dampers[self._names[a]]
            for b, one in self._others.items()
            for a in own
            if self._names[a] in one.dampers
        }
        known = {*scene.subsystems, *scene.environment}
        self._of_prop = {k for k in other if self._names[k].split("/")[0] not in known} - self._others.keys()
        geometry = convex_geometry(shapes, inside + close + outside)
        self.shared = geometry, geometry_data(geometry)
        self._search = OverlapSearch(scene.model, shapes, inside + close + outside, margin=NEAR)

    def placed(self, k: int) -> dict[int, tuple[pin.SE3, pin.Motion]]:
        """Return pose and twist in the world of each piece of another character at a node."""
        return {piece: (one.poses[k], one.poses[k].act(one.twist(k))) for piece, one in self._others.items()}

    def _is_tip(self, effector: Effector) -> bool:
        """Return whether an effector is a point of a link that is no foot, and whose shape may enter surfaces."""
        return effector.point and effector.name not in self._feet

    def near(self, node: NodeGeometry) -> list[tuple[tuple[int, int], float, float]]:
        """Return pairs near at a node, without links whose patches touch and their surroundings: margins, weights."""
        patches = [self._character.effectors[span.effector] for span in node.active]
        points = [self._character.effectors[i] for i in node.soon]
        flat = {joint for e in patches if not self._is_tip(e) for joint in self._joints[e.name]}
        tips = {joint for e in points if self._is_tip(e) for joint in self._joints[e.name]}
        eased = {j: off**2 for i, off in node.soon.items() for j in self._joints[self._character.effectors[i].name]}
        found = []
        others = {at: {piece: one.before_at(at) for piece, one in self._others.items()} for at in node.postures}
        seen = {at: self._search.distances(q, others[at]) for at, q in node.postures.items()}
        own = {self._surface_joint[self._character.limbs[i].name]: seen[k] for i, k in node.swings.items()}
        lifted = {self._surface_joint[self._character.limbs[i].name]: height for i, height in node.lifts.items()}
        close = [*seen.values()]
        if node.refined is not None:
            close.append(self._search.distances(node.refined, {k: X for k, (X, _) in node.placed.items()}))
        for index in dict.fromkeys(index for distances in close for index in distances):
            a, b = (int(k) for k in self._search.pairs[index])
            if (a, b) in self._inside:
                free = max(eased.get(self._joint[a], 1.0), eased.get(self._joint[b], 1.0))
                had = min(*(distances.get(index, NEAR) for distances in seen.values()), INSIDE_MARGIN)
                found.append(((a, b), had + free * max(LINK_MARGIN - had, 0.0), 1.0))
            elif (a, b) in self._within:
                within = min(distances.get(index, NEAR) for distances in close) < self._within[a, b]
                if node.refined is not None and within:
                    found.append(((a, b), OUTSIDE_MARGIN, CLOSE))
            elif (a, b) in self._close:
                found.append(((a, b), OUTSIDE_MARGIN, CLOSE))
            elif b in self._of_prop:
                if self._names[b].split("/")[0] == node.solid:
                    found.append(((a, b), OUTSIDE_MARGIN, 1.0))
            elif self._joint[a] not in flat:
                alike = [own[self._joint[a]]] if self._joint[a] in own else seen.values()
                had = min(distances.get(index, NEAR) for distances in alike)
                had = had if any(index in distances for distances in seen.values()) else OUTSIDE_MARGIN
                had += lifted.get(self._joint[a], 0.0)
                least = OUTSIDE_MARGIN * eased.get(self._joint[a], 1.0) * node.begun
                is_tip = self._joint[a] in tips and b not in self._others
                margin = 0.0 if is_tip else max(least, min(node.high, had))
                moves_firmly = is_tip or (self._joint[a] in own and node.high > OUTSIDE_MARGIN)
                found.append(((a, b), margin, CLOSE if moves_firmly or (a, b) in self.dampers else 1.0))
        return found
