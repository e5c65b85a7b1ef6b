"""Residuals of one instant: contact invariance, physics, kinematics, penetration and effort, as CasADi expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contact_invariant.character import Character, Effector
from contact_invariant.surroundings import Surroundings
from contact_invariant.symbols import angular_acceleration, angular_velocity, ca, exponential_map, rotation
from contact_invariant.task_terms import State, state_at

GRAVITY = 9.81
#: k_0 and k_1 of (7).
K0, K1 = 1e-2, 1e-3
#: Weights of the cost, see docs/contact_invariant.md; those of a stage are in `continuation.py`.
WEIGHTS = (
    "contact", "physics", "kinematics", "task", "effort", "torque", "acceleration",
    "penetration", "absent", "cone", "prior", "posture", "drag", "support", "ramp",
)  # fmt: skip
#: What an angle of 1 rad counts against a distance of 1 m, in contact and in kinematics.
ANGLE = 0.2
#: Distance that joints keep from their limits [rad].
JOINT_MARGIN = 0.04
#: Largest share of a limb's length that is used: where it is straight, its joints are fast.
STRAIGHT = 0.99
#: Distance that own links keep: the collision dampers of the controller act below 8 cm and keep 1 cm [m].
LINK_MARGIN = 0.03
#: Distance that links without a patch keep from solids: their spheres leave gaps [m].
SOLID_MARGIN = 0.015
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
        forces: force [body weights] and moment [body weights · m] of each patch on the body, in the frame of the
            patch with its normal reversed, so that the third component pushes; (6 N, 1).
        angles: joint angles of the limbs [rad].
    """

    state: State
    acceleration: Any
    c: Any
    a: Any
    forces: Any
    angles: Any


