"""Reach of a limb: a database of sampled configurations, and the convex hull of the sampled positions.

After the limb databases and the reachable workspaces of [Tonneau2015], also used in [Tonneau2018] section 7.1.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from contact_planner.body import CharacterModel, Limb
from contact_planner.clearance import CollisionChecker
from multi_qp_scene.arrays import Array

#: Number of samples of a limb, and seed of the random numbers.
SAMPLES, SEED = 20_000, 0
#: Regularisation of (J Jᵀ)⁻¹ [m²].
_SINGULAR = 1e-5
#: Half extent of the box of positions that represents a surface of the base [m].
_BASE_LEEWAY = 0.05
#: Version of the cache, increased when content or sampling change.
_FORMAT = 4


@dataclass(frozen=True, eq=False)
class LimbReach:
    """Samples and reachable workspace of one limb, in the frame of the base.

    Attributes:
        limb: the limb.
        angles: joint angles, (n, k) [rad].
        positions: of the surface's origin, (n, 3) [m].
        normals: direction of the surface's +z, out of the body, (n, 3).
        forwards: direction of the surface's +x, (n, 3).
        stiffness: (J Jᵀ)⁻¹ of the surface's position, (n, 3, 3) [1/m²].
        largest_manipulability: over all samples and directions [m].
        slack: distance to the nearest joint limit over half the range, (n,).
        centre: of a bounding sphere of the positions, (3,) [m].
        radius: of that sphere [m].
        hull: half-spaces `A x <= b` of the convex hull of the positions, rows (A, b), (m, 4).
        shape: the hull as a collision geometry.
    """

    limb: Limb
    angles: Array
    positions: Array
    normals: Array
    forwards: Array
    stiffness: Array
    largest_manipulability: float
    slack: Array
    centre: Array
    radius: float
    hull: Array
    shape: coal.ConvexBase

    def manipulability(self, samples: NDArray[np.intp], toward: Array | None) -> Array:
        """Return the normalised manipulability, 0 to 1: speed of the surface at joint speeds of norm 1.

        Args:
            samples: indices, (k,).
            toward: direction, unit vector in the frame of the base, (3,); the mean of three directions by default.

        Source: 1 / √(dᵀ (J Jᵀ)⁻¹ d), the dual of the force transmission ratio, as in the heuristic of [Tonneau2015].
        """
        chosen = self.stiffness[samples]
        if toward is None:
            resistance = np.trace(chosen, axis1=1, axis2=2) / 3.0
        else:
            resistance = np.einsum("i,kij,j->k", toward, chosen, toward)
        return np.asarray(1.0 / (np.sqrt(resistance) * self.largest_manipulability))

    def reaches(self, point: Array, margin: float = 0.0) -> bool:
        """Whether a point in the base's frame, (3,), is `margin` [m] inside the hull."""
        return bool(np.all(self.hull[:, :3] @ point <= self.hull[:, 3] - margin))


def limb_reach(body: CharacterModel, limb: Limb) -> LimbReach:
    """Return the database of a limb, from the cache if it exists there; samples with self-collisions are rejected."""
    if not len(limb.joints):
        return _fixed_reach(body, limb)
    path = _cache_path(body, limb)
    stored = _load(path)
    if stored is None:
        stored = _sample(body, limb)
        _save(path, stored)
    return _as_reach(limb, stored)


def _as_reach(limb: Limb, stored: dict[str, NDArray[np.float32]]) -> LimbReach:
    positions = stored["positions"].astype(float)
    hull = ConvexHull(positions)
    corners = coal.StdVec_Vec3s()
    for corner in positions[hull.vertices]:
        corners.append(corner)
    centre = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    stiffness = stored["stiffness"].astype(float)
    return LimbReach(
        limb,
        stored["angles"].astype(float),
        positions,
        stored["normals"].astype(float),
        stored["forwards"].astype(float),
        stiffness,
        float(1.0 / np.sqrt(np.linalg.eigvalsh(stiffness)[:, 0].min())),
        stored["slack"].astype(float),
        centre,
        float(np.linalg.norm(positions - centre, axis=1).max()),
        np.column_stack([hull.equations[:, :3], -hull.equations[:, 3]]),
        coal.Convex.convexHull(corners, False, "Qt"),
    )


