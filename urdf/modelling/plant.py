"""A flower on a stem of several pieces, each on two hinges with springs."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from .loft import ellipsoid
from .mesh import Mesh, merged
from .robot import JointModel, Link, Robot, Visual
from .rods import rod
from .solids import Box, Capsule, Sphere, Triple

BEND = 1.3  # largest angle of a hinge [rad]
KNOT = 0.02  # mass between the two hinges of a piece [kg]
FOOT = 0.04  # height of the lowest hinges, so that the stem does not touch the floor [m]


def plant(name: str, height: float, mass: float, *, pieces: int, flower: float, stiffness: float) -> Robot:
    """A plant that stands upright on the floor; its lowest piece yields to feet, which do not touch it.

    Args:
        name: File stem of the model.
        height: Of the middle of the flower [m].
        mass: Of the whole plant [kg].
        pieces: Of the stem.
        flower: Radius of the flower [m].
        stiffness: Of the two lowest springs [N m/rad]; those above are softer, as they carry less.
    """
    length, weights = (height - FOOT) / pieces, np.arange(pieces, 0, -1) ** 2
    head = 0.08 * mass
    stems = (mass - head - pieces * KNOT) * weights / weights.sum()
    links = [
        Link("soil", visuals=(Visual("soil", ellipsoid((0.0, 0.0, 0.0), (0.08, 0.08, 0.03), segments=12), "soil"),))
    ]
    joints: list[JointModel] = []
    passive: dict[str, dict[str, float]] = {}
    for k in range(pieces):
        below, base = (f"stem_{k}", (0.0, 0.0, length)) if k else ("soil", (0.0, 0.0, FOOT))
        knot, pitch, roll = f"knot_{k + 1}", f"pitch_{k + 1}", f"roll_{k + 1}"
        thickness = 0.011 * height * (1.0 - 0.2 * k)
        links.append(Link(knot, KNOT, solids=(Box((0.0, 0.0, 0.0), (0.04, 0.04, 0.04)),)))
        links.append(_stem(k, length, thickness, float(stems[k])))
        joints.append(JointModel(pitch, below, knot, base, "y", -BEND, BEND, velocity=20.0))
        joints.append(JointModel(roll, knot, f"stem_{k + 1}", (0.0, 0.0, 0.0), "x", -BEND, BEND, velocity=20.0))
        spring = stiffness * (1.0 - k / pieces) ** 2
        passive |= {joint: {"stiffness": spring, "damping": 0.08 * spring} for joint in (pitch, roll)}
    links.append(_flower(flower, head))
    joints.append(JointModel("flower_fixed", f"stem_{pieces}", "flower", (0.0, 0.0, length)))
    return Robot(
        name=name,
        description=f"plant on springs, {height:g} m, {mass:g} kg",
        root="fixed",
        links=tuple(links),
        joints=tuple(joints),
        materials={
            "tint": (0.93, 0.69, 0.13),
            "green": (0.27, 0.48, 0.20),
            "heart": (0.33, 0.20, 0.10),
            "soil": (0.36, 0.27, 0.19),
        },
        passive_joints=passive,
    )


def _stem(k: int, length: float, radius: float, mass: float) -> Link:
    """A piece of the stem along z, counted from 0, with two leaves at its middle."""
    name, top = f"stem_{k + 1}", (0.0, 0.0, length)
    body = Capsule((0.0, 0.0, 0.0), top, radius)
    leaves = [_leaf(0.5 * length, 0.5 * pi * k + side, 0.4 * length) for side in (0.0, pi)]
    visuals = (
        Visual(name, rod((0.0, 0.0, 0.0), top, radius, rim=0.8 * radius, segments=12), "green"),
        Visual(f"{name}_leaves", merged(leaves), "green"),
    )
    return Link(name, mass, (body,) if k else (), (body,), visuals)


def _leaf(height: float, turned: float, length: float) -> Mesh:
    """A leaf that rises outwards from the stem."""
    rise = 0.6
    blade = ellipsoid((0.5 * length, 0.0, 0.0), (0.5 * length, 0.16 * length, 0.004), rings=5, segments=10)
    tilt = np.array([[cos(rise), 0.0, -sin(rise)], [0.0, 1.0, 0.0], [sin(rise), 0.0, cos(rise)]])
    turn = np.array([[cos(turned), -sin(turned), 0.0], [sin(turned), cos(turned), 0.0], [0.0, 0.0, 1.0]])
    return blade.moved((0.0, 0.0, height), turn @ tilt)


def _flower(radius: float, mass: float) -> Link:
    """A head of petals around a heart, which looks up; it collides as a ball of 0.7 of its radius."""
    petals = []
    for k in range(9):
        angle = 2.0 * pi * k / 9
        at: Triple = (0.6 * radius * cos(angle), 0.6 * radius * sin(angle), 0.02)
        turn = np.array([[cos(angle), -sin(angle), 0.0], [sin(angle), cos(angle), 0.0], [0.0, 0.0, 1.0]])
        shape = ellipsoid((0.0, 0.0, 0.0), (0.45 * radius, 0.22 * radius, 0.012), rings=5, segments=8)
        petals.append(shape.moved(at, turn))
    heart = ellipsoid((0.0, 0.0, 0.02), (0.45 * radius, 0.45 * radius, 0.035), rings=7, segments=12)
    visuals = (Visual("petals", merged(petals), "tint"), Visual("heart", heart, "heart"))
    return Link("flower", mass, (Sphere((0.0, 0.0, 0.0), 0.7 * radius),), visuals=visuals)
