"""Scenarios with any number of humanoids: a chain hand in hand, and a tower of boxes held by pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from multi_qp_scene.scenario import Scenario, load_scenario

#: Distance between neighbours in a chain [m].
SPACING = 0.62
#: Distance of the humanoids from the axis of the tower [m], and height of the lowest box [m].
RADIUS, LOWEST = 0.9, 0.8
#: Height of a box [m], and the scale of the model that gives it.
BOX, FLAT = 0.055, 0.25


def chain(count: int) -> dict[str, Any]:
    """Return the scenario of `count` humanoids in a row, hand in hand, each with its own balance task."""
    people = [f"person_{k + 1}" for k in range(count)]
    hands = {
        f"{one}_{other}": {"surfaces": [f"{one}/left_grip", f"{other}/right_grip"], "friction": 0.7}
        for one, other in zip(people, people[1:], strict=False)
    }
    places = {name: {"xy": [0.0, k * SPACING]} for k, name in enumerate(people)}
    return _crowd(f"{count} humanoids in a row, hand in hand", places, {}, hands)


def tower(count: int) -> dict[str, Any]:
    """Return the scenario of a tower of count / 2 boxes, each held by two of `count` humanoids around it.

    The hands do not reach the boxes: each contact holds the initial relative pose, at a distance, so that the posture
    is the same for towers of all sizes.
    """
    boxes = [f"box_{k + 1}" for k in range(max(1, count // 2))]
    places, parts, contacts = {}, {}, {}
    for k, box in enumerate(boxes):
        parts[box] = {
            "model": "box",
            "mass": 1.0,
            "scale": [1.0, 1.0, FLAT],
            "pose": {"xyz": [0.0, 0.0, LOWEST + k * BOX]},
        }
        if k:
            contacts[f"{box}_on_{boxes[k - 1]}"] = {
                "surfaces": [f"{box}/bottom", f"{boxes[k - 1]}/top"],
                "friction": 0.6,
            }
        for side, turn in (("left", 0.0), ("right", math.pi)):
            angle = turn + math.pi * k / len(boxes)
            name = f"person_{2 * k + 1 + (side == 'right')}"
            xy = [-RADIUS * math.cos(angle), -RADIUS * math.sin(angle)]
            places[name] = {"xy": xy, "yaw": angle}
            contacts[f"{name}_{box}"] = {"surfaces": [f"{name}/{side}_grip", f"{box}/{side}"], "friction": 0.7}
    return _crowd(f"a tower of {len(boxes)} boxes that pairs hold", places, parts, contacts)


#: Scenarios by name.
CROWDS: dict[str, Callable[[int], dict[str, Any]]] = {"chain": chain, "tower": tower}


def _crowd(
    description: str, places: dict[str, dict[str, Any]], parts: dict[str, Any], held: dict[str, Any]
) -> dict[str, Any]:
    """Return the scenario of standing humanoids with further subsystems and contacts."""
    feet = {
        f"{name}_{side}_foot": {"surfaces": [f"{name}/{side}_sole", "ground/floor"], "friction": 0.7}
        for name in places
        for side in ("left", "right")
    }
    tasks: dict[str, Any] = {}
    for name in places:
        tasks[f"{name}_balance"] = {
            "type": "com",
            "subsystems": [name],
            "axes": ["x", "y"],
            "target": {"over_contacts": [f"{name}_left_foot", f"{name}_right_foot"]},
            "weight": 100,
            "stiffness": 20,
        }
        tasks[f"{name}_posture"] = {"type": "posture", "subsystem": name, "weight": 1, "stiffness": 10}
    people = {
        name: {
            "model": "humanoid",
            "posture": "half_sitting",
            "place": {"surfaces": ["left_sole", "right_sole"], "onto": "ground/floor", **place},
        }
        for name, place in places.items()
    }
    return {
        "description": description,
        "dt": 0.005,
        "duration": 10.0,
        "subsystems": people | parts,
        "environment": {"ground": {"model": "ground"}},
        "contacts": feet | held,
        "contact_tolerance": {"distance": 1.0, "angle": math.pi},  # the hands hold their initial relative pose
        "tasks": tasks,
        "initial_state": "stand",
        "states": {"stand": {"contacts": [*feet, *held], "hold": 1000.0}},
    }


def load_crowd(kind: str, count: int, folder: Path, **changes: Any) -> Scenario:
    """Write a scenario of `CROWDS` to a folder and load it; `changes` replace its top-level keys."""
    path = folder / f"{kind}_{count}.yaml"
    path.write_text(yaml.safe_dump(CROWDS[kind](count) | changes, sort_keys=False), encoding="utf-8")
    return load_scenario(path)


def load_chain(count: int, folder: Path, **changes: Any) -> Scenario:
    """Load the scenario of a chain of humanoids."""
    return load_crowd("chain", count, folder, **changes)