def _fixed_reach(body: CharacterModel, limb: Limb) -> LimbReach:
    """Return the reach of a surface of the base itself: a small box around it, as the base can still move."""
    X = body.model.frames[limb.frame_id].placement
    offsets = _BASE_LEEWAY * np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
    count = len(offsets)
    stored = {
        "angles": np.zeros((count, 0)),
        "positions": X.translation + offsets,
        "normals": np.tile(X.rotation[:, 2], (count, 1)),
        "forwards": np.tile(X.rotation[:, 0], (count, 1)),
        "stiffness": np.tile(np.eye(3), (count, 1, 1)),
        "slack": np.ones(count),
    }
    return _as_reach(limb, {key: value.astype(np.float32) for key, value in stored.items()})


def _sample(body: CharacterModel, limb: Limb) -> dict[str, NDArray[np.float32]]:
    model = body.model
    data = model.createData()
    rng = np.random.default_rng(SEED)
    index_q = limb.joints + 1  # the base has one more entry in q than in v
    lower, upper = body.lower[limb.joints], body.upper[limb.joints]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    lower, upper = np.where(bounded, lower, -np.pi), np.where(bounded, upper, np.pi)
    test = _SelfCollisionTest(body)
    q = body.with_base(body.nominal, pin.SE3.Identity())
    keys = ("angles", "positions", "normals", "forwards", "stiffness", "slack")
    sampled: dict[str, list[Array | float]] = {key: [] for key in keys}
    tries = 0
    while len(sampled["slack"]) < SAMPLES and tries < 40 * SAMPLES:
        tries += 1
        angles = rng.uniform(lower, upper)
        q[index_q] = angles
        if not test.is_free(q):
            continue
        pin.computeJointJacobians(model, data, q)
        X = pin.updateFramePlacement(model, data, limb.frame_id)
        J = pin.getFrameJacobian(model, data, limb.frame_id, pin.LOCAL)[:3, limb.joints]
        sampled["angles"].append(angles)
        sampled["positions"].append(X.translation.copy())
        sampled["normals"].append(X.rotation[:, 2].copy())
        sampled["forwards"].append(X.rotation[:, 0].copy())
        sampled["stiffness"].append(np.linalg.inv(J @ J.T + _SINGULAR * np.eye(3)))
        sampled["slack"].append(float(np.min(np.minimum(angles - lower, upper - angles) / (0.5 * (upper - lower)))))
    return {key: np.array(values, dtype=np.float32) for key, values in sampled.items()}


class _SelfCollisionTest:
    """Self-collision test of the character."""

    def __init__(self, body: CharacterModel) -> None:
        self._model, self._data = body.model, body.model.createData()
        self._geometry = body.geometry.copy()
        self._geometry.removeAllCollisionPairs()
        for first, second, listed in CollisionChecker.self_pairs(body):
            if listed:  # others are left to the check of the whole posture
                self._geometry.addCollisionPair(pin.CollisionPair(first, second))
        self._geometry_data = self._geometry.createData()

    def is_free(self, q: Array) -> bool:
        return not pin.computeCollisions(self._model, self._data, self._geometry, self._geometry_data, q, True)


def _cache_path(body: CharacterModel, limb: Limb) -> Path:
    """Return the path of the cache file; its name is a hash of everything that determines its content."""
    digest = hashlib.sha256()
    for part in (_FORMAT, SAMPLES, SEED, limb.name, limb.surface.name, body.scene.self_collisions.get(body.name)):
        digest.update(repr(part).encode())
    for joint, placement in enumerate(body.model.jointPlacements):
        digest.update(f"{body.model.names[joint]} {body.model.joints[joint].shortname()}".encode())
        digest.update(np.round(placement.homogeneous, 9).tobytes())
    for array in (body.lower, body.upper, body.nominal[7:], limb.surface.X_link_surface.homogeneous):
        digest.update(np.round(np.where(np.isfinite(array), array, 0.0), 9).tobytes())
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(folder) / "multi_qp_controller" / "limbs" / f"{digest.hexdigest()[:24]}.npz"


def _load(path: Path) -> dict[str, NDArray[np.float32]] | None:
    try:
        with np.load(path) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        return None


def _save(path: Path, stored: dict[str, NDArray[np.float32]]) -> None:
    """Write the cache file; failures are ignored, as samples can be computed again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        with unfinished.open("wb") as file:
            np.savez(file, **stored)  # type: ignore[arg-type]
        unfinished.replace(path)
    except OSError:
        return
