"""Table 1 of [Vaillant2015], and the same figures of a run."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

#: The scenes of the paper; its table has the first five.
SCENES = ("king", "funambulist", "sword", "acrobats", "door", "valve", "box", "lever")


def _column(
    scene: str, counts: tuple[int, int, int, int, int, int], qp: tuple[int, int, int], times: tuple[float, ...]
) -> Row:
    """Return one column of the table: counts, QP size, (least, median, largest tick, Δt) [ms]."""
    names = ("subsystems", "dofs", "actuated_dofs", "planar_contact_points", "grasp_contact_points", "collision_pairs")
    return {
        "scene": scene,
        **dict(zip(names, counts, strict=True)),
        **dict(zip(("variables", "equalities", "inequalities"), qp, strict=True)),
        "tick_ms": dict(zip(("min", "median", "max"), times[:3], strict=True)),
        "dt_ms": times[3],
    }


#: Table 1 of [Vaillant2015]: C++ and LSSOL on a Core i7-3720QM.
TABLE_1 = {
    column["scene"]: column
    for column in (
        _column("king", (4, 114, 90, 28, 16, 6), (380, 246, 298), (4.45, 22.72, 84.51, 33.33)),
        _column("funambulist", (2, 42, 30, 8, 8, 7), (136, 90, 99), (0.89, 1.29, 5.10, 5.0)),
        _column("sword", (3, 78, 60, 16, 8, 33), (234, 150, 317), (0.76, 6.12, 14.97, 10.0)),
        _column("acrobats", (3, 108, 90, 24, 0, 6), (294, 180, 282), (5.97, 8.10, 34.88, 10.0)),
        _column("door", (2, 38, 30, 8, 4, 1), (116, 74, 93), (0.77, 0.89, 2.33, 5.0)),
    )
}


def row_of(report: dict[str, Any]) -> Row:
    """Return the figures of Table 1 for one run; those of the paper under `paper` (None where it has none)."""
    counts = ("subsystems", "dofs", "actuated_dofs", "planar_contact_points", "grasp_contact_points", "collision_pairs")
    return {
        "scene": report["scenario"],
        **{name: report[name] for name in counts},
        **{name: report["qp"][name] for name in ("variables", "equalities", "inequalities")},
        "tick_ms": {name: report["tick_ms"][name] for name in ("min", "median", "max")},
        "dt_ms": 1e3 * report["dt"],
        "paper": TABLE_1.get(report["scenario"]),
    }
