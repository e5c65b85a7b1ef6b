"""Audit of a synthesised motion on a fine grid, independent of the optimiser's samples, forces and joint angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.optimize import nnls

from contact_invariant.character import GRAVITY, Character
from contact_invariant.motion import Motion, angular_motion, rotations
from contact_invariant.postures import Postures, postures_of
from contact_invariant.surroundings import Surroundings
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.meeting_pairs import parting_pieces
from multi_qp_scene.overlaps import OverlapSearch
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import PYRAMID_EDGES, pyramid

#: Grid of the audit [s].
STEP = 0.01
#: Distance of a corner from a surface up to which it can push [m].
REACH = 0.01
#: Height below which a limb between two contacts has not left the surface [m].
LIFTED = 0.002
#: Share of the weight of its body that a contact bears at least; one that bears less does not end a flight.
UNLOADED = 0.01


@dataclass(frozen=True)
class Bounds:
    """What a motion must keep to.

    Attributes:
        distance: task features [m].
        angle: task features [rad].
        residual: RMS of the force that no contact explains, relative to the weight.
        gap: distance of patches in contact from the surface [m].
        slip: displacement of a patch during a contact [m].
        reach: distance of the limbs of the full model, within joint limits, from their patches [m].
        turn: the same as an angle [rad].
        depth: penetration into surroundings or own links [m].
        clearance: height of swinging limbs at speed [m].
    """

    distance: float = 0.03
    angle: float = float(np.radians(5.0))
    residual: float = 0.05
    gap: float = 0.01
    slip: float = 0.01
    reach: float = 0.01
    turn: float = float(np.radians(2.0))
    depth: float = 0.01
    clearance: float = 0.02


@dataclass(frozen=True)
class Finding:
    """One figure of the audit.

    Attributes:
        name: what it is.
        value: its value.
        bound: what it is compared with.
        unit: unit of both.
        where: where the worst value is.
        met: whether the bound is met.
    """

    name: str
    value: float
    bound: float
    unit: str
    where: str
    met: bool


@dataclass(frozen=True)
class Audit:
    """Findings about a motion; `postures` are those of the full model on the grid."""

    findings: tuple[Finding, ...]
    postures: Postures

    @property
    def passed(self) -> bool:
        """Whether all bounds are met."""
        return all(finding.met for finding in self.findings)

    def as_dict(self) -> dict[str, dict[str, float | str | bool]]:
        """Return the findings by name, for JSON."""
        return {finding.name: {k: v for k, v in asdict(finding).items() if k != "name"} for finding in self.findings}


class Auditor:
    """Audit of motions of one character in one scene."""

    def __init__(
        self, scene: Scene, character: Character, surroundings: Surroundings, *, friction: float, bounds: Bounds
    ) -> None:
        self._scene, self._character, self._surroundings = scene, character, surroundings
        self._friction, self._bounds = friction, bounds
        own: list[int] = []
        other: list[int] = []
        moved: list[int] = []
        pieces = list(scene.collision_model.geometryObjects)
        for k, piece in enumerate(pieces):
            owner = piece.name.split("/")[0]
            of_prop = character.prop is not None and owner == character.prop.name
            (own if owner in character.names else moved if of_prop else other).append(k)
        outside = [(a, b) for a in own for b in moved + other] + [(a, b) for a in moved for b in other]
        owners = [piece.name.split("/")[0] for piece in pieces]
        outside += [(a, b) for a in own for b in own if a < b and owners[a] != owners[b]]
        self._outside = OverlapSearch(scene.model, scene.collision_model, outside)
        pairs = [pair for name in character.names for pair in parting_pieces(scene, name)]
        self._inside = OverlapSearch(scene.model, scene.collision_model, pairs)
        self._names = [piece.name for piece in pieces]

    def audit(self, motion: Motion, features: Sequence[tuple[str, str, float]]) -> Audit:
        """Measure a motion.

        Args:
            motion: the motion.
            features: name, unit and final value of each task feature.
        """
        count = round(motion.duration / STEP)
        times = np.minimum((np.arange(count) + 0.5) * STEP, motion.duration - 1e-9)
        path = _Path(self._character, self._surroundings, motion, times)
        postures = postures_of(self._scene, self._character, motion, times)
        errors, loads = self._explained(path, postures)
        findings = [
            *self._task(features),
            *self._physics(path, errors),
            *self._contacts(path),
            *self._kinematics(postures),
            *self._penetration(postures),
            self._clearance(path),
            self._flight(path, loads > UNLOADED),
        ]
        return Audit(tuple(findings), postures)

    def _task(self, features: Sequence[tuple[str, str, float]]) -> list[Finding]:
        found = []
        for unit, bound, name in (
            ("m", self._bounds.distance, "task distance"),
            ("rad", self._bounds.angle, "task angle"),
        ):
            worst = max(((abs(v), n) for n, u, v in features if u == unit), default=(0.0, ""))
            found.append(_at_most(name, worst[0], bound, unit, worst[1]))
        return found

    def _explained(self, path: _Path, postures: Postures) -> tuple[Array, Array]:
        """Explain force and moment of each body by forces inside the friction cones at corners that touch.

        Returns:
            What remains of forces and moments, by body and relative to its weight, (m, 6 bodies); loads of the
            contacts, relative to the weight of their own bodies, (m, N).
        """
        bodies = self._character.bodies
        needed = np.hstack([path.wrench(k) for k in range(len(bodies))])
        if self._character.limb_weights:
            model, data = self._scene.model, self._scene.model.createData()
            for m, q in enumerate(postures.q):
                pin.centerOfMass(model, data, q, True)
                for k in range(len(self._character.names)):
                    root = bodies[k].root
                    shift = data.oMi[root].act(data.com[root]) - path.bodies[k][0][m]
                    needed[m, 6 * k + 3 : 6 * k + 6] += np.cross(shift, needed[m, 6 * k : 6 * k + 3])
        errors, loads = needed.copy(), np.zeros(path.in_contact.shape)
        for m in range(len(path.times)):
            columns, least, owners = [], [np.zeros(0)], []
            for i, effector in enumerate(self._character.effectors):
                if not path.in_contact[m, i]:
                    continue
                touched = path.touched[m, i]
                surroundings, origin, R = path.frame(self._surroundings, i, m)
                local = (path.corners[m, i] - origin) @ R
                pushed = [(effector.body, 1.0), *([(touched, -1.0)] if touched >= 0 else [])]
                corners, edges = cone_edges(surroundings, self._friction, local)
                places, forces = origin + corners @ R.T, edges @ R.T
                own = np.zeros((len(forces), 6 * len(bodies)))
                for k, sign in pushed:  # each body by its own weight
                    wrenches = np.hstack([forces, np.cross(places - path.bodies[k][0][m], forces)])
                    own[:, 6 * k : 6 * k + 6] = sign / bodies[k].mass * wrenches
                columns.append(own)
                owners += [i] * len(own)
                least.append(np.full(len(forces), -effector.grip / max(len(forces), 1)))
            A = np.vstack(columns).T if columns else np.zeros((6 * len(bodies), 0))
            if A.size:  # edges add up to normal forces: a pull is a negative least amount of each
                pull = np.concatenate(least)
                amounts = pull + nnls(A, needed[m] - A @ pull)[0]
                errors[m] -= A @ amounts
                for i in set(owners):
                    first = 6 * self._character.effectors[i].body
                    of_contact = np.array(owners) == i
                    loads[m, i] = np.linalg.norm(A[first : first + 3, of_contact] @ amounts[of_contact])
        return errors, loads

    def _physics(self, path: _Path, errors: Array) -> list[Finding]:
        bodies = self._character.bodies
        found, bound = [], self._bounds.residual
        for k in range(len(bodies)):
            name, weight = self._character.label(k), "body weights" if k < len(self._character.names) else "its weight"
            for figure, first, unit in (("force", 6 * k, weight), ("moment", 6 * k + 3, f"{weight} · m")):
                e = np.linalg.norm(errors[:, first : first + 3], axis=1)
                where = f"largest {e.max():.3f}, {path.at(int(e.argmax()))}"
                found.append(_at_most(f"{name} {figure}", float(np.sqrt((e**2).mean())), bound, unit, where))
        return found

    def _contacts(self, path: _Path) -> list[Finding]:
        gap, slip = (0.0, ""), (0.0, "")
        for i, effector in enumerate(self._character.effectors):
            for span in path.spans(i, True):
                touched, corners = path.relative(self._surroundings, i, span)
                near, _ = touched.touched(corners.reshape(-1, 3))
                gaps = np.linalg.norm(corners.reshape(-1, 3) - near, axis=1).reshape(len(corners), -1).max(axis=1)
                moved = np.linalg.norm(corners - corners[:1], axis=2).max(axis=1)
                for worst, values in (("gap", gaps), ("slip", moved)):
                    k = int(values.argmax())
                    text = f"{effector.name}, {path.at(span.start + k)}"
                    if worst == "gap":
                        gap = max(gap, (float(values[k]), text))
                    else:
                        slip = max(slip, (float(values[k]), text))
        return [
            _at_most("contact gap", gap[0], self._bounds.gap, "m", gap[1]),
            _at_most("contact slip", slip[0], self._bounds.slip, "m", slip[1]),
        ]

    def _kinematics(self, postures: Postures) -> list[Finding]:
        found = []
        for name, errors, bound, unit in (
            ("reach", postures.position_errors, self._bounds.reach, "m"),
            ("reach angle", postures.rotation_errors, self._bounds.turn, "rad"),
        ):
            m, i = np.unravel_index(int(errors.argmax()), errors.shape) if errors.size else (0, 0)
            where = f"{self._character.limbs[i].name}, t = {postures.times[m]:.2f} s" if errors.size else ""
            found.append(_at_most(name, float(errors.max(initial=0.0)), bound, unit, where))
        return found

    def _penetration(self, postures: Postures) -> list[Finding]:
        found = []
        for name, search in (("penetration", self._outside), ("own links", self._inside)):
            worst = (0.0, "")
            for time, q in zip(postures.times, postures.q, strict=True):
                for pair, distance in search.distances(q).items():
                    a, b = (self._names[k] for k in search.pairs[pair])
                    worst = max(worst, (-distance, f"{a} in {b}, t = {time:.2f} s"))
            found.append(_at_most(name, worst[0], self._bounds.depth, "m", worst[1]))
        return found

    def _clearance(self, path: _Path) -> Finding:
        """Distance of the nearest corner of limbs between two contacts, where they are fast.

        That is where their speed along the ground, or along the surface that is nearest, is at least half of the
        largest one.
        """
        least, where = np.inf, "no swings"
        for i, limb in enumerate(self._character.limbs):
            for span in path.spans(i, False) if not limb.on_prop else []:
                if span.start == 0 or span.stop == len(path.times):
                    continue
                height, normals = _nearest(self._surroundings, path.corners[span, i])
                for k, trunk in self._surroundings.trunks.items():
                    if k != limb.body:
                        other, axes = _nearest(trunk, path.seen(k, path.corners[:, i])[span])
                        closer = other < height
                        normals[closer] = np.einsum("mij,mj->mi", path.bodies[k][1][span], axes)[closer]
                        height = np.minimum(height, other)
                velocity = path.speeds[span, i]
                across = np.einsum("mj,mj->m", velocity, normals)
                along = velocity - across[:, None] * normals
                speeds = np.array([np.linalg.norm(velocity[:, :2], axis=1), np.linalg.norm(along, axis=1)])
                largest = speeds.max(axis=1)
                if height.max() < LIFTED and largest.max() < 0.05:
                    continue  # stands without a contact
                fast = np.flatnonzero((speeds >= 0.5 * largest[:, None]).any(axis=0))
                k = int(fast[height[fast].argmin()])
                if height[k] < least:
                    least, where = float(height[k]), f"{limb.name}, {path.at(span.start + k)}"
        bound = self._bounds.clearance
        value = min(least, 1.0)
        return Finding("swing clearance", value, bound, "m", where, value >= bound)

    def _flight(self, path: _Path, bearing: NDArray[np.bool_]) -> Finding:
        """Return how long a character has no contact that bears load; `bearing` are contacts that do, (m, N)."""
        flying = np.zeros(len(path.times), dtype=bool)
        for k in range(len(self._character.names)):
            standing = [i for i, e in enumerate(self._character.effectors) if e.body == k and not e.on_prop]
            flying |= ~bearing[:, standing].any(axis=1)
        where = path.at(int(flying.argmax())) if flying.any() else ""
        return _at_most("flight", float(flying.sum()) * STEP, 0.0, "s", where)


class _Path:
    """Patches along a motion on a grid: corners, (m, N, 4, 3), speeds, (m, limbs, 3), contacts, (m, N).

    `touched` is the index in `Character.bodies` of the body that each would touch, -1 for fixed surroundings, (m, N).
    """

    def __init__(self, character: Character, surroundings: Surroundings, motion: Motion, times: Array) -> None:
        self._character, self.times = character, times
        self._x, self._rate, self._second = motion.features(times)
        columns = [character.body_features(k) for k in range(len(character.bodies))]
        self.bodies = [(self._x[:, at][:, :3], rotations(self._x[:, at][:, 3:])) for at in columns]
        self.in_contact = motion.contacts[[motion.phase(t) for t in times]]
        corners = []
        for i, effector in enumerate(character.effectors):
            if effector.is_limb:
                place = self._x[:, 6 + 6 * i : 9 + 6 * i]
                turn = rotations(self._x[:, 9 + 6 * i : 12 + 6 * i]) @ effector.nominal.rotation
            else:
                p, R = self.bodies[effector.body]
                com = 0.0 if effector.of_prop else character.bodies[effector.body].com
                place, turn = p + R @ (effector.nominal.translation - com), R @ effector.nominal.rotation
            corners.append(place[:, None] + np.einsum("mij,kj->mki", turn, effector.corners))
        self.corners = np.stack(corners, axis=1)
        self.speeds = np.stack([self._rate[:, 6 + 6 * i : 9 + 6 * i] for i in range(len(character.limbs))], axis=1)
        self.touched = self._nearest_bodies(surroundings)

    def _nearest_bodies(self, surroundings: Surroundings) -> Indices:
        found = np.full(self.in_contact.shape, -1)
        for i, effector in enumerate(self._character.effectors):
            if effector.on_prop:
                found[:, i] = len(self._character.bodies) - 1
                continue
            middle = self.corners[:, i].mean(axis=1)
            least = np.linalg.norm(surroundings.touched(middle)[0] - middle, axis=1)
            for k, trunk in surroundings.trunks.items():
                if k != effector.body and not effector.of_prop:
                    place = self.seen(k, middle[:, None])[:, 0]
                    distance = np.linalg.norm(trunk.touched(place)[0] - place, axis=1)
                    found[distance < least, i] = k
                    least = np.minimum(least, distance)
        return found

    def at(self, index: int) -> str:
        """Return an instant for messages."""
        return f"t = {self.times[index]:.2f} s"

    def seen(self, body: int, points: Array) -> Array:
        """Return points at each instant, (m, k, 3), relative to the centre of mass of a body, in its axes."""
        p, R = self.bodies[body]
        return np.einsum("mji,mkj->mki", R, points - p[:, None])

    def frame(self, surroundings: Surroundings, i: int, m: int) -> tuple[Surroundings, Array, Array]:
        """Return what an effector touches, and the position and rotation of its frame at an instant."""
        body = int(self.touched[m, i])
        if body < 0:
            return surroundings, np.zeros(3), np.eye(3)
        p, R = self.bodies[body]
        return surroundings.of(body, self._character), p[m], R[m]

    def relative(self, surroundings: Surroundings, i: int, span: slice) -> tuple[Surroundings, Array]:
        """Return what a patch touches in the middle of an interval, and its corners in that frame, (m, 4, 3)."""
        body = int(self.touched[(span.start + span.stop) // 2, i])
        if body < 0:
            return surroundings, np.asarray(self.corners[span, i])
        return surroundings.of(body, self._character), self.seen(body, self.corners[:, i])[span]

    def wrench(self, body: int) -> Array:
        """Return force and moment about its centre of mass that contacts must give a body, by its weight, (m, 6)."""
        features, (_, R) = self._character.body_features(body), self.bodies[body]
        x, rate, second = (values[:, features] for values in (self._x, self._rate, self._second))
        omega, alpha = angular_motion(x[:, 3:], rate[:, 3:], second[:, 3:])
        inertia = R @ self._character.bodies[body].inertia @ R.transpose(0, 2, 1)
        force = second[:, :3] / GRAVITY + [0.0, 0.0, 1.0]
        turning = np.einsum("mij,mj->mi", inertia, omega)
        moment = (np.einsum("mij,mj->mi", inertia, alpha) + np.cross(omega, turning)) / GRAVITY
        return np.hstack([force, moment])

    def spans(self, i: int, contact: bool) -> list[slice]:
        """Return the intervals of the grid in which an effector is, or is not, in contact."""
        flags = np.concatenate([[False], self.in_contact[:, i] == contact, [False]]).astype(int)
        begins, ends = np.flatnonzero(np.diff(flags) == 1), np.flatnonzero(np.diff(flags) == -1)
        return [slice(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]


def _at_most(name: str, value: float, bound: float, unit: str, where: str) -> Finding:
    return Finding(name, value, bound, unit, where, bool(value <= bound))


def _nearest(surroundings: Surroundings, corners: Array) -> tuple[Array, Array]:
    """Return the distance of the nearest corner at each instant, (m,), and the normal there, (m, 3).

    Args:
        surroundings: what is touched.
        corners: of a patch, (m, 4, 3) [m].
    """
    count = len(corners)
    distances = surroundings.distances(corners.reshape(-1, 3)).reshape(count, -1)
    nearest = distances.argmin(axis=1)
    return distances.min(axis=1), surroundings.touched(corners[np.arange(count), nearest])[1]


def cone_edges(surroundings: Surroundings, friction: float, corners: Array) -> tuple[Array, Array]:
    """Return each corner that touches with each edge of its friction cone, of unit normal force, (e, 3) both.

    Args:
        surroundings: what is touched.
        friction: coefficient of friction.
        corners: of a patch, (k, 3) [m].
    """
    near, normals = surroundings.touched(corners)
    touching = np.linalg.norm(corners - near, axis=1) <= REACH
    edges = np.array([pyramid(normal, friction) for normal in normals[touching]]).reshape(-1, PYRAMID_EDGES, 3)
    return np.repeat(corners[touching], edges.shape[1], axis=0), edges.reshape(-1, 3)
