"""A crowd of any size as a scenario: humanoids in a row, hand in hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from multi_qp_scene.scenario import Scenario, load_scenario

#: Distance between two who hold hands [m].
SPACING = 0.62


def chain(count: int) -> dict[str, Any]:
    """Return the scenario of `count` humanoids who stand in a row and hold hands, each keeping his own balance."""
    people = [f"person_{k + 1}" for k in range(count)]
    feet = {
        f"{name}_{side}_foot": {"surfaces": [f"{name}/{side}_sole", "ground/floor"], "friction": 0.7}
        for name in people
        for side in ("left", "right")
    }
    hands = {
        f"{one}_{other}": {"surfaces": [f"{one}/left_grip", f"{other}/right_grip"], "friction": 0.7}
        for one, other in zip(people, people[1:], strict=False)
    }
    tasks: dict[str, Any] = {}
    for name in people:
        ground = [f"{name}_left_foot", f"{name}_right_foot"]
        target = {"over_contacts": ground}
        tasks[f"{name}_balance"] = {
            "type": "com",
            "subsystems": [name],
            "axes": ["x", "y"],
            "target": target,
            "weight": 100,
            "stiffness": 20,
        }
        tasks[f"{name}_posture"] = {"type": "posture", "subsystem": name, "weight": 1, "stiffness": 10}
    return {
        "description": f"{count} humanoids in a row, hand in hand",
        "dt": 0.005,
        "duration": 10.0,
        "subsystems": {
            name: {
                "model": "humanoid",
                "posture": "half_sitting",
                "place": {"surfaces": ["left_sole", "right_sole"], "onto": "ground/floor", "xy": [0.0, k * SPACING]},
            }
            for k, name in enumerate(people)
        },
        "environment": {"ground": {"model": "ground"}},
        "contacts": feet | hands,
        "tasks": tasks,
        "initial_state": "stand",
        "states": {"stand": {"contacts": [*feet, *hands], "hold": 1000.0}},
    }


def load_chain(count: int, folder: Path, **changes: Any) -> Scenario:
    """Write the scenario into a folder and load it; `changes` replace its top-level keys."""
    path = folder / f"crowd_{count}.yaml"
    path.write_text(yaml.safe_dump(chain(count) | changes, sort_keys=False), encoding="utf-8")
    return load_scenario(path)
