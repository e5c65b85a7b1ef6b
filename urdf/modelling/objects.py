"""Objects and environment models: box, apple, table, ground, mat."""

from __future__ import annotations

from math import pi

from .loft import ellipsoid
from .mesh import Mesh, merged, rounded_box
from .robot import Link, Robot, SurfaceModel, Visual
from .rods import rod
from .solids import Box, Capsule, Sphere, Triple


def carton(size: Triple = (0.24, 0.30, 0.22), mass: float = 3.0) -> Robot:
    """A rigid box to be held between two palms.

    Args:
        size: Edge lengths along x, y, z [m].
        mass: Mass [kg].
    """
    x, y, z = (s / 2 for s in size)
    body = Box((0.0, 0.0, 0.0), size)
    surfaces = {
        "left": SurfaceModel("box_link", (0.0, y, 0.0), (-pi / 2, 0.0, 0.0), (size[0], size[2])),
        "right": SurfaceModel("box_link", (0.0, -y, 0.0), (pi / 2, 0.0, 0.0), (size[0], size[2])),
        "bottom": SurfaceModel("box_link", (0.0, 0.0, -z), (pi, 0.0, 0.0), (size[0], size[1])),
        "top": SurfaceModel("box_link", (0.0, 0.0, z), (0.0, 0.0, 0.0), (size[0], size[1])),
        "front": SurfaceModel("box_link", (x, 0.0, 0.0), (0.0, pi / 2, 0.0), (size[2], size[1])),
        "back": SurfaceModel("box_link", (-x, 0.0, 0.0), (0.0, -pi / 2, 0.0), (size[2], size[1])),
    }
    tape = (size[0] + 0.001, 0.05, size[2] + 0.001)  # around the box, except the faces for the palms
    visuals = (
        Visual("box", rounded_box(body.center, body.size, 0.006), "tint"),
        Visual("tape", rounded_box(body.center, tape, 0.006), "tape"),
    )
    return Robot(
        name="box",
        description=f"rigid box, {size[0]:.2f} x {size[1]:.2f} x {size[2]:.2f} m, {mass:g} kg",
        root="free_flyer",
        links=(Link("box_link", mass, collisions=(body,), visuals=visuals),),
        materials={"tint": (0.76, 0.58, 0.38), "tape": (0.86, 0.76, 0.60)},
        surfaces=surfaces,
    )


def apple(radius: float = 0.04, mass: float = 0.15) -> Robot:
    """An apple, which collides as a ball.

    Args:
        radius: Of the ball [m].
        mass: Mass [kg].
    """
    body = Sphere((0.0, 0.0, 0.0), radius)
    visuals = (
        Visual("skin", ellipsoid((0.0, 0.0, 0.0), (radius, radius, 0.94 * radius), rings=9, segments=16), "tint"),
        Visual("stalk", rod((0.0, 0.0, 0.7 * radius), (0.004, 0.0, 1.4 * radius), 0.002, segments=8), "stalk"),
    )
    return Robot(
        name="apple",
        description=f"apple of {mass:g} kg",
        root="free_flyer",
        links=(Link("apple", mass, (body,), visuals=visuals),),
        materials={"tint": (0.75, 0.11, 0.10), "stalk": (0.35, 0.24, 0.12)},
    )


def table(
    top: tuple[float, float] = (0.30, 0.28),
    height: float = 0.78,
    thickness: float = 0.03,
    column: float = 0.08,
) -> Robot:
    """A small pedestal table; its top is narrower than the box, so that hands reach past it.

    Args:
        top: Extent of the top, and of the foot on the floor, along x and y [m].
        height: Top surface above the floor [m].
        thickness: Thickness of the top [m].
        column: Side of the column's square section [m].
    """
    foot_height = 0.02
    length = height - thickness - foot_height
    board = Box((0.0, 0.0, height - thickness / 2), (top[0], top[1], thickness))
    pillar = Box((0.0, 0.0, foot_height + length / 2), (column, column, length))
    foot = Box((0.0, 0.0, foot_height / 2), (top[0], top[1], foot_height))
    visuals = (
        Visual("table_top", rounded_box(board.center, board.size, 0.008), "tint"),
        Visual("table_column", rounded_box(pillar.center, pillar.size, 0.015), "frame"),
        Visual("table_foot", rounded_box(foot.center, foot.size, 0.006), "frame"),
    )
    return Robot(
        name="table",
        description=f"small table, top {top[0]:.2f} x {top[1]:.2f} m at {height:.2f} m; stands on the floor",
        root="fixed",
        links=(Link("table_link", 12.0, collisions=(board, pillar, foot), visuals=visuals),),
        materials={"tint": (0.62, 0.45, 0.30), "frame": (0.22, 0.23, 0.25)},
        surfaces={"top": SurfaceModel("table_link", (0.0, 0.0, height), size=top)},
    )


