"""Collision pairs of a scenario: pairs of convex pieces with their dampers or for distance measurement only."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

import pinocchio as pin

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import excess
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import CollisionsSpec


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
        for link_a, link_b in scene.self_collisions[subsystem]:
            watch(link_a, link_b, spec.influence, spec.security, spec.damping)
    return tuple(found)


def body_pair_count(pairs: tuple[WatchedPair, ...]) -> int:
    """Return the number of pairs of bodies, counted once for all their convex pieces."""
    return len({frozenset(pair.links) for pair in pairs})


def _pieces_by_link(scene: Scene) -> dict[str, list[int]]:
    pieces: dict[str, list[int]] = {}
    for index, item in enumerate(scene.collision_model.geometryObjects):
        frame = scene.model.frames[item.parentFrame]
        name = frame.name if frame.type == pin.FrameType.BODY else item.name.rsplit("_", 1)[0]
        pieces.setdefault(name, []).append(index)
    return pieces
