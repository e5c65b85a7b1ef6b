"""A bag that hangs from a rope."""

from __future__ import annotations

from math import pi

from .loft import ellipsoid
from .mesh import merged
from .robot import JointModel, Link, Robot, Visual
from .rods import rod
from .solids import Capsule

KNOT = 0.05  # mass between the two hinges of the rope [kg]


def bag(mass: float = 10.0, rope: float = 1.2, radius: float = 0.14, length: float = 0.5) -> Robot:
    """A bag on a stiff rope below its base, with two hinges at the base.

    Args:
        mass: Of the whole bag [kg].
        rope: From the base to the middle of the bag [m].
        radius: Of the bag [m].
        length: Height of the bag [m].
    """
    half = length / 2 - radius
    body = Capsule((0.0, 0.0, -rope - half), (0.0, 0.0, -rope + half), radius)
    top = -rope + length / 2
    cover = merged(
        [
            rod((0.0, 0.0, -rope - length / 2), (0.0, 0.0, top), radius, rim=radius, segments=32),
            rod((0.0, 0.0, top - 0.01), (0.0, 0.0, top + 0.05), 0.04, segments=16),
        ]
    )
    visuals = (
        Visual("cover", cover, "tint"),
        Visual("rope", rod((0.0, 0.0, top), (0.0, 0.0, 0.0), 0.012, segments=12), "rope"),
    )
    hook = Visual("hook", ellipsoid((0.0, 0.0, 0.0), (0.04, 0.04, 0.04), segments=16), "rope")
    return Robot(
        name="bag",
        description=f"bag of {mass:g} kg on a rope of {rope:g} m",
        root="fixed",
        links=(
            Link("hook", visuals=(hook,)),
            Link("knot", KNOT, solids=(Capsule((0.0, 0.0, 0.0), (0.0, 0.0, -0.04), 0.02),)),
            Link("bag", mass - KNOT, (body,), visuals=visuals),
        ),
        joints=(
            JointModel("pitch", "hook", "knot", (0.0, 0.0, 0.0), "y", -pi / 2, pi / 2, velocity=20.0),
            JointModel("roll", "knot", "bag", (0.0, 0.0, 0.0), "x", -pi / 2, pi / 2, velocity=20.0),
        ),
        materials={"tint": (0.70, 0.22, 0.18), "rope": (0.75, 0.68, 0.52)},
        passive_joints={joint: {"damping": 0.1} for joint in ("pitch", "roll")},
    )