def ground(extent: float = 100.0, thickness: float = 0.2) -> Robot:
    """The floor: top at z = 0, no visual since every viewer draws its own.

    Args:
        extent: Side of the square [m].
        thickness: Depth of the collision box [m].
    """
    slab = Box((0.0, 0.0, -thickness / 2), (extent, extent, thickness))
    return Robot(
        name="ground",
        description="flat floor at z = 0",
        root="fixed",
        links=(Link("ground_link", collisions=(slab,)),),
        surfaces={"floor": SurfaceModel("ground_link", (0.0, 0.0, 0.0), size=(extent, extent))},
    )


def mat(tile: float = 0.25, tiles: tuple[int, int] = (6, 8), thickness: float = 0.012) -> Robot:
    """A mat for the game of [Tonneau2018] section 8: tiles in four colours, different for adjacent tiles.

    Args:
        tile: Side of a tile [m].
        tiles: How many along x and y.
        thickness: Top surface above the floor [m].
    """
    colors = {"red": (0.80, 0.22, 0.20), "yellow": (0.92, 0.76, 0.24), "green": (0.26, 0.60, 0.36),
              "blue": (0.24, 0.44, 0.74)}  # fmt: skip
    extent = (tile * tiles[0], tile * tiles[1])
    board = Box((0.0, 0.0, 0.5 * thickness), (*extent, thickness))
    names = list(colors)
    surfaces = {"top": SurfaceModel("mat_link", (0.0, 0.0, thickness), size=extent)}
    pieces: dict[str, list[Mesh]] = {name: [] for name in names}
    for i in range(tiles[0]):
        for j in range(tiles[1]):
            name = names[(i + 2 * (j % 2) + j // 2) % 4]
            x, y = tile * (i + 0.5) - 0.5 * extent[0], tile * (j + 0.5) - 0.5 * extent[1]
            size = (tile - 0.012, tile - 0.012, thickness)
            pieces[name].append(rounded_box((x, y, 0.5 * thickness), size, 0.004, steps=1))
            surfaces[f"{name}_{len(pieces[name])}"] = SurfaceModel("mat_link", (x, y, thickness), size=(tile, tile))
    return Robot(
        name="mat",
        description=f"mat of {tiles[0]} x {tiles[1]} tiles of {tile:.2f} m in four colours",
        root="fixed",
        links=(
            Link(
                "mat_link",
                collisions=(board,),
                visuals=tuple(Visual(f"{name}_tiles", merged(found), name) for name, found in pieces.items()),
            ),
        ),
        materials=colors,
        surfaces=surfaces,
    )


def long_table(
    top: tuple[float, float] = (1.1, 0.66),
    height: float = 0.54,
    thickness: float = 0.03,
    rail: tuple[float, float] = (2.24, 0.54),
    handles: float = 0.94,
    mass: float = 16.0,
) -> Robot:
    """A table on two rails, to be carried by two; its link frame is midway between the rails, x ahead, z up.

    Args:
        top: Extent of the top along x and y [m].
        height: Top surface above the feet [m].
        thickness: Thickness of the top [m].
        rail: Length of the rails, and the distance between their axes [m].
        handles: Middle of the table to the handles, forwards and backwards [m].
        mass: Mass [kg].
    """
    radius, leg = 0.02, 0.045
    half, side = rail[0] / 2, rail[1] / 2
    rails = [Capsule((radius - half, y, 0.0), (half - radius, y, 0.0), radius) for y in (side, -side)]
    board = Box((0.0, 0.0, radius + thickness / 2), (top[0], top[1], thickness))
    length = height - thickness
    corners = [(x, y) for x in (-0.45 * top[0], 0.45 * top[0]) for y in (-0.4 * top[1], 0.4 * top[1])]
    legs = [Box((x, y, radius - length / 2), (leg, leg, length)) for x, y in corners]
    surfaces = {"top": SurfaceModel("table_link", (0.0, 0.0, radius + thickness), size=top)}
    for name, x in (("front", handles), ("back", -handles)):
        for hand, y in (("left", side), ("right", -side)):
            surfaces[f"{name}_{hand}_handle"] = SurfaceModel(
                "table_link", (x, y, 0.0), radius=radius, length=0.08, encloses=False
            )
    poles = [rounded_box((0.0, y, 0.0), (rail[0], 2 * radius, 2 * radius), 0.8 * radius) for y in (side, -side)]
    visuals = (
        Visual("long_table_top", rounded_box(board.center, board.size, 0.008), "tint"),
        Visual("long_table_rails", merged(poles), "wood"),
        Visual("long_table_legs", merged([rounded_box(b.center, b.size, 0.006) for b in legs]), "wood"),
    )
    return Robot(
        name="long_table",
        description=f"table on two rails for two carriers, top {top[0]:.2f} x {top[1]:.2f} m, {mass:g} kg",
        root="free_flyer",
        links=(Link("table_link", mass, collisions=(*rails, board, *legs), visuals=visuals),),
        materials={"tint": (0.62, 0.45, 0.30), "wood": (0.33, 0.21, 0.13)},
        surfaces=surfaces,
    )
