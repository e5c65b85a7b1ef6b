"""A flexible tree: trunk, branches and hanging twigs of several pieces, each on two hinges with springs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .loft import ellipsoid
from .mesh import Mesh, merged
from .robot import JointModel, Link, Robot, Visual
from .rods import rod
from .solids import Box, Capsule, Triple, triple

GRAVITY = 9.81
BEND = 1.3  # largest angle of a hinge [rad]
KNOT = 0.02  # mass between the two hinges of a piece [kg]
FOOT = 0.04  # height of the lowest hinges [m]
DAMPING = 0.1  # of a hinge, relative to its stiffness [s]
DIRECTIONS = {"x": (1.0, 0.0), "y": (0.0, 1.0), "-x": (-1.0, 0.0), "-y": (0.0, -1.0)}
LIFTS = {"x": "-y", "y": "x", "-x": "y", "-y": "-x"}  # axes that raise a branch in a direction
BRANCH, TWIG_MASS = 0.8, 0.12  # mass of a branch and of each piece of a twig [kg]
TWIG = 0.012  # radius of the hanging pieces [m]


@dataclass(frozen=True)
class Branch:
    """A branch that grows out of the trunk, with twigs of two pieces that hang from it.

    Attributes:
        height: At the trunk [m].
        direction: A key of DIRECTIONS.
        length: Without its twigs [m].
        twigs: Places along the branch, relative to its length, with the length of the twig there [m].
        stiffness: Of the hinges at the trunk [N m/rad].
    """

    height: float
    direction: str
    length: float
    twigs: tuple[tuple[float, float], ...]
    stiffness: float = 30.0


@dataclass
class _Tree:
    """Links, joints and stiffnesses while a tree is assembled."""

    links: list[Link]
    joints: list[JointModel]
    stiffness: dict[str, float]

    def grow(self, piece: Link, below: str, base: Triple, axes: tuple[str, str], stiffness: float) -> None:
        """Add a piece on two hinges."""
        name = piece.name
        knot = Link(f"{name}_knot", KNOT, solids=(Box((0.0, 0.0, 0.0), (0.04, 0.04, 0.04)),))
        self.links += [knot, piece]
        for k, (axis, parent, child, xyz) in enumerate(
            ((axes[0], below, knot.name, base), (axes[1], knot.name, name, (0.0, 0.0, 0.0))), 1
        ):
            self.joints.append(JointModel(f"{name}_{k}", parent, child, xyz, axis, -BEND, BEND, velocity=20.0))
            self.stiffness[f"{name}_{k}"] = stiffness


def tree(
    name: str, height: float, mass: float, branches: tuple[Branch, ...], *, pieces: int = 3, stiffness: float = 450.0
) -> Robot:
    """A tree on the floor; its springs are at rest where they carry it as it is at zero.

    Args:
        name: File stem of the model.
        height: Of the trunk [m].
        mass: Of the whole tree [kg].
        branches: Branches.
        pieces: Of the trunk.
        stiffness: Of the two lowest springs [N m/rad]; those above are softer.
    """
    length, weights = (height - FOOT) / pieces, np.arange(pieces, 0, -1) ** 2
    carried = sum(BRANCH + 2 * TWIG_MASS * len(one.twigs) for one in branches)
    trunk = mass - carried - pieces * KNOT
    grown = _Tree([_soil()], [], {})
    for k in range(pieces):
        below, base = (f"trunk_{k}", (0.0, 0.0, length)) if k else ("soil", (0.0, 0.0, FOOT))
        piece = _trunk(k, length, 0.028 * height * (1.0 - 0.22 * k), float(trunk * weights[k] / weights.sum()))
        grown.grow(piece, below, base, ("y", "x"), stiffness * (1.0 - k / pieces) ** 2)
    grown.links.append(_crown(0.28 * height))
    grown.joints.append(JointModel("crown_fixed", f"trunk_{pieces}", "crown", (0.0, 0.0, length)))
    for k, one in enumerate(branches, 1):
        on = min(int((one.height - FOOT) / length), pieces - 1)
        _add_branch(grown, one, k, f"trunk_{on + 1}", (0.0, 0.0, one.height - FOOT - on * length))
    return Robot(
        name=name,
        description=f"flexible tree of {height:g} m with {len(branches)} branches, {mass:g} kg",
        root="fixed",
        links=tuple(grown.links),
        joints=tuple(grown.joints),
        materials={
            "tint": (0.33, 0.52, 0.20),
            "bark": (0.40, 0.29, 0.19),
            "fruit": (0.75, 0.11, 0.10),
            "soil": (0.36, 0.27, 0.19),
        },
        passive_joints=_springs(grown),
    )


def _springs(grown: _Tree) -> dict[str, dict[str, float]]:
    """Stiffness, damping and rest of each hinge, so that gravity is balanced at zero."""
    places, parents = {"soil": np.zeros(3)}, {joint.child: joint for joint in grown.joints}
    for joint in grown.joints:
        places[joint.child] = places[joint.parent] + joint.xyz
    moments = {joint.name: np.zeros(3) for joint in grown.joints}
    for link in grown.links:
        inertial, above = link.inertial(), parents.get(link.name)
        while inertial is not None and above is not None:
            lever = places[link.name] + inertial.lever - places[above.child]
            moments[above.name] += np.cross(lever, (0.0, 0.0, -GRAVITY * inertial.mass))
            above = parents.get(above.parent)
    found = {}
    for joint in grown.joints:
        if joint.axis is not None:
            spring, sign = grown.stiffness[joint.name], -1.0 if joint.axis[0] == "-" else 1.0
            load = sign * float(moments[joint.name]["xyz".index(joint.axis[-1])])
            found[joint.name] = {"stiffness": spring, "rest": -load / spring, "damping": DAMPING * spring}
    return found


def _add_branch(grown: _Tree, one: Branch, number: int, below: str, base: Triple) -> None:
    """Add a branch and its twigs."""
    x, y = DIRECTIONS[one.direction]
    name, radius, end = f"branch_{number}", 0.02, np.array([one.length * x, one.length * y, 0.12 * one.length])
    body = Capsule((0.0, 0.0, 0.0), triple(end), radius)
    visuals = (
        Visual(name, rod((0.0, 0.0, 0.0), triple(end), radius, rim=0.6 * radius, segments=10), "bark"),
        Visual(f"{name}_leaves", _leaves([triple(k * end) for k in (0.45, 0.7, 0.95)], 0.09), "tint"),
    )
    piece = Link(name, BRANCH - KNOT, (body,), visuals=visuals)
    grown.grow(piece, below, base, ("z", LIFTS[one.direction]), one.stiffness)
    for k, (place, length) in enumerate(one.twigs, 1):
        _hang_twig(grown, f"twig_{number}_{k}", name, triple(place * end), length)


def _hang_twig(grown: _Tree, name: str, below: str, base: Triple, length: float) -> None:
    """Add two pieces that hang, the second with a fruit; weak springs keep them straight."""
    for k in (1, 2):
        end = (0.0, 0.0, -0.5 * length)
        body, piece = Capsule((0.0, 0.0, 0.0), end, TWIG), f"{name}_{k}"
        shares = (0.15, 0.4, 0.65, 0.9)
        tufts = [(0.02 * (-1) ** n, 0.015 * (n % 3 - 1), share * end[2]) for n, share in enumerate(shares)]
        visuals = [
            Visual(piece, rod((0.0, 0.0, 0.0), end, 0.6 * TWIG, segments=8), "bark"),
            Visual(f"{piece}_leaves", _leaves(tufts, 0.035), "tint"),
        ]
        if k == 2:
            visuals.append(Visual(f"{name}_fruit", ellipsoid(end, (0.03, 0.03, 0.03), rings=7, segments=12), "fruit"))
        grown.grow(Link(piece, TWIG_MASS - KNOT, (body,), visuals=tuple(visuals)), below, base, ("y", "x"), 0.3)
        below, base = piece, end


def _leaves(places: Sequence[Triple], size: float) -> Mesh:
    """Tufts of leaves."""
    return merged([ellipsoid(at, (size, size, 0.7 * size), power=2.4, rings=5, segments=8) for at in places])


def _trunk(k: int, length: float, radius: float, mass: float) -> Link:
    """A piece of the trunk along z, counted from 0."""
    name, top = f"trunk_{k + 1}", (0.0, 0.0, length)
    body = Capsule((0.0, 0.0, 0.0 if k else radius), top, radius)  # the lowest one does not touch the floor
    mesh = rod((0.0, 0.0, 0.0), top, radius, rim=0.6 * radius, segments=16)
    return Link(name, mass, (body,), visuals=(Visual(name, mesh, "bark"),))


def _crown(radius: float) -> Link:
    """Leaves above the trunk, out of reach; they have no mass and do not collide."""
    places = ((0.0, 0.0, 0.4), (0.5, 0.2, 0.1), (-0.4, 0.4, 0.15), (0.1, -0.55, 0.1))
    tufts = [ellipsoid(triple(radius * np.array(at)), (0.62 * radius,) * 3, power=2.3, rings=7) for at in places]
    return Link("crown", visuals=(Visual("crown", merged(tufts), "tint"),))


def _soil() -> Link:
    """The ground around the trunk."""
    mound = ellipsoid((0.0, 0.0, 0.0), (0.14, 0.14, 0.03), segments=12)
    return Link("soil", visuals=(Visual("soil", mound, "soil"),))
