"""Podium for the acrobats: two high decks, one behind the other."""

from __future__ import annotations

from .mesh import Mesh, merged, rounded_box
from .robot import Link, Robot, SurfaceModel, Visual
from .solids import Box

DECK = 0.05  # thickness of the decks [m]
POST = 0.06  # side of the posts' section [m]
RAIL = 0.035  # side of the section of the bars between the posts [m]


def podium(
    lower: float = 1.1,
    upper: float = 2.2,
    lower_depth: float = 0.34,
    upper_depth: float = 0.36,
    width: float = 0.66,
) -> Robot:
    """Two decks; the link frame is on the floor below the middle of the lower deck's front edge.

    Args:
        lower: Top of the lower deck above the floor [m].
        upper: Top of the upper deck, which is behind the lower one, above the floor [m].
        lower_depth: Extent of the lower deck along x [m].
        upper_depth: Extent of the upper deck along x [m].
        width: Extent of both along y [m].
    """
    decks, frames, boards = [], [], []
    for front, depth, top in ((0.0, lower_depth, lower), (-lower_depth, upper_depth, upper)):
        deck = Box((front - depth / 2, 0.0, top - DECK / 2), (depth, width, DECK))
        decks.append(deck)
        boards.append(rounded_box(deck.center, deck.size, 0.01))
        frames.append(_scaffold(front - 0.01, depth - 0.02, top - DECK, width - 0.02))
    return Robot(
        name="podium",
        description=f"scaffold with two decks of {width:g} m width, {lower:g} and {upper:g} m high",
        root="fixed",
        links=(
            Link(
                "podium_link",
                collisions=tuple(decks),
                visuals=(
                    Visual("podium_decks", merged(boards), "tint"),
                    Visual("podium_frame", merged(frames), "frame"),
                ),
            ),
        ),
        materials={"tint": (0.66, 0.22, 0.20), "frame": (0.30, 0.31, 0.34)},
        surfaces={
            "lower": SurfaceModel("podium_link", (-lower_depth / 2, 0.0, lower), size=(lower_depth, width)),
            "upper": SurfaceModel(
                "podium_link", (-lower_depth - upper_depth / 2, 0.0, upper), size=(upper_depth, width)
            ),
        },
    )


def _scaffold(front: float, depth: float, height: float, width: float) -> Mesh:
    """Four posts below a deck, with bars between them."""
    rear, side = front - depth + POST / 2, (width - POST) / 2
    front -= POST / 2
    parts = [rounded_box((x, y, height / 2), (POST, POST, height), 0.012) for x in (front, rear) for y in (side, -side)]
    span = front - rear
    for level in (0.3 * height, 0.75 * height):
        for y in (side, -side):
            parts.append(rounded_box(((front + rear) / 2, y, level), (span, RAIL, RAIL), 0.008))
        parts.append(rounded_box((rear, 0.0, level), (RAIL, 2 * side, RAIL), 0.008))
    return merged(parts)
