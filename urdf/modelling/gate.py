"""A gate of boards on a hinge with a spring, and the fence beside it."""

from __future__ import annotations

from .mesh import Mesh, merged, rounded_box
from .robot import JointModel, Link, Robot, Visual
from .rods import rod
from .solids import Box, Triple

BOTTOM, TOP = 0.20, 1.25  # of the boards [m]
RAILS = (0.38, 1.06)  # heights of the rails [m]
WOOD = {"tint": (0.58, 0.40, 0.24), "rail": (0.47, 0.32, 0.19), "steel": (0.3, 0.31, 0.33)}


def gate(width: float = 1.0, mass: float = 10.0, stiffness: float = 6.0, damping: float = 12.0) -> Robot:
    """A gate that a spring closes; it opens along x, its hinge is at the base, and its leaf extends along −y.

    Args:
        width: Of the leaf [m].
        mass: Of the leaf [kg].
        stiffness: Of the spring [N m/rad].
        damping: Of the hinge [N m s/rad].
    """
    middle, height = 0.5 * (BOTTOM + TOP), TOP - BOTTOM
    leaf = Box((0.0, -0.5 * width, middle), (0.04, width, height))
    hinge = [rod((0.0, 0.0, z - 0.05), (0.0, 0.0, z + 0.05), 0.018, segments=12) for z in RAILS]
    return Robot(
        name="gate",
        description=f"gate of {width:g} m on a hinge with a spring, {mass:g} kg",
        root="fixed",
        links=(
            Link("hinge", visuals=(Visual("hinge", merged(hinge), "steel"),)),
            Link(
                "leaf",
                mass,
                (leaf,),
                visuals=(
                    Visual("boards", _boards(-width, 0.0, 0.01), "tint"),
                    Visual("rails", _rails(-width, 0.0, -0.01), "rail"),
                ),
            ),
        ),
        joints=(JointModel("opening", "hinge", "leaf", (0.0, 0.0, 0.0), "z", -0.02, 2.2, velocity=20.0),),
        materials=WOOD,
        passive_joints={"opening": {"stiffness": stiffness, "damping": damping}},
    )


def fence(gap: float = 1.1, length: float = 1.6) -> Robot:
    """Posts and boards on both sides of a gap along y, whose middle is at the base.

    Args:
        gap: Between the two posts of the gate [m].
        length: Of each side [m].
    """
    posts, boards, rails, solids = list[Mesh](), list[Mesh](), list[Mesh](), list[Box]()
    for side in (-1.0, 1.0):
        inner, outer = side * 0.5 * gap, side * (0.5 * gap + length)
        low, high = min(inner, outer), max(inner, outer)
        boards.append(_boards(low + 0.1, high - 0.1, 0.01))
        rails.append(_rails(low, high, -0.01))
        solids.append(Box((0.0, 0.5 * (low + high), 0.5 * TOP), (0.04, high - low, TOP)))
        for y in (inner + side * 0.05, outer - side * 0.05):
            size: Triple = (0.1, 0.1, TOP + 0.08)
            post = Box((0.0, y, 0.5 * size[2]), size)
            posts.append(rounded_box(post.center, post.size, 0.008))
            solids.append(post)
    visuals = (
        Visual("posts", merged(posts), "rail"),
        Visual("boards", merged(boards), "tint"),
        Visual("rails", merged(rails), "rail"),
    )
    return Robot(
        name="fence",
        description=f"fence with a gap of {gap:g} m",
        root="fixed",
        links=(Link("fence", collisions=tuple(solids), visuals=visuals),),
        materials=WOOD,
    )


def _boards(low: float, high: float, x: float) -> Mesh:
    """Upright boards of about 0.09 m between two places along y."""
    count = max(1, round((high - low) / 0.125))
    pitch = (high - low) / count
    size = (0.02, 0.72 * pitch, TOP - BOTTOM)
    places = [low + (k + 0.5) * pitch for k in range(count)]
    return merged([rounded_box((x, y, 0.5 * (BOTTOM + TOP)), size, 0.006) for y in places])


def _rails(low: float, high: float, x: float) -> Mesh:
    """Two rails between two places along y."""
    size = (0.02, high - low, 0.08)
    return merged([rounded_box((x, 0.5 * (low + high), z), size, 0.006) for z in RAILS])
