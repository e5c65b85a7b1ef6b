"""Pairs of links of a subsystem that can meet, found by sampling its joint ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.overlaps import OverlapSearch
from multi_qp_scene.scalar_joint import joint_motion
from multi_qp_scene.scene import Scene

LinkPair = tuple[str, str]

#: Number of sampled configurations, and their seed.
SAMPLES, SEED = 1000, 0
#: Pairs that come closer than this in a sample can meet [m].
CLOSE = 0.03
#: Pairs that overlap in a larger fraction of the samples overlap by construction.
BY_CONSTRUCTION = 0.9

_cache: dict[bytes, SelfPairs] = {}


@dataclass(frozen=True)
class SelfPairs:
    """Pairs of links of one subsystem, by their names without the subsystem's.

    Attributes:
        by_construction: pairs whose shapes overlap by construction: neighbours in the tree of links with shapes, pairs
            that overlap at the zero configuration, and pairs that overlap in nearly all samples.
        meeting: all other pairs that come close in a sample.
    """

    by_construction: frozenset[frozenset[str]]
    meeting: tuple[LinkPair, ...]


def link_of(scene: Scene, piece: int) -> str:
    """Return the full name of the link that carries a piece of the collision model."""
    item = scene.collision_model.geometryObjects[piece]
    frame = scene.model.frames[item.parentFrame]
    return str(frame.name if frame.type == pin.FrameType.BODY else item.name.rsplit("_", 1)[0])


def self_pairs(scene: Scene, subsystem: str) -> SelfPairs:
    """Return the pairs of links of a subsystem that can meet, and those that overlap by construction.

    Results are cached by shapes, kinematics and limits, so that equal characters are sampled once.
    """
    pieces = _pieces(scene, subsystem)
    key = _signature(scene, subsystem, pieces)
    if key not in _cache:
        _cache[key] = _sample(scene, subsystem, pieces)
    return _cache[key]


def parting_pieces(scene: Scene, subsystem: str) -> list[tuple[int, int]]:
    """Return the pairs of pieces of a subsystem that move relative to each other and do not overlap by construction."""
    objects, constructed = scene.collision_model.geometryObjects, self_pairs(scene, subsystem).by_construction
    links = {k: link_of(scene, k).removeprefix(f"{subsystem}/") for k in _pieces(scene, subsystem)}
    return [
        (a, b)
        for a, b in combinations(links, 2)
        if objects[a].parentJoint != objects[b].parentJoint and frozenset((links[a], links[b])) not in constructed
    ]


def _pieces(scene: Scene, subsystem: str) -> list[int]:
    return [k for k, item in enumerate(scene.collision_model.geometryObjects) if _owner(item) == subsystem]


def _owner(item: pin.GeometryObject) -> str:
    return str(item.name.partition("/")[0])


def _signature(scene: Scene, subsystem: str, pieces: list[int]) -> bytes:
    """Return everything on which the pairs depend."""
    model, objects = scene.model, scene.collision_model.geometryObjects
    neutral = pin.neutral(model)
    parts: list[bytes] = []
    for k in pieces:
        shape = objects[k].geometry
        shape.computeLocalAABB()
        box = np.array([shape.aabb_local.min_, shape.aabb_local.max_])
        parts += [link_of(scene, k).encode(), type(shape).__name__.encode(), box.tobytes()]
        parts.append(objects[k].placement.homogeneous.tobytes())
        if isinstance(shape, coal.BVHModelBase):
            parts.append(np.array(shape.vertices()).tobytes())
    for joint in range(1, model.njoints):
        if model.names[joint].startswith(f"{subsystem}/"):
            parts += [model.names[joint].encode(), model.jointPlacements[joint].homogeneous.tobytes()]
            parts += [model.joints[joint].shortname().encode(), joint_motion(model.joints[joint], neutral).tobytes()]
    part, limits = scene.subsystems[subsystem].v_slice, scene.limits
    own = (limits.v_index >= part.start) & (limits.v_index < part.stop)
    parts += [limits.lower[own].tobytes(), limits.upper[own].tobytes()]
    return b"|".join(part.replace(f"{subsystem}/".encode(), b"") for part in parts)


def _sample(scene: Scene, subsystem: str, pieces: list[int]) -> SelfPairs:
    model, objects = scene.model, scene.collision_model.geometryObjects
    links = {k: link_of(scene, k).removeprefix(f"{subsystem}/") for k in pieces}
    joint_of = {links[k]: int(objects[k].parentJoint) for k in pieces}
    with_shape = set(joint_of.values())
    above = {joint: _nearest_above(model, joint, with_shape) for joint in with_shape}
    rigid = {
        frozenset((a, b))
        for a, b in combinations(joint_of, 2)
        if joint_of[a] == joint_of[b] or above[joint_of[a]] == joint_of[b] or above[joint_of[b]] == joint_of[a]
    }
    pairs = [pair for pair in combinations(pieces, 2) if len(both := frozenset(links[k] for k in pair)) == 2
             and both not in rigid]  # fmt: skip
    search = OverlapSearch(model, scene.collision_model, pairs, margin=CLOSE)
    names = [frozenset((links[a], links[b])) for a, b in pairs]
    at_zero = {names[k] for k, distance in search.distances(pin.neutral(model)).items() if distance < 0.0}
    met: set[frozenset[str]] = set()
    overlaps: Counter[frozenset[str]] = Counter()
    for q in _configurations(scene, subsystem):
        distances = search.distances(q)
        met.update(names[k] for k in distances)
        overlaps.update({names[k] for k, distance in distances.items() if distance < 0.0})
    always = {pair for pair, count in overlaps.items() if count > BY_CONSTRUCTION * SAMPLES}
    constructed = frozenset(rigid | at_zero | always)
    meeting = sorted(sorted(pair) for pair in met - constructed)
    return SelfPairs(constructed, tuple((a, b) for a, b in meeting))


def _configurations(scene: Scene, subsystem: str) -> Iterator[Array]:
    """Yield random configurations of a subsystem within its joint limits, the rest at the zero configuration, (nq,)."""
    part, limits = scene.subsystems[subsystem].v_slice, scene.limits
    own = [k for k, v in enumerate(limits.v_index) if part.start <= v < part.stop]
    low, high = np.maximum(limits.lower[own], -np.pi), np.minimum(limits.upper[own], np.pi)
    random, neutral = np.random.default_rng(SEED), pin.neutral(scene.model)
    turned = np.zeros(scene.nv)
    for _ in range(SAMPLES):
        turned[limits.v_index[own]] = random.uniform(low, np.maximum(low, high))
        yield pin.integrate(scene.model, neutral, turned)


def _nearest_above(model: pin.Model, joint: int, with_shape: set[int]) -> int:
    """Return the nearest joint above that carries shapes, -1 if there is none."""
    while joint != 0:
        joint = int(model.parents[joint])
        if joint in with_shape:
            return joint
    return -1