def dynamic_rows(character: Character, surroundings: Surroundings, at: Instant, rows: Rows, friction: float) -> None:
    """Append all terms of (1) but the task's end terms at one instant."""
    x, rate, second = at.state.x, at.state.rate, at.acceleration
    p, R = at.state.p, at.state.R
    omega = angular_velocity(x[3:6], rate[3:6])
    alpha = angular_acceleration(x[3:6], rate[3:6], second[3:6])
    inertia = R @ ca.DM(character.inertia) @ R.T
    force = second[:3] / GRAVITY + ca.DM([0, 0, 1])
    moment = (inertia @ alpha + ca.cross(omega, inertia @ omega)) / GRAVITY
    links: list[list[tuple[Any, Any]]] = []
    first = 0
    for i, effector in enumerate(character.effectors):
        place, turn = at.state.places[i], at.state.turns[i]
        wrench = at.forces[6 * i : 6 * i + 6]
        push, twist = -turn @ wrench[:3], -turn @ wrench[3:]
        force, moment = force - push, moment - ca.cross(place - p, push) - twist
        if effector.is_limb:
            speed = rate[6 + 6 * i : 9 + 6 * i]
            spin = angular_velocity(x[9 + 6 * i : 12 + 6 * i], rate[9 + 6 * i : 12 + 6 * i])
            angles = at.angles[first : first + len(effector.joints)]
            first += len(effector.joints)
            links.append(_limb_rows(character, effector, at.state, i, angles, (push, twist), rows))
        else:
            spin, speed = omega, rate[:3] + ca.cross(omega, place - p)
            links.append([])
        near, normal = surroundings.nearest(place, effector.margin)
        root_c = ca.sqrt(at.c[i] + 1e-8)
        tilt = turn[:, 2] + normal
        rows.add("contact", "contact", root_c * (place - near), root_c * ANGLE * tilt)
        rows.add("slip", "contact", root_c * 0.3 * speed, root_c * 0.3 * ANGLE * spin)
        scale = ca.sqrt(effector.effort * K0 / (at.c[i] ** 2 + K1))
        rows.add("forces without contact", "absent", scale * wrench[:3], scale * 10 * wrench[3:])
        rows.add("effort", "effort", wrench[:3], wrench[3:])
        rows.add("friction", "cone", *([] if effector.grip else _cone(wrench, effector, friction)))
    rows.add("root force", "physics", force)
    rows.add("root moment", "physics", 2 * moment)
    rows.add("support", "support", hinge(1 - ca.sum1(at.c)))
    rows.add("contact variables", "prior", at.a)
    scales = np.tile([1.0, 1.0, 1.0, 0.3, 0.3, 0.3], character.features // 6)
    rows.add("acceleration", "acceleration", ca.DM(scales) * second)
    _collision_rows(character, surroundings, at.state, links, rows)


def _cone(wrench: Any, effector: Effector, friction: float) -> list[Any]:
    """Return the violations of the friction cone and of the patch by the origin of force."""
    normal, (x, y) = wrench[2], effector.half
    return [
        hinge(-normal),
        hinge(ca.sqrt(wrench[0] ** 2 + wrench[1] ** 2 + 1e-8) - friction * normal),
        10 * hinge(ca.fabs(wrench[3]) - y * normal),
        10 * hinge(ca.fabs(wrench[4]) - x * normal),
        10 * hinge(ca.fabs(wrench[5]) - 0.5 * friction * (x + y) * normal),
    ]


def _limb_rows(
    character: Character, limb: Effector, state: State, i: int, angles: Any, load: tuple[Any, Any], rows: Rows
) -> list[tuple[Any, Any]]:
    """Append kinematics, limits and torques of a limb; return position and rotation of its joints."""
    place, turn = state.places[i], state.turns[i]
    origin, R = state.p - state.R @ ca.DM(character.com), state.R
    frames, torques = [], []
    for k, X in enumerate(limb.placements):
        origin = origin + R @ ca.DM(X.translation)
        R = R @ ca.DM(X.rotation)
        axis = R @ ca.DM(limb.axes[k])
        torques.append(ca.dot(axis, ca.cross(place - origin, load[0]) + load[1]))
        R = R @ rotation(limb.axes[k], angles[k])
        frames.append((origin, R))
    end, R = origin + R @ ca.DM(limb.end.translation), R @ ca.DM(limb.end.rotation)
    turned = [] if limb.point else [ANGLE * (R - turn)[:, 0], ANGLE * (R - turn)[:, 2]]
    rows.add("limb kinematics", "kinematics", end - place, *turned)
    lower, upper = limb.lower + JOINT_MARGIN, limb.upper - JOINT_MARGIN
    rows.add("joint limits", "kinematics", hinge(ca.DM(lower) - angles), hinge(angles - ca.DM(upper)))
    weight = character.mass * GRAVITY
    rows.add("torques", "torque", weight * ca.vertcat(*torques) / ca.DM(limb.torque))
    rows.add("posture", "posture", angles - ca.DM(limb.rest))
    return frames


def _collision_rows(
    character: Character, surroundings: Surroundings, state: State, links: list[list[tuple[Any, Any]]], rows: Rows
) -> None:
    """Append the penetration of links into solids and into each other."""
    base, axes = state.p - state.R @ ca.DM(character.com), []
    for capsule in character.capsules:
        origin, R = (base, state.R) if capsule.limb is None else links[capsule.limb][capsule.joint]
        a, b = (origin + R @ ca.DM(end) for end in capsule.ends)
        axes.append((a, b))
        for u in capsule.fractions:
            distance = surroundings.distance((1 - u) * a + u * b)
            margin = 0.0 if capsule.touches else SOLID_MARGIN
            rows.add("penetration", "penetration", hinge(capsule.radius + margin - distance))
    for one, other in character.apart:
        for (a, b), first in zip(axes, character.capsules, strict=True):
            for (c, d), second in zip(axes, character.capsules, strict=True):
                if first.link == one and second.link == other:
                    gap = segment_distance(a, b, c, d)
                    rows.add("own links", "penetration", hinge(first.apart + second.apart + LINK_MARGIN - gap))


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


def path_rows(character: Character, surroundings: Surroundings, state: State, rows: Rows) -> None:
    """Append terms on a fine grid: lengths of limbs; corners of patches do not enter solids nor drag along them."""
    for i, limb in enumerate(character.limbs):
        last = state.places[i]
        if not limb.point:
            last = last + state.turns[i] @ ca.DM(limb.end.inverse().translation)
        first = state.p + state.R @ ca.DM(limb.placements[0].translation - character.com)
        rows.add("limb length", "kinematics", hinge(ca.norm_2(last - first) - STRAIGHT * limb.length))
        spin = angular_velocity(state.x[9 + 6 * i : 12 + 6 * i], state.rate[9 + 6 * i : 12 + 6 * i])
        sides = (0.0,) if limb.point else (-1.0, 1.0)
        for side_x in sides:
            for side_y in sides:
                arm = state.turns[i] @ ca.DM([side_x * limb.half[0], side_y * limb.half[1], 0.0])
                distance = surroundings.distance(state.places[i] + arm)
                rows.add("penetration", "penetration", hinge(-distance))
                rows.add("ramps", "ramp", hinge(-surroundings.height_above(state.places[i] + arm)))
                speed = state.rate[6 + 6 * i : 9 + 6 * i] + ca.cross(spin, arm)
                rows.add("drag", "drag", ca.exp(-((hinge(distance) / DRAG_HEIGHT) ** 2)) * speed[:2])


__all__ = ["WEIGHTS", "Instant", "Rows", "dynamic_rows", "exponential_map", "path_rows", "state_at"]
