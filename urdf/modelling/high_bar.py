"""A high bar that turns in its bearings, on two posts."""

from __future__ import annotations

from math import pi

from .mesh import merged, rounded_box
from .robot import JointModel, Link, Robot, SurfaceModel, Visual
from .rods import rod
from .solids import Box, Capsule

RADIUS = 0.018
POST = 0.06  # thickness of a post [m]


def high_bar(
    height: float = 2.0, length: float = 1.3, grips: float = 0.38, mass: float = 3.0, damping: float = 0.05
) -> Robot:
    """A bar along y with two handles above the middle of its base, which is on the floor.

    Args:
        height: Of the bar above the floor [m].
        length: Between the posts [m].
        grips: From the middle to a handle [m].
        mass: Of the bar [kg].
        damping: Of its bearings [N m s/rad].
    """
    half = 0.5 * length
    feet = tuple(Box((0.0, side * half, 0.02), (0.7, 0.12, 0.04)) for side in (-1.0, 1.0))
    posts = tuple(Box((0.0, side * half, 0.5 * height), (POST, POST, height + 0.1)) for side in (-1.0, 1.0))
    frame = merged([rounded_box(box.center, box.size, 0.008) for box in (*feet, *posts)])
    bar = Capsule((0.0, 0.03 - half, 0.0), (0.0, half - 0.03, 0.0), RADIUS)
    return Robot(
        name="high_bar",
        description=f"high bar {height:g} m above the floor, which turns in its bearings",
        root="fixed",
        links=(
            Link("posts", collisions=(*feet, *posts), visuals=(Visual("frame", frame, "iron"),)),
            Link("bar", mass, (bar,), visuals=(Visual("bar", rod((0, -half, 0), (0, half, 0), RADIUS), "tint"),)),
        ),
        joints=(JointModel("turn", "posts", "bar", (0.0, 0.0, height), "y", -20.0, 20.0, velocity=20.0),),
        materials={"tint": (0.70, 0.72, 0.75), "iron": (0.25, 0.28, 0.32)},
        surfaces={
            f"{side}_handle": SurfaceModel(
                "bar", (0.0, sign * grips, 0.0), (0.0, 0.0, pi / 2), radius=0.02, length=0.08, encloses=False
            )
            for side, sign in (("left", 1.0), ("right", -1.0))
        },
        passive_joints={"turn": {"damping": damping}},
        notes={"passive_joints": "[N m s/rad]"},
    )
