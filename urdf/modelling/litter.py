"""A litter: a chair on two poles, to be carried by two with its sitter."""

from __future__ import annotations

from .loft import AHEAD, ellipsoid, loft, ring
from .mesh import Mesh, merged, rounded_box
from .robot import Link, Robot, SurfaceModel, Visual
from .solids import Box, Capsule, Solid, Triple

POLE_RADIUS = 0.02  # fits a humanoid's grasp
BOARD = 0.03  # thickness of seat, footrest and back
RAIL = 0.035  # side of the beams' section
BACK_GAP = 0.10  # between the seat and the back's lower rail


def litter(
    mass: float = 20.0,
    pole: tuple[float, float] = (2.24, 0.54),
    handles: float = 0.94,
    seat: Triple = (-0.11, 0.0, 0.27),
    seat_depth: float = 0.30,
    footrest: Triple = (0.28, 0.0, -0.075),
    footrest_depth: float = 0.27,
    width: float = 0.36,
    back_height: float = 0.36,
) -> Robot:
    """A litter; its link frame is midway between the poles, x ahead, z up.

    Args:
        mass: Mass [kg].
        pole: Length of the poles, and the distance between their axes [m].
        handles: Middle of the litter to the handles, forwards and backwards [m].
        seat: Middle of the seat's top [m].
        seat_depth: Extent of the seat along x [m].
        footrest: Middle of the footrest's top [m].
        footrest_depth: Extent of the footrest along x [m].
        width: Extent of seat and footrest along y [m].
        back_height: Top of the back above the seat [m].
    """
    half, side = pole[0] / 2, pole[1] / 2
    poles = [Capsule((POLE_RADIUS - half, y, 0.0), (half - POLE_RADIUS, y, 0.0), POLE_RADIUS) for y in (side, -side)]
    board = Box((seat[0], 0.0, seat[2] - BOARD / 2), (seat_depth, width, BOARD))
    step = Box((footrest[0], 0.0, footrest[2] - BOARD / 2), (footrest_depth, width, BOARD))
    back_x = seat[0] - seat_depth / 2 - BOARD / 2
    back = Box((back_x, 0.0, seat[2] + back_height / 2), (BOARD, width, back_height))
    front_x = seat[0] + seat_depth / 2 - RAIL / 2
    beams = [Box((x, 0.0, 0.0), (RAIL, pole[1], RAIL)) for x in (back_x, front_x)]
    surfaces = {
        "seat": SurfaceModel("litter_link", seat, size=(seat_depth, width)),
        "footrest": SurfaceModel("litter_link", footrest, size=(footrest_depth, width)),
    }
    for name, x in (("front", handles), ("back", -handles)):
        for hand, y in (("left", side), ("right", -side)):
            surfaces[f"{name}_{hand}_handle"] = SurfaceModel(
                "litter_link", (x, y, 0.0), radius=POLE_RADIUS, length=0.08, encloses=False
            )
    collisions: tuple[Solid, ...] = (*poles, board, step, back, *beams)
    visuals = (
        Visual("poles", merged([_pole(half, y) for y in (side, -side)]), "wood"),
        Visual("knobs", merged([_knob(x, y) for x in (half, -half) for y in (side, -side)]), "gold"),
        Visual("frame", merged(_frame(board, step, back, beams)), "wood"),
        Visual("cushions", merged(_cushions(board, back)), "tint"),
    )
    return Robot(
        name="litter",
        description=f"litter, a chair on two poles, {pole[0]:.2f} x {pole[1] + 2 * POLE_RADIUS:.2f} m, {mass:g} kg",
        root="free_flyer",
        links=(Link("litter_link", mass, collisions=collisions, visuals=visuals),),
        materials={"tint": (0.62, 0.10, 0.13), "wood": (0.33, 0.21, 0.13), "gold": (0.83, 0.65, 0.26)},
        surfaces=surfaces,
    )


def _pole(half: float, y: float) -> Mesh:
    """A round pole along x."""
    rod = [ring(at, POLE_RADIUS) for at in (-half + 0.01, half - 0.01)]
    return loft(rod, start_cap=0.01, end_cap=0.01, frame=AHEAD, rings=2).moved((0.0, y, 0.0))


def _knob(x: float, y: float) -> Mesh:
    """A ball at the end of a pole."""
    return ellipsoid((x, y, 0.0), (0.028, 0.028, 0.028))


def _frame(board: Box, step: Box, back: Box, beams: list[Box]) -> list[Mesh]:
    """Boards and beams, and the posts and rails that join them."""
    width, level = board.size[1], step.center[2]
    back_x, front_x = beams[0].center[0], beams[1].center[0]
    top, under = back.center[2] + back.size[2] / 2, board.center[2]
    length = step.center[0] + step.size[0] / 2 - back_x
    meshes = [rounded_box(b.center, b.size, 0.006) for b in (board, step, *beams)]
    for y in (width / 2 - RAIL / 2, RAIL / 2 - width / 2):
        meshes.append(rounded_box((back_x, y, (top + level) / 2), (BOARD, RAIL, top - level), 0.006))
        meshes.append(rounded_box((front_x, y, (under + level) / 2), (RAIL, RAIL, under - level), 0.006))
        meshes.append(rounded_box((back_x + length / 2, y, level), (length, RAIL, BOARD), 0.006))
    for z in (top - RAIL / 2, BACK_GAP + under):
        meshes.append(rounded_box((back_x, 0.0, z), (BOARD, width, RAIL), 0.006))
    return meshes


def _cushions(board: Box, back: Box) -> list[Mesh]:
    """Cushions of seat and back; the top of the seat's is aligned with the board's top."""
    x, _, z = board.center
    depth, width, height = board.size
    on_seat = rounded_box((x, 0.0, z), (depth - 0.03, width - 0.03, height + 0.001), 0.008)
    low, high = z + BACK_GAP + RAIL / 2 + 0.005, back.center[2] + back.size[2] / 2 - RAIL - 0.005
    on_back = rounded_box(
        (back.center[0], 0.0, (low + high) / 2), (BOARD - 0.004, width - 2 * RAIL - 0.01, high - low), 0.008
    )
    return [on_seat, on_back]
