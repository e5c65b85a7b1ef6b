"""A spring-loaded lever with a bulky ball at its end."""

from __future__ import annotations

from math import pi

from .loft import ellipsoid, loft, ring
from .mesh import merged, rounded_box
from .robot import JointModel, Link, Robot, SurfaceModel, Visual
from .rods import rod
from .solids import Box, Capsule, Sphere

GRIP_RADIUS = 0.018
GRIP_LENGTH = 0.12
ROD_RADIUS = 0.014


def lever(
    pivot: float = 0.50, grip: float = 0.42, ball: float = 0.62, ball_radius: float = 0.13, ball_mass: float = 1.5
) -> Robot:
    """A lever that stands upright at angle 0; a positive angle leans it towards negative x.

    Args:
        pivot: Height of the joint above the floor [m].
        grip: Pivot to the middle of the grip [m].
        ball: Pivot to the centre of the ball [m].
        ball_radius: Radius of the ball [m].
        ball_mass: Mass of the ball [kg].
    """
    shaft = Capsule((0.0, 0.0, 0.0), (0.0, 0.0, ball), ROD_RADIUS)
    low, high = grip - GRIP_LENGTH / 2, grip + GRIP_LENGTH / 2
    sleeve = [ring(low, 0.016), ring(grip, GRIP_RADIUS), ring(high, 0.016)]
    bar_visuals = (
        Visual("bar", rod((0.0, 0.0, 0.0), (0.0, 0.0, ball), ROD_RADIUS), "steel"),
        Visual("sleeve", loft(sleeve, start_cap=0.004, end_cap=0.004, rings=10), "dark"),
        Visual("eye", rod((0.0, -0.03, 0.0), (0.0, 0.03, 0.0), 0.04, rim=0.006), "steel"),
    )
    bulk = ellipsoid((0.0, 0.0, 0.0), (ball_radius,) * 3, rings=23, segments=36)
    collar = rod((0.0, 0.0, -ball_radius - 0.012), (0.0, 0.0, -0.9 * ball_radius), 0.026)
    return Robot(
        name="lever",
        description=f"spring-loaded lever, ball of radius {ball_radius:g} m at {ball:g} m from its pivot",
        root="fixed",
        links=(
            _pedestal(pivot),
            Link("bar", 1.2, (shaft,), visuals=bar_visuals),
            Link(
                "ball",
                ball_mass,
                (Sphere((0.0, 0.0, 0.0), ball_radius),),
                visuals=(Visual("ball", bulk, "tint"), Visual("collar", collar, "steel")),
            ),
        ),
        joints=(
            JointModel("lever", "pedestal", "bar", (0.0, 0.0, pivot), "-y", -0.9, 0.9, velocity=5.0),
            JointModel("ball_fixed", "bar", "ball", (0.0, 0.0, ball)),
        ),
        materials={
            "tint": (0.85, 0.52, 0.10),
            "iron": (0.25, 0.28, 0.32),
            "steel": (0.70, 0.72, 0.75),
            "dark": (0.13, 0.14, 0.16),
        },
        surfaces={
            "grip": SurfaceModel("bar", (0.0, 0.0, grip), (0.0, -pi / 2, 0.0), radius=0.02, length=0.08, encloses=False)
        },
        passive_joints={"lever": {"stiffness": 30.0, "rest": 0.0, "damping": 4.0}},
        notes={"passive_joints": "[N m/rad], [rad], [N m s/rad]; the spring is stiffer than the weight is upside down"},
    )


def _pedestal(pivot: float) -> Link:
    """A machine box with two cheeks that hold the joint."""
    foot = Box((0.0, 0.0, 0.015), (0.30, 0.30, 0.03))
    box = Box((0.0, 0.0, (pivot - 0.03) / 2), (0.18, 0.18, pivot - 0.09))
    cheeks = [rounded_box((0.0, y, pivot - 0.04), (0.09, 0.018, 0.17), 0.006) for y in (-0.045, 0.045)]
    visuals = (
        Visual("foot", rounded_box(foot.center, foot.size, 0.008), "iron"),
        Visual("box", rounded_box(box.center, box.size, 0.015), "iron"),
        Visual("cheeks", merged(cheeks), "steel"),
        Visual("axle", rod((0.0, -0.065, pivot), (0.0, 0.065, pivot), 0.016), "dark"),
    )
    return Link("pedestal", collisions=(foot, box), visuals=visuals)
