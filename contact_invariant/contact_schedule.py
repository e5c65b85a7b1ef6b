"""Contacts of a simplified motion on the nodes of its refinement: which patch touches what, where, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.character import Character
from contact_invariant.moving_surfaces import MovingSurface
from contact_invariant.surroundings import Surroundings, TouchableRectangle
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import BehaviourSpec, StandTerm

#: Largest interval between two nodes [s].
STEP = 0.02
#: Distance of corners from a surface up to which a patch touches it in the start pose [m].
TOUCHING = 0.005
#: Largest number of iterations of a refinement.
ITERATIONS = 150
#: A contact of a foot that ends when another begins is held for this long, so that the load can be shifted [s].
OVERLAP = 0.12
#: The same for patches of the trunk, whose load is larger [s].
TRUNK_OVERLAP = 0.24
#: The same for what touches in the start pose, where the character is at rest [s].
START = 0.4
#: Distance between two places up to which they are the same contact [m].
SAME = 0.01
#: A patch that stays below this height between two contacts with a surface creeps along it as nothing bears on it, and
#: is held if it moves by less than `CREEP` [m] and turns by less than `TWIST` [rad].
LOW, CREEP, TWIST = 0.006, 0.015, 0.2


@dataclass(frozen=True)
class Span:
    """A contact from one node to another.

    Attributes:
        effector: index of the effector.
        begin: first node in contact; 0 if it holds from the start.
        end: node at which it has ended; the last one if it holds at the end.
        surface: full name of the touched surface.
        pose: of the patch in the world, or in the frame of what moves the surface.
        normal: of the touched surface, in the same frame, (3,).
        base: the surface if it moves.
    """

    effector: int
    begin: int
    end: int
    surface: str
    pose: pin.SE3
    normal: Array
    base: MovingSurface | None = None

    def pose_at(self, k: int) -> pin.SE3:
        """Return the pose of the patch in the world at a node."""
        return self.pose if self.base is None else self.base.poses[k] * self.pose

    def normal_at(self, k: int) -> Array:
        """Return the normal of the surface in the world at a node."""
        return self.normal if self.base is None else self.base.poses[k].rotation @ self.normal

    def twist_at(self, k: int) -> pin.Motion:
        """Return the twist of the surface at the patch, in axes of the patch, with which it comes to a node."""
        return pin.Motion.Zero() if self.base is None else self.pose.actInv(self.base.twist(k))

    def led_at(self, k: int, gains: Array, *, point: bool) -> pin.SE3:
        """Return the pose whose contact constraint with these gains is that of the moving surface at a node.

        It leads the patch by (a + k_v v)/k_p: crocoddyl's a + k_p e + k_v v = 0 has no acceleration and velocity of a
        surface.
        """
        X = self.pose_at(k)
        if self.base is None or gains[0] == 0.0:
            return X
        v, a = self.twist_at(k), self.pose.actInv(self.base.acceleration(k))
        lead = pin.Motion((a.vector + gains[1] * v.vector) / gains[0])
        if point:
            turning = np.cross(v.angular, v.linear) / gains[0]
            return pin.SE3(X.rotation, X.translation + X.rotation @ (lead.linear + turning))
        return X * pin.exp6(lead)


def node_times(knots: Array) -> Array:
    """Return the times of the nodes for phases that end at knots, (K + 1,), with the knots among them [s]."""
    pieces = [
        np.linspace(a, b, max(1, int(np.ceil((b - a) / STEP - 1e-6))), endpoint=False)
        for a, b in zip(knots, knots[1:], strict=False)
    ]
    return np.append(np.concatenate(pieces), knots[-1])


def touched_at_nodes(
    knots: Array,
    touched: NDArray[np.str_],
    times: Array,
    start: NDArray[np.str_],
    overlap: Array,
    edge: Sequence[tuple[int, ...]],
) -> NDArray[np.str_]:
    """Return the name of the surface that each effector touches from each node to the next, "" for none, (M, N).

    Args:
        knots: ends of the phases, (K + 1,) [s].
        touched: the same by phase, (K, N).
        times: of the nodes, (M + 1,) [s].
        start: surface that each patch touches in the start pose, (N,).
        overlap: how long a contact of each patch is held if it ends while another begins, (N,) [s].
        edge: of each patch, the indices of points of its link, over which it rolls when all end.
    """
    phases = np.searchsorted(knots, 0.5 * (times[1:] + times[:-1])) - 1
    found, over = touched[phases].copy(), {point for points in edge for point in points}
    for k in range(1, len(touched)):
        begins = (touched[k] != "") & (touched[k - 1] == "")
        ends = (touched[k] == "") & (touched[k - 1] != "")
        if begins.any() and ends.any():
            for i in np.flatnonzero(ends):
                if any(ends[point] for point in edge[i]):
                    continue
                until = knots[k] + overlap[i]
                if i in over and not begins[overlap > 0.0].any():  # the link rolls over it until its load is taken
                    later = (touched[k + 1 :] != "") & (touched[k:-1] == "")
                    until = knots[k + 1 + int(later.any(axis=1).argmax())] + overlap[i] if later.any() else until
                held = (times[:-1] >= knots[k] - 1e-9) & (times[:-1] < until - 1e-9)
                found[held, i] = touched[k - 1, i]
    early = times[:-1] < START - 1e-9
    lifted = (start != "") & (touched[0] == "")
    found[np.ix_(early, lifted)] = start[lifted]
    return found


def feet_of(behaviour: BehaviourSpec) -> set[str]:
    """Return the effectors that `stand` terms name; without such a term, all but those that touch the object."""
    named = {foot for term in behaviour.terms if isinstance(term, StandTerm) for foot in term.feet}
    hands = set() if behaviour.object is None else set(behaviour.object.hands)
    return named or {name for one in behaviour.characters for name in one.effectors} - hands


def overlaps_of(character: Character, behaviour: BehaviourSpec) -> Array:
    """Return how long the contact of each patch is held if it ends while another begins, (N,) [s].

    Only feet, the trunk, and limbs that prop it but cannot bear it alone, bear so much that this is needed; other hands
    are moved on by then.
    """
    feet = feet_of(behaviour)
    props = [0.0 if effector.supports >= 1.0 else TRUNK_OVERLAP for effector in character.limbs]
    limbs = [OVERLAP if e.name in feet else prop for e, prop in zip(character.limbs, props, strict=True)]
    return np.array(limbs + [TRUNK_OVERLAP] * (len(character.effectors) - len(limbs)))


def edges_of(scene: Scene, character: Character) -> list[tuple[int, ...]]:
    """Return of each planar patch the indices of the points of its link, (N,); of points none."""
    joint = [scene.surfaces[effector.surface].joint_id for effector in character.effectors]
    points = [k for k, effector in enumerate(character.effectors) if effector.point]
    return [
        () if effector.point else tuple(k for k in points if joint[k] == joint[i])
        for i, effector in enumerate(character.effectors)
    ]


def without_redundant(touched: NDArray[np.str_], edge: Sequence[tuple[int, ...]]) -> NDArray[np.str_]:
    """Return the same without points of links that a planar patch holds: they would add rows without rank."""
    found = touched.copy()
    for i, points in enumerate(edge):
        for point in points:
            found[touched[:, i] != "", point] = ""
    return found


def without_short_gaps(
    scene: Scene, character: Character, times: Array, touched: NDArray[np.str_], q: Array
) -> NDArray[np.str_]:
    """Return the same with contacts of the start held where they are made again, at their place, soon afterwards.

    Args:
        scene: the scene.
        character: its patches.
        times: of the nodes, (M + 1,) [s].
        touched: by node, (M, N).
        q: postures at the nodes, (M + 1, nq).
    """
    data, found = scene.model.createData(), touched.copy()
    for i, effector in enumerate(character.effectors):
        made = np.flatnonzero(touched[:, i] == touched[0, i])
        gap = int(np.argmax(np.diff(made) > 1)) if (np.diff(made) > 1).any() else None
        if touched[0, i] == "" or gap is None or times[made[gap + 1]] > START + OVERLAP:
            continue
        places = []
        for k in (0, int(made[gap + 1])):
            pin.framesForwardKinematics(scene.model, data, q[k])
            places.append(data.oMf[scene.surfaces[effector.surface].frame_id].translation.copy())
        if np.linalg.norm(places[1] - places[0]) < SAME:
            found[: made[gap + 1], i] = touched[0, i]
    return found


def without_creeping(
    scene: Scene, character: Character, surroundings: Surroundings, touched: NDArray[np.str_], q: Array
) -> NDArray[np.str_]:
    """Return the same with contacts held that a patch leaves without being lifted, and makes again close by.

    Args:
        scene: the scene.
        character: its patches.
        surroundings: surfaces.
        touched: by node, (M, N).
        q: postures at the nodes, (M + 1, nq).
    """
    found, data, fixed = touched.copy(), scene.model.createData(), {face.name for face in surroundings.faces}
    gaps: dict[tuple[int, int, int], list[bool]] = {}  # by contact variable: joined patches are held together
    for i, effector in enumerate(character.effectors):
        made = np.flatnonzero(touched[:, i])
        for last, again in pairwise(made.tolist()):
            if again == last + 1 or touched[last, i] != touched[again, i] or touched[last, i] not in fixed:
                continue
            poses = []
            for k in range(last, again + 1):
                pin.framesForwardKinematics(scene.model, data, q[k])
                poses.append(data.oMf[scene.surfaces[effector.surface].frame_id].copy())
            moved = [float(np.linalg.norm(X.translation - poses[0].translation)) for X in poses]
            turned = [np.linalg.norm(pin.log3(poses[0].rotation.T @ X.rotation)) for X in poses]
            corners = np.vstack([effector.corners @ X.rotation.T + X.translation for X in poses])
            heights = surroundings.distances(corners).reshape(len(poses), -1).min(axis=1)
            still = max(moved) < CREEP and (effector.point or max(turned) < TWIST)
            low = heights.max() < LOW
            gaps.setdefault((character.variables[i], last, again), []).append(bool(still and low))
    for (variable, last, again), creeping in gaps.items():
        for i in np.flatnonzero(np.array(character.variables) == variable) if all(creeping) else []:
            found[last:again, i] = touched[last, i]
    return found


def without_changes_of_face(
    scene: Scene, character: Character, touched: NDArray[np.str_], q: Array
) -> NDArray[np.str_]:
    """Return the same with points that go from one face to another at its edge on the one that they touch for longer.

    Args:
        scene: the scene.
        character: its patches.
        touched: by node, (M, N).
        q: postures at the nodes, (M + 1, nq).
    """
    found, data = touched.copy(), scene.model.createData()
    for i, effector in enumerate(character.effectors):
        column = touched[:, i]
        changes = [0, *(np.flatnonzero(column[1:] != column[:-1]) + 1).tolist(), len(column)]
        runs = [(begin, end) for begin, end in pairwise(changes) if column[begin] != ""]
        together: list[list[tuple[int, int]]] = []
        places: dict[int, Array] = {}
        for begin, end in runs if effector.point else []:
            pin.framesForwardKinematics(scene.model, data, q[(begin + end) // 2])
            places[begin] = data.oMf[scene.surfaces[effector.surface].frame_id].translation.copy()
            last = together[-1][-1] if together else (0, -1)
            if last[1] == begin and np.linalg.norm(places[begin] - places[last[0]]) < SAME:
                together[-1].append((begin, end))
            else:
                together.append([(begin, end)])
        for same in together:
            begin, end = same[0][0], same[-1][1]
            names, counts = np.unique(column[begin:end], return_counts=True)
            found[begin:end, i] = names[counts.argmax()]
    return found


def gaps_at_start(scene: Scene, character: Character, surroundings: Surroundings) -> list[tuple[str, float]]:
    """Return of each patch the nearest surface in the start pose, and the largest distance of a corner from it [m]."""
    data, found = scene.model.createData(), []
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for effector in character.effectors:
        X = data.oMf[scene.surfaces[effector.surface].frame_id]
        corners = effector.corners @ X.rotation.T + X.translation
        near, _ = surroundings.touched(corners)
        found.append((surroundings.name_at(X.translation), float(np.linalg.norm(corners - near, axis=1).max())))
    return found


def touched_at_start(scene: Scene, character: Character, surroundings: Surroundings) -> NDArray[np.str_]:
    """Return the name of the surface that each patch touches with all of its corners in the start pose, (N,)."""
    gaps = gaps_at_start(scene, character, surroundings)
    return np.array([surface if gap < TOUCHING else "" for surface, gap in gaps], dtype=np.str_)


def spans_of(
    scene: Scene,
    character: Character,
    surroundings: Surroundings,
    touched: NDArray[np.str_],
    q: Array,
    moving: Mapping[str, MovingSurface] = MappingProxyType({}),
) -> list[Span]:
    """Return the contacts, with the patches moved onto the surfaces that they touch.

    Args:
        scene: the scene.
        character: its patches.
        surroundings: surfaces.
        touched: by node, see `touched_at_nodes`.
        q: postures at the nodes, (M + 1, nq); the first is where the motion starts.
        moving: surfaces that move, by name.
    """
    data, found = scene.model.createData(), []
    faces = {face.name: face for face in surroundings.faces} | {name: one.face for name, one in moving.items()}
    edges = {point for points in edges_of(scene, character) for point in points}
    for i, effector in enumerate(character.effectors):
        frame = scene.surfaces[effector.surface].frame_id
        column = [*touched[:, i].tolist(), ""]
        begin = 0
        for k in range(1, len(column)):
            if column[k] == column[begin]:
                continue
            if column[begin]:
                middle = begin if begin == 0 or i in edges else (begin + k) // 2  # an edge is where its patch was
                pin.framesForwardKinematics(scene.model, data, q[middle])
                face, half, base = faces[column[begin]], character.effectors[i].half, moving.get(column[begin])
                pose = data.oMf[frame].copy() if base is None else base.poses[middle].actInv(data.oMf[frame])
                pose = pose if begin == 0 else _onto(pose, face, half)
                found.append(Span(i, begin, k, column[begin], pose, face.pose.rotation[:, 2].copy(), base))
            begin = k
    return _rolling(scene, character, found)


def _rolling(scene: Scene, character: Character, spans: list[Span]) -> list[Span]:
    """Return the same with each link that rolls from a point to a patch, or back, where the contact before has it."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: one.begin):
        own = scene.model.frames[scene.surfaces[character.effectors[span.effector].surface].frame_id]
        for last in found:
            other = scene.model.frames[scene.surfaces[character.effectors[last.effector].surface].frame_id]
            points = character.effectors[span.effector].point + character.effectors[last.effector].point
            rolls = own.parentJoint == other.parentJoint and last.begin < span.begin == last.end and points == 1
            if rolls and last.surface == span.surface:
                arm = own.placement.inverse() * other.placement
                if character.effectors[span.effector].point:
                    off = last.pose.act(arm.inverse().translation) - span.pose.translation
                else:
                    off = last.pose.translation - span.pose.act(arm.translation)
                off = off - span.normal * (span.normal @ off)
                span = replace(span, pose=pin.SE3(span.pose.rotation, span.pose.translation + off))
        found.append(span)
    return sorted(found, key=lambda one: one.effector)


def _onto(X: pin.SE3, face: TouchableRectangle, half: Array) -> pin.SE3:
    """Return a patch's pose moved onto a face: the smallest rotation that makes it parallel, its height 0, no overhang.

    Args:
        X: pose of the patch.
        face: where it touches; if the patch does not fit, it is in the middle.
        half: half extents of the patch, (2,) [m].
    """
    frame = face.pose.rotation
    normal, axis = frame[:, 2], X.rotation[:, 2]
    toward = normal if axis @ normal > 0 else -normal
    R = pin.Quaternion.FromTwoVectors(axis, toward).matrix() @ X.rotation
    height = normal @ (X.translation - face.pose.translation)
    beside = frame[:, :2].T @ (X.translation - face.pose.translation)
    room = np.maximum(face.half - np.abs(frame.T @ R)[:2, :2] @ half, 0.0)
    over = beside - np.clip(beside, -room, room)
    return pin.SE3(R, X.translation - height * normal - frame[:, :2] @ over)
