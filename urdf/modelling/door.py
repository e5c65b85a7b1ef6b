"""A door in its frame: hinge and lever handle, both without a motor."""

from __future__ import annotations

from math import pi

from .mesh import merged, rounded_box
from .robot import JointModel, Link, Robot, SurfaceModel, Visual
from .rods import rod
from .solids import Box, Capsule, inertial_of

GRAVITY = 9.81
GAP = 0.004  # between leaf and frame [m]
THICKNESS = 0.04  # of the leaf [m]
BACKSET = 0.06  # pivot of the handle to the leaf's free edge [m]
POST = 0.06  # width of the frame's posts [m]
DEPTH = 0.10  # depth of the frame [m]
HANDLE_RADIUS = 0.018
HANDLE_MASS = 0.35
HANDLE_LENGTH = 0.14  # pivot to the end of the lever [m]
GRIP = 0.085  # pivot to the middle of the grip [m]
SPRING = 1.0  # of the handle [N m/rad]


def door(
    leaf: tuple[float, float] = (0.56, 1.80), mass: float = 18.0, height: float = 1.05, stand_off: float = 0.10
) -> Robot:
    """A door that opens towards negative x; its base is on the floor, below the hinge, the leaf extends to +y.

    A positive hinge angle opens it, a positive knob angle presses the lever down.

    Args:
        leaf: Width and height of the leaf [m].
        mass: Of the leaf [kg].
        height: Of the handle above the floor [m].
        stand_off: Of the lever before the leaf [m].
    """
    width, top = leaf
    board = Box((THICKNESS / 2, GAP + width / 2, GAP + top / 2), (THICKNESS, width, top))
    pivot = (0.0, GAP + width - BACKSET, height)
    handle = _handle(stand_off)
    center = inertial_of(handle.solids, HANDLE_MASS).lever
    carried = HANDLE_MASS * GRAVITY * float(-center[1]) / SPRING  # the spring holds the lever's weight at angle 0
    return Robot(
        name="door",
        description=f"door in its frame, leaf {width:.2f} x {top:.2f} m, {mass:g} kg, with a lever handle",
        root="fixed",
        links=(_frame(width, top), Link("leaf", mass, (board,), visuals=_leaf_visuals(board, pivot)), handle),
        joints=(
            JointModel("hinge", "frame", "leaf", axis="z", lower=-0.06, upper=1.75, velocity=3.0),
            JointModel("knob", "leaf", "lever", pivot, axis="x", lower=-0.3, upper=0.9, velocity=4.0),
        ),
        materials={
            "tint": (0.46, 0.55, 0.60),
            "panel": (0.39, 0.48, 0.53),
            "post": (0.90, 0.89, 0.86),
            "steel": (0.70, 0.72, 0.75),
        },
        surfaces={
            "handle": SurfaceModel(
                "lever", (-stand_off, -GRIP, 0.0), (0.0, 0.0, pi / 2), radius=0.02, length=0.08, encloses=False
            )
        },
        passive_joints={
            "hinge": {"damping": 1.0, "friction": 0.3},
            "knob": {"stiffness": SPRING, "rest": -carried, "damping": 0.08},
        },
        notes={"passive_joints": "[N m/rad], [rad], [N m s/rad], [N m]; at rest the knob's spring carries the lever"},
    )


def _frame(width: float, top: float) -> Link:
    """Posts beside the leaf, a lintel above, and behind it the strips that it closes against."""
    high = top + 2 * GAP
    sides = (-POST / 2, 2 * GAP + width + POST / 2)
    middle = sum(sides) / 2
    posts = [Box((DEPTH / 2, y, (high + POST) / 2), (DEPTH, POST, high + POST)) for y in sides]
    lintel = Box((DEPTH / 2, middle, high + POST / 2), (DEPTH, width + 2 * GAP, POST))
    strip = 0.014
    inner = DEPTH - THICKNESS - GAP
    stops = [
        rounded_box((DEPTH - inner / 2, y, high / 2), (inner, 2 * strip, high), 0.003) for y in (0.0, 2 * GAP + width)
    ]
    stops.append(rounded_box((DEPTH - inner / 2, middle, high), (inner, width + 2 * GAP, 2 * strip), 0.003))
    trims = []
    for x in (-0.006, DEPTH + 0.006):
        for y, outwards in zip(sides, (-1.0, 1.0), strict=True):
            trims.append(rounded_box((x, y + 0.012 * outwards, (high + POST) / 2), (0.02, 0.07, high + POST), 0.005))
        trims.append(rounded_box((x, middle, high + POST / 2 + 0.012), (0.02, width + 2 * POST + 0.05, 0.07), 0.005))
    visuals = (
        Visual("frame", merged([rounded_box(b.center, b.size, 0.004) for b in (*posts, lintel)]), "post"),
        Visual("stops", merged(stops), "post"),
        Visual("trims", merged(trims), "post"),
    )
    return Link("frame", collisions=(*posts, lintel), visuals=visuals)


def _leaf_visuals(board: Box, pivot: tuple[float, float, float]) -> tuple[Visual, ...]:
    """The leaf with two raised panels on each face, hinge barrels and the plates of the handle."""
    _, middle, _ = board.center
    _, width, top = board.size
    panels = []
    for low, high in ((0.10, 0.44), (0.52, 0.93)):
        center = (board.center[0], middle, GAP + top * (low + high) / 2)
        panels.append(rounded_box(center, (THICKNESS + 0.012, width - 0.19, top * (high - low)), 0.006))
    barrels = [rod((-0.006, 0.0, z - 0.045), (-0.006, 0.0, z + 0.045), 0.009) for z in (0.12 * top, 0.88 * top)]
    plates = [rod((x, *pivot[1:]), (x + 0.008, *pivot[1:]), 0.028, rim=0.002) for x in (-0.008, THICKNESS)]
    return (
        Visual("leaf", rounded_box(board.center, board.size, 0.003), "tint"),
        Visual("panels", merged(panels), "panel"),
        Visual("fittings", merged([*barrels, *plates]), "steel"),
    )


def _handle(stand_off: float) -> Link:
    """The lever, and a shorter one on the other side; collision geometry of the near one only."""
    neck = Capsule((0.0, 0.0, 0.0), (-stand_off, 0.0, 0.0), 0.011)
    lever = Capsule((-stand_off, 0.0, 0.0), (-stand_off, -HANDLE_LENGTH, 0.0), HANDLE_RADIUS)
    far = THICKNESS + 0.06
    meshes = [
        rod((0.0, 0.0, 0.0), (-stand_off, 0.0, 0.0), 0.011),
        rod((-stand_off, 0.014, 0.0), (-stand_off, -HANDLE_LENGTH, 0.0), HANDLE_RADIUS, rim=0.012),
        rod((THICKNESS, 0.0, 0.0), (far, 0.0, 0.0), 0.011),
        rod((far, 0.014, 0.0), (far, -HANDLE_LENGTH, 0.0), 0.012, rim=0.008),
    ]
    return Link("lever", HANDLE_MASS, (neck, lever), (neck, lever), (Visual("lever", merged(meshes), "steel"),))
