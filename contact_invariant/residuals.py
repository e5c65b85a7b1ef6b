"""Residuals of one instant: contact invariance, physics, kinematics, penetration and effort, as CasADi expressions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from contact_invariant.character import GRAVITY, Character, Effector
from contact_invariant.surroundings import Surroundings
from contact_invariant.symbols import angular_acceleration, angular_velocity, ca, exponential_map, rotation
from contact_invariant.task_terms import BodyState, SymbolicState, state_at
from contact_invariant.touch import touch_of, trunks_of
from multi_qp_scene.arrays import Array

#: k_0 and k_1 of (7).
K0, K1 = 1e-2, 1e-3
#: Weights of the cost, see docs/contact_invariant.md; those of a stage are in `continuation.py`.
WEIGHTS = (
    "contact", "physics", "kinematics", "task", "effort", "torque", "acceleration",
    "penetration", "absent", "cone", "prior", "posture", "drag", "support", "ramp", "overload", "creep", "balance",
)  # fmt: skip
#: What an angle of 1 rad counts against a distance of 1 m, in contact and in kinematics.
ANGLE = 0.2
#: Share of the torque limits above which static torques are costly, if the behaviour asks for it.
TORQUE_SHARE = 0.6
#: Distance that joints keep from their limits [rad].
JOINT_MARGIN = 0.04
#: Largest share of a limb's length that is used: where it is straight, its joints are fast.
STRAIGHT = 0.99
#: Distance that own links keep: the collision dampers of the controller act below 8 cm and keep 1 cm [m].
LINK_MARGIN = 0.03
#: The same of pairs that the scenario lists, which may come close: those of `capsules.radius`, inside the shapes [m].
CLOSE_MARGIN = 0.01
#: Distance that links without a patch keep from solids: their spheres leave gaps [m].
SOLID_MARGIN = 0.015
#: Largest distance of points on the edges of the object that do not enter solids, and the reverse [m].
PROP_SPACING = 0.05
#: Distance of a carried object from solids [m].
PROP_CLEARANCE = 0.02
#: Half extent of solids whose edges the object does not reach: the ground [m].
LARGE = 1.0
#: Height over which a moving patch is dragging [m].
DRAG_HEIGHT = 0.03


@dataclass
class Rows:
    """Residual rows by name, each with its weight.

    Attributes:
        terms: name, weight and first and last row of each term.
        expressions: rows, weighted.
    """

    weights: dict[str, Any]
    terms: list[tuple[str, str, int, int]] = field(default_factory=list)
    expressions: list[Any] = field(default_factory=list)
    count: int = 0

    def add(self, name: str, weight: str, *values: Any) -> None:
        """Append rows of a term."""
        column = ca.vertcat(*values)
        self.terms.append((name, weight, self.count, self.count + column.numel()))
        self.expressions.append(self.weights[weight] * column)
        self.count += column.numel()

    @property
    def column(self) -> Any:
        """All rows."""
        return ca.vertcat(*self.expressions)


def hinge(value: Any) -> Any:
    """Return max(value, 0)."""
    return ca.fmax(value, 0)


@dataclass(frozen=True)
class Instant:
    """Symbols of one instant.

    Attributes:
        state: features and their rates.
        acceleration: second derivatives of the features.
        c: contact variable of each effector, 0..1.
        a: their logits.
        forces: force and moment of each patch on its body, in the units of the effector, in the frame of the patch
            with its normal reversed, so that the third component pushes; (6 N, 1).
        angles: joint angles of the limbs [rad].
    """

    state: SymbolicState
    acceleration: Any
    c: Any
    a: Any
    forces: Any
    angles: Any


def dynamic_rows(
    character: Character,
    surroundings: Surroundings,
    at: Instant,
    rows: Rows,
    *,
    friction: float,
    extent: float = 1.0,
    together: float = 0.0,
    level: float = 0.0,
    balanced: bool = False,
    slip: float = 1.0,
) -> None:
    """Append all terms of (1) but the task's end terms at one instant.

    Args:
        character: simplified character.
        surroundings: what it may touch.
        at: symbols of the instant.
        rows: to which the terms are appended.
        friction: Coulomb coefficient.
        extent: share of the extents of patches within which the origin of their force stays.
        together: weight of the difference between contact variables of the hands of one character on the object.
        level: weight of the tilt of the object.
        balanced: whether there are rows of how far limbs move the centre of mass of each character.
        slip: factor of the velocity of patches in contact.
    """
    x, rate, prop, bodies = at.state.x, at.state.rate, at.state.prop, character.bodies
    limbs = LimbFrames(character, at.state, at.angles)
    wrenches = [_needed(character, at, limbs, k) for k in range(len(bodies))]
    pushes, variables = [], character.variables
    count = [variables.count(variable) for variable in variables]  # joined ones together cost as much as one
    for i, effector in enumerate(character.effectors):
        place, turn = at.state.places[i], at.state.turns[i]
        wrench = at.forces[6 * i : 6 * i + 6]
        push, twist = -turn @ wrench[:3], -turn @ wrench[3:]
        pushes.append((place, effector.unit * push, effector.unit * twist))
        touch = touch_of(character, surroundings, at.state, i)
        pushed = [(effector.body, 1), *((k, -share) for k, share in touch.shares)]
        for k, part in pushed:  # each body in its own weights
            share, p = part * effector.unit / bodies[k].mass, at.state.bodies[k].p
            force, moment = wrenches[k]
            wrenches[k] = force - share * push, moment - ca.cross(place - p, share * push) - share * twist
        body = at.state.bodies[effector.body]
        if effector.is_limb:
            speed = rate[6 + 6 * i : 9 + 6 * i]
            spin = angular_velocity(x[9 + 6 * i : 12 + 6 * i], rate[9 + 6 * i : 12 + 6 * i])
            rows.add("limb kinematics", "kinematics", *limbs.errors(effector, place, turn))
        else:
            spin, speed = body.omega, body.speed_at(place)
        near, normal = touch.near, touch.normal
        speed, spin = speed - touch.speed, spin - touch.spin
        root_c = ca.sqrt((at.c[i] + 1e-8) / count[i])
        tilt = turn[:, 2] + normal
        parallel = 0.0 if effector.point else ANGLE  # a point may turn about the surface
        firm = 2.0 if effector.on_prop else 1.0
        rows.add("contact", "contact", firm * root_c * (place - near), root_c * parallel * tilt)
        rows.add("slip", "contact", root_c * slip * 0.3 * speed, root_c * slip * 0.3 * parallel * spin)
        if effector.of_prop or effector.on_prop:  # touches for many phases, in which a slow motion adds up
            rows.add("object slip", "creep", root_c * speed, root_c * parallel * spin)
        scale = ca.sqrt(count[i] * effector.effort * K0 / (at.c[i] ** 2 + K1))
        rows.add("forces without contact", "absent", scale * wrench[:3], scale * 10 * wrench[3:])
        rows.add("effort", "effort", math.sqrt(count[i] * bodies[effector.body].effort) * wrench)
        if effector.turns:
            grip = effector.grip / effector.unit
            rows.add("friction", "cone", *_point_cone(-turn @ wrench[:3], wrench[3:], normal, friction, grip))
        else:
            rows.add("friction", "cone", *_cone(wrench, effector, friction, extent))
    for k, (force, moment) in enumerate(wrenches):
        rows.add(f"{character.label(k)} force", "physics", force)
        rows.add(f"{character.label(k)} moment", "physics", 2 * moment)
    for k in range(len(character.names)):
        rows.add("support", "support", hinge(1 - sum(share * at.c[i] for i, share in character.shares(k).items())))
        hands = [i for i, e in enumerate(character.effectors) if e.body == k and e.on_prop]
        if together > 0.0 and len(hands) > 1:
            rows.add("hands together", "support", *(together * (at.c[i] - at.c[j]) for i, j in pairwise(hands)))
    for k in range(len(character.names) if balanced else 0):
        rows.add("balance", "balance", limbs.shift(k)[:2])
    if together > 0.0:
        held = sum((2 if e.of_prop else e.on_prop) * at.c[i] for i, e in enumerate(character.effectors))
        rows.add("object held", "support", together * hinge(2 - held))
    if prop is not None:
        if level > 0.0:
            rows.add("object tilt", "posture", level * (prop.R[:, 2] - ca.DM([0, 0, 1])))
        resting = ca.fmin(sum(at.c[i] for i, e in enumerate(character.effectors) if e.of_prop), 1)
        for place in _prop_edges(surroundings, prop):
            gap = surroundings.distance(place)
            rows.add("object clearance", "drag", hinge((1 - resting) * PROP_CLEARANCE - gap))
    rows.add("contact variables", "prior", at.a)
    rows.add("acceleration", "acceleration", ca.DM(_acceleration_scales(character)) * at.acceleration)
    _joint_rows(character, limbs, at, pushes, rows)
    _collision_rows(character, surroundings, limbs, at.state, rows)


def _needed(character: Character, at: Instant, limbs: LimbFrames, k: int) -> tuple[Any, Any]:
    """Return force and moment about its centre of mass that (6) needs on a body, relative to its weight."""
    body, state, columns = character.bodies[k], at.state.bodies[k], character.body_features(k)
    x, rate, second = at.state.x[columns], at.state.rate[columns], at.acceleration[columns]
    omega, alpha = state.omega, angular_acceleration(x[3:], rate[3:], second[3:])
    inertia = state.R @ ca.DM(body.inertia) @ state.R.T
    force = second[:3] / GRAVITY + ca.DM([0, 0, 1])
    moment = (inertia @ alpha + ca.cross(omega, inertia @ omega)) / GRAVITY
    if character.limb_weights and k < len(character.names):
        moment = moment + ca.cross(limbs.shift(k), force)
    return force, moment


def _acceleration_scales(character: Character) -> Array:
    """Return the factor of each feature's acceleration, (features,)."""
    scales = np.tile([1.0, 1.0, 1.0, 0.3, 0.3, 0.3], character.features // 6)
    for k, body in enumerate(character.bodies):
        scales[character.body_features(k)] *= math.sqrt(body.effort)
    for i, limb in enumerate(character.limbs):
        scales[6 + 6 * i : 12 + 6 * i] *= character.limb_smoothness * math.sqrt(character.bodies[limb.body].effort)
    return scales


def _cone(wrench: Any, effector: Effector, friction: float, extent: float) -> list[Any]:
    """Return the violations of the friction cone and of a share of the patch by the origin of force.

    A patch that grips has those of a normal force that is larger by its pull.
    """
    normal, (x, y) = wrench[2] + effector.grip / effector.unit, extent * effector.half
    return [
        hinge(-normal),
        hinge(ca.sqrt(wrench[0] ** 2 + wrench[1] ** 2 + 1e-8) - friction * normal),
        10 * hinge(ca.fabs(wrench[3]) - y * normal),
        10 * hinge(ca.fabs(wrench[4]) - x * normal),
        10 * hinge(ca.fabs(wrench[5]) - 0.5 * friction * (x + y) * normal),
    ]


def _point_cone(push: Any, moment: Any, normal: Any, friction: float, grip: float = 0.0) -> list[Any]:
    """Return the same of a point without moment: its cone is about the normal of the surface, as its link may turn."""
    pressing = ca.dot(push, normal)
    slide = ca.sqrt(ca.sumsqr(push - pressing * normal) + 1e-8)
    return [hinge(-pressing - grip), hinge(slide - friction * (pressing + grip)), 10 * moment]


class LimbFrames:
    """Places of the limbs' joints by their angles.

    Attributes:
        roots: position and rotation of each character's root.
        joints: position, rotation and axis of each limb joint by its index in the scene's model.
    """

    def __init__(self, character: Character, state: SymbolicState, angles: Any) -> None:
        self._character = character
        self.roots = [
            (state.bodies[k].p - state.bodies[k].R @ ca.DM(body.com), state.bodies[k].R)
            for k, body in enumerate(character.bodies)
        ]
        self.joints: dict[int, tuple[Any, Any, Any]] = {}
        columns = {j: k for k, j in enumerate(character.joints.indices)}
        for limb in character.limbs:
            origin, R = self.roots[limb.body]
            for k, j in enumerate(limb.joints):
                if j not in self.joints:
                    X = limb.placements[k]
                    at, before = origin + R @ ca.DM(X.translation), R @ ca.DM(X.rotation)
                    after = before @ rotation(limb.axes[k], angles[columns[j]])
                    self.joints[j] = (at, after, before @ ca.DM(limb.axes[k]))
                origin, R, _ = self.joints[j]

    def errors(self, limb: Effector, place: Any, turn: Any) -> list[Any]:
        """Return how far a patch is from its place and rotation."""
        origin, R, _ = self.joints[limb.joints[-1]]
        R_end = R @ ca.DM(limb.end.rotation)
        turned = [ANGLE * (R_end - turn)[:, 0], ANGLE * (R_end - turn)[:, 2]] if limb.oriented else []
        return [origin + R @ ca.DM(limb.end.translation) - place, *turned]

    def centre(self, k: int) -> Any:
        """Return the centre of mass of the link of the k-th limb joint."""
        origin, R, _ = self.joints[self._character.joints.indices[k]]
        return origin + R @ ca.DM(self._character.joints.lever[k])

    def shift(self, body: int) -> Any:
        """Return how far a character's limbs move its centre of mass from where the nominal posture has it, (3, 1)."""
        joints, total, (base, R) = self._character.joints, ca.SX.zeros(3), self.roots[body]
        for k, mass in enumerate(joints.mass / self._character.bodies[body].mass):
            if joints.bodies[k] == body:
                total += mass * (self.centre(k) - base - R @ ca.DM(joints.nominal[k]))
        return total


def _joint_rows(
    character: Character, limbs: LimbFrames, at: Instant, pushes: list[tuple[Any, Any, Any]], rows: Rows
) -> None:
    """Append limits, posture and static torques of the limbs' joints."""
    joints, weight = character.joints, character.mass * GRAVITY
    lower, upper = joints.lower + JOINT_MARGIN, joints.upper - JOINT_MARGIN
    rows.add("joint limits", "kinematics", hinge(ca.DM(lower) - at.angles), hinge(at.angles - ca.DM(upper)))
    rows.add("posture", "posture", at.angles - ca.DM(joints.rest))
    torques = []
    for k, j in enumerate(joints.indices):
        origin, _, axis = limbs.joints[j]
        moment = ca.SX.zeros(3)
        for limb, (place, push, twist) in zip(character.limbs, pushes, strict=False):
            if j in limb.joints:
                moment += ca.cross(place - origin, push) + twist
        for link in joints.beyond[k] if character.limb_weights else ():
            moment += ca.cross(limbs.centre(link) - origin, ca.DM([0, 0, -joints.mass[link]]))
        torques.append(weight * ca.dot(axis, moment) / joints.torque[k])
    efforts = [math.sqrt(character.bodies[body].effort) for body in joints.bodies]
    rows.add("torques", "torque", *(effort * torque for effort, torque in zip(efforts, torques, strict=True)))
    if character.limb_weights:  # without their weight, static torques of lying limbs mean little
        rows.add("torque limits", "overload", *(hinge(ca.fabs(torque) - TORQUE_SHARE) for torque in torques))


def _collision_rows(
    character: Character, surroundings: Surroundings, limbs: LimbFrames, state: SymbolicState, rows: Rows
) -> None:
    """Append the penetration of links into solids, into the object, into trunks of others and into each other."""
    axes, hands = [], {limb.joints[-1] for limb in character.limbs if limb.on_prop}
    for capsule in character.capsules:
        origin, R = limbs.roots[capsule.body] if capsule.joint is None else limbs.joints[capsule.joint][:2]
        a, b = (origin + R @ ca.DM(end) for end in capsule.ends)
        axes.append((a, b))
        for u in capsule.fractions:
            place, margin = (1 - u) * a + u * b, 0.0 if capsule.touches else SOLID_MARGIN
            if not capsule.side:
                distance = _free(surroundings, state, capsule.body, place)
            elif capsule.joint in hands and state.prop is not None and surroundings.prop is not None:
                distance = surroundings.prop.distance(state.prop.seen(place))
            else:
                continue
            rows.add("penetration", "penetration", hinge(capsule.radius + margin - distance))
    shapes = list(zip(axes, character.capsules, strict=True))
    for one, other in character.apart:
        for (a, b), first in shapes:
            for (c, d), second in shapes:
                if first.link == one and second.link == other and min(first.apart, second.apart) > 0.0:
                    gap = segment_distance(a, b, c, d)
                    rows.add("own links", "penetration", hinge(first.apart + second.apart + LINK_MARGIN - gap))
    for one, other in character.close:
        for (a, b), first in shapes:
            for (c, d), second in shapes:
                if first.link == one and second.link == other:
                    gap = segment_distance(a, b, c, d)
                    rows.add("own links", "penetration", hinge(first.radius + second.radius + CLOSE_MARGIN - gap))


def _prop_edges(surroundings: Surroundings, prop: BodyState) -> list[Any]:
    """Return points on the edges of the object in the world."""
    solids = () if surroundings.prop is None else surroundings.prop.solids
    return [prop.p + prop.R @ ca.DM(point) for solid in solids for point in solid.edges(PROP_SPACING)]


def _free(surroundings: Surroundings, state: SymbolicState, body: int, point: Any) -> Any:
    """Return the signed distance of a symbolic point of a body from all solids, also moving ones [m]."""
    distance = surroundings.distance(point)
    if state.prop is not None and surroundings.prop is not None:
        distance = ca.fmin(distance, surroundings.prop.distance(state.prop.seen(point)))
    for _, trunk, at in trunks_of(surroundings, state, body):
        distance = ca.fmin(distance, trunk.distance(at.seen(point)))
    return distance


def segment_distance(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the distance of the symbolic segments ab and cd."""
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = ca.sumsqr(u) + 1e-9, ca.sumsqr(v) + 1e-9, ca.dot(u, v)
    uw, vw = ca.dot(u, w), ca.dot(v, w)
    s = _clamped((uv * vw - uw * vv) / (uu * vv - uv**2 + 1e-9))
    t = _clamped((uv * s + vw) / vv)
    s = _clamped((uv * t - uw) / uu)
    return ca.sqrt(ca.sumsqr(w + s * u - t * v) + 1e-8)


def _clamped(value: Any) -> Any:
    return ca.fmin(ca.fmax(value, 0), 1)


def path_rows(character: Character, surroundings: Surroundings, state: SymbolicState, rows: Rows) -> None:
    """Append terms on a fine grid: lengths of limbs; corners of patches do not enter solids nor drag along them."""
    for i, effector in enumerate(character.effectors):
        place, turn = state.places[i], state.turns[i]
        if effector.is_limb:
            last = place if effector.point else place + turn @ ca.DM(effector.end.inverse().translation)
            trunk, com = state.bodies[effector.body], character.bodies[effector.body].com
            first = trunk.p + trunk.R @ ca.DM(effector.placements[0].translation - com)
            if effector.bends:
                reach = ca.norm_2(last - first)
                rows.add("limb length", "kinematics", hinge(reach - STRAIGHT * effector.length))
        sides = (0.0,) if effector.point else (-1.0, 1.0)
        for side_x in sides:
            for side_y in sides:
                arm = turn @ ca.DM([side_x * effector.half[0], side_y * effector.half[1], 0.0])
                distance = surroundings.distance(place + arm)
                within = distance if effector.of_prop else _free(surroundings, state, effector.body, place + arm)
                rows.add("penetration", "penetration", hinge(-within))
                if effector.is_limb and not effector.on_prop:
                    rows.add("ramps", "ramp", hinge(-surroundings.height_above(place + arm, effector.length)))
                    spin = angular_velocity(state.x[9 + 6 * i : 12 + 6 * i], state.rate[9 + 6 * i : 12 + 6 * i])
                    speed = state.rate[6 + 6 * i : 9 + 6 * i] + ca.cross(spin, arm)
                    rows.add("drag", "drag", ca.exp(-((hinge(distance) / DRAG_HEIGHT) ** 2)) * speed[:2])
                    for _, other, at in trunks_of(surroundings, state, effector.body):
                        seen = at.seen(place + arm)
                        rows.add("ramps", "ramp", hinge(-other.height_above(seen)))
                        near = ca.exp(-((hinge(other.distance(seen)) / DRAG_HEIGHT) ** 2))
                        rows.add("drag", "drag", near * (at.R.T @ (speed - at.speed_at(place + arm)))[:2])
    if state.prop is not None and surroundings.prop is not None:
        for place in _prop_edges(surroundings, state.prop):
            rows.add("penetration", "penetration", hinge(-surroundings.distance(place)))
        for solid in surroundings.solids:
            for point in solid.edges(PROP_SPACING) if solid.half.max() < LARGE else []:
                distance = surroundings.prop.distance(state.prop.seen(ca.DM(point)))
                rows.add("penetration", "penetration", hinge(-distance))


__all__ = ["WEIGHTS", "Instant", "Rows", "dynamic_rows", "exponential_map", "path_rows", "state_at"]
