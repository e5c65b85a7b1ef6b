"""Models for the tightrope walker: a narrow beam, and a bar with two handles."""

from __future__ import annotations

from math import pi

from .loft import ASIDE, loft, ring
from .mesh import Mesh, rounded_box
from .robot import Link, Robot, SurfaceModel, Visual
from .solids import Box, Capsule

RAIL = 0.06  # thickness of the beam's top board [m]


def beam(width: float = 0.115, length: float = 8.0, height: float = 0.3, behind: float = 1.0) -> Robot:
    """A straight beam on posts; its top surface begins `behind` the origin and runs along x.

    Args:
        width: Of the top, along y [m]; the humanoid's foot is 0.115 m wide.
        length: Of the top, along x [m].
        height: Of the top above the floor [m].
        behind: How much of it lies at negative x [m].
    """
    middle = length / 2 - behind
    rail = Box((middle, 0.0, height - RAIL / 2), (length, width, RAIL))
    spacing = 2.0
    posts = []
    for k in range(int(length // spacing)):
        place = spacing * (k + 0.5) - behind
        posts.append(Box((place, 0.0, (height - RAIL) / 2), (0.08, 0.5 * width, height - RAIL)))
        posts.append(Box((place, 0.0, 0.015), (0.16, 3.0 * width, 0.03)))
    visuals = [Visual("beam_rail", rounded_box(rail.center, rail.size, 0.006), "tint")]
    visuals += [
        Visual(f"beam_post_{k}", rounded_box(post.center, post.size, 0.006), "frame") for k, post in enumerate(posts)
    ]
    return Robot(
        name="beam",
        description=f"beam as wide as a foot, {length:g} x {width:g} m, its top at {height:g} m",
        root="fixed",
        links=(Link("beam_link", collisions=(rail,), visuals=tuple(visuals)),),
        materials={"tint": (0.70, 0.52, 0.34), "frame": (0.22, 0.23, 0.25)},
        surfaces={"top": SurfaceModel("beam_link", (middle, 0.0, height), size=(length, width))},
    )


def barbell(length: float = 1.5, radius: float = 0.02, grips: float = 0.25, mass: float = 2.0) -> Robot:
    """A straight bar along y with two handles; the weights at its ends are loads of the scenario.

    Args:
        length: Between the middles of the weights [m].
        radius: Of the bar [m].
        grips: From the middle to a handle [m].
        mass: Of the bar alone [kg].
    """
    half = length / 2
    rod = Capsule((0.0, -half, 0.0), (0.0, half, 0.0), radius)
    visuals = [Visual("bar", _cylinder(radius, -half - 0.05, half + 0.05), "steel")]
    surfaces = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        visuals.append(Visual(f"{side}_weight", _cylinder(0.085, sign * half - 0.03, sign * half + 0.03), "tint"))
        visuals.append(Visual(f"{side}_collar", _cylinder(0.03, sign * half - 0.045, sign * half + 0.045), "frame"))
        surfaces[f"{side}_handle"] = SurfaceModel(
            "bar_link", (0.0, sign * grips, 0.0), (0.0, 0.0, pi / 2), radius=radius, length=0.08, encloses=False
        )
    return Robot(
        name="barbell",
        description=f"bar of {mass:g} kg to be held with both hands, {length:g} m between its weights",
        root="free_flyer",
        links=(Link("bar_link", mass, collisions=(rod,), visuals=tuple(visuals)),),
        materials={"tint": (0.75, 0.22, 0.20), "steel": (0.70, 0.72, 0.75), "frame": (0.22, 0.23, 0.25)},
        surfaces=surfaces,
    )


def _cylinder(radius: float, start: float, end: float) -> Mesh:
    """A cylinder along y with slightly rounded rims [m]."""
    rim = min(0.2 * radius, 0.006)
    sections = [ring(-end + rim, radius), ring(-start - rim, radius)]  # the loft's axis is -y
    return loft(sections, start_cap=rim, end_cap=rim, frame=ASIDE, rings=2, segments=28)
