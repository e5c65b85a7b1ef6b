"""Collision pairs of a scenario: pairs of convex pieces with their dampers or for distance measurement only."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from itertools import product

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import excess
from multi_qp_scene.meeting_pairs import link_of, self_pairs
from multi_qp_scene.overlaps import OverlapSearch
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.control import CollisionsSpec

#: Distance at the start below which sampled pairs are left out, for models that list no pairs [m].
CLOSE_AT_START = 0.01
#: Largest δ_i and δ_s of sampled pairs that a model's list does not name [m]; many of them are close in most postures.
UNLISTED_INFLUENCE, UNLISTED_SECURITY = 0.03, 0.002


@dataclass(frozen=True)
class WatchedPair:
    """Two convex pieces and the velocity damper between them.

    Attributes:
        links: full names of the two links.
        first: index of the first piece in the collision model.
        second: index of the second piece.
        influence: δ_i [m].
        security: δ_s [m].
        damping: ξ [m/s].
        damper: whether the damper is active; otherwise the distance is only measured.
    """

    links: tuple[str, str]
    first: int
    second: int
    influence: float
    security: float
    damping: float
    damper: bool = True

    @property
    def name(self) -> str:
        """Names of both bodies, as "<body> | <body>"."""
        return f"{self.links[0]} | {self.links[1]}"


def watched_pairs(scene: Scene, spec: CollisionsSpec) -> tuple[WatchedPair, ...]:
    """Expand the pairs of a scenario file into pairs of convex pieces.

    The first entry that matches a pair of links applies. Pairs without relative motion (on one rigid body, or of two
    fixed bodies) are left out.
    """
    pieces = _pieces_by_link(scene)
    all_links = sorted(pieces)
    wanted: dict[frozenset[str], WatchedPair] = {}
    found: list[WatchedPair] = []

    def watch(link_a: str, link_b: str, influence: float, security: float, damping: float, damper: bool = True) -> None:
        key = frozenset((link_a, link_b))
        if len(key) == 1 or key in wanted:
            return
        for first in pieces.get(link_a, []):
            for second in pieces.get(link_b, []):
                pair = WatchedPair((link_a, link_b), first, second, influence, security, damping, damper)
                objects = scene.collision_model.geometryObjects
                if objects[first].parentJoint != objects[second].parentJoint:
                    wanted[key] = pair
                    found.append(pair)
        if (message := excess("collision_pairs", len(found), counting=True)) is not None:
            raise MultiQpError(f"collisions: pairs of convex pieces: {message}")

    for entry in spec.pairs:
        parameters = (
            entry.influence or spec.influence,
            spec.security if entry.security is None else entry.security,
            entry.damping or spec.damping,
            entry.damper,
        )
        for link_a in fnmatch.filter(all_links, entry.bodies[0]):
            for link_b in fnmatch.filter(all_links, entry.bodies[1]):
                watch(link_a, link_b, *parameters)
    for subsystem in spec.self_collisions:
        listed = scene.self_collisions[subsystem]
        for link_a, link_b in listed or _sampled_pairs(scene, subsystem, CLOSE_AT_START):
            watch(link_a, link_b, spec.influence, spec.security, spec.damping)
        if spec.self_pairs == "all":
            influence, security = min(spec.influence, UNLISTED_INFLUENCE), min(spec.security, UNLISTED_SECURITY)
            for link_a, link_b in unlisted_pairs(scene, subsystem, security):
                watch(link_a, link_b, influence, security, spec.damping)
    return tuple(found)


def unlisted_pairs(scene: Scene, subsystem: str, apart: float | None = None) -> list[tuple[str, str]]:
    """Return the pairs of links of a subsystem that can meet and that its model's list does not name.

    None for a model with an SRDF, which names all pairs that it does not disable.

    Args:
        scene: the scene.
        subsystem: name.
        apart: pairs that are closer at the start are left out [m]; none if None.
    """
    listed = {frozenset(pair) for pair in scene.self_collisions.get(subsystem, ())}
    if listed and subsystem in scene.disabled_by_srdf:
        return []
    return [pair for pair in _sampled_pairs(scene, subsystem, apart) if frozenset(pair) not in listed]


def _sampled_pairs(scene: Scene, subsystem: str, apart: float | None) -> list[tuple[str, str]]:
    """Return all pairs of links of a subsystem that can meet, except those closer than a distance at the start [m].

    These stay close by design or posture: a damper would push them apart from the first tick.
    """
    pieces = _pieces_by_link(scene)
    meeting = [(f"{subsystem}/{a}", f"{subsystem}/{b}") for a, b in self_pairs(scene, subsystem).meeting]
    if apart is None:
        return meeting
    pairs = [((a, b), pair) for a, b in meeting for pair in product(pieces[a], pieces[b])]
    search = OverlapSearch(scene.model, scene.collision_model, [pair for _, pair in pairs], margin=apart)
    close = {pairs[k][0] for k in search.distances(scene.q0)}
    return [both for both in meeting if both not in close]


def body_pair_count(pairs: tuple[WatchedPair, ...]) -> int:
    """Return the number of pairs of bodies, counted once for all their convex pieces."""
    return len({frozenset(pair.links) for pair in pairs})


def _pieces_by_link(scene: Scene) -> dict[str, list[int]]:
    pieces: dict[str, list[int]] = {}
    for index in range(len(scene.collision_model.geometryObjects)):
        pieces.setdefault(link_of(scene, index), []).append(index)
    return pieces
