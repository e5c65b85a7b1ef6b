"""Writes the humanoid's contact sequences into config/sequences/; change the figures here and run it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence, surface_pose
from multi_qp_scene.models import load_model
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import model_path
from multi_qp_scene.sequence_file import save_contact_sequence
from multi_qp_scene.surfaces import planar_points

FOLDER = Path(__file__).parents[1] / "config" / "sequences"
UP = (0.0, 0.0, 1.0)
NAME = "walker"


@dataclass
class Script:
    """A sequence as it is written down: make and break contacts one by one."""

    name: str
    description: str
    friction: float = 0.6
    model: str = "humanoid"
    phases: list[ContactPhase] = field(default_factory=list)
    _on: dict[str, Contact] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the sizes of the surfaces."""
        problems = Problems()
        loaded = load_model(model_path(self.model), problems)
        problems.raise_if_any()
        assert loaded is not None
        self._surfaces = loaded.spec.surfaces

    def put(self, surface: str, xyz, normal=UP, forward=(1.0, 0.0, 0.0)) -> Script:
        """Make a contact, without a phase of its own."""
        normal = np.array(normal, dtype=float)
        pose = surface_pose(np.array(xyz, dtype=float), normal / np.linalg.norm(normal), np.array(forward, dtype=float))
        self._count[surface] = self._count.get(surface, 0) + 1
        size = self._surfaces[surface].size
        points, normals = planar_points(size)
        name = f"{surface}_{self._count[surface]}"
        self._on[surface] = Contact(name, NAME, surface, pose, points, normals, self.friction, "planar", size)
        return self

    def phase(self) -> Script:
        """End a phase with the contacts that are on."""
        self.phases.append(ContactPhase(tuple(self._on.values())))
        return self

    def lift(self, surface: str) -> Script:
        """Break a contact."""
        del self._on[surface]
        return self.phase()

    def make(self, surface: str, xyz, **where) -> Script:
        """Make a contact."""
        return self.put(surface, xyz, **where).phase()

    def move(self, surface: str, xyz, **where) -> Script:
        """Break a contact and make it elsewhere."""
        return self.lift(surface).make(surface, xyz, **where)

    def save(self) -> None:
        """Write the file."""
        sequence = ContactSequence(tuple(self.phases), {NAME: self.model}, self.name, self.description)
        save_contact_sequence(sequence, FOLDER / f"{self.name}.yaml")


def steps(script: Script, places: list[tuple[float, float]], *, normal=UP, width: float = 0.09) -> None:
    """Walk over places (x, z), right foot first, and bring the feet together at the last."""
    script.put("left_sole", (0.0, width, 0.0), normal).put("right_sole", (0.0, -width, 0.0), normal).phase()
    sides = [("right_sole", -width), ("left_sole", width)]
    for k, (x, z) in enumerate([*places, places[-1]]):
        surface, y = sides[k % 2]
        script.move(surface, (x, y, z), normal=normal)


def chair() -> None:
    """Sit down and rise, with the hands on the arm rests."""
    script = Script("chair", "sitting down with the hands on the arm rests, and rising again")
    script.put("left_sole", (0.0, 0.12, 0.0)).put("right_sole", (0.0, -0.12, 0.0)).phase()
    hands = {"left_palm": (-0.05, 0.3, 0.48), "right_palm": (-0.05, -0.3, 0.48)}
    for hand, place in hands.items():
        script.make(hand, place)
    script.make("seat", (-0.22, 0.0, 0.36))
    for hand in hands:
        script.lift(hand)
    for hand, place in hands.items():
        script.make(hand, place)
    script.lift("seat")
    for hand in hands:
        script.lift(hand)
    script.save()


def climbing() -> None:
    """Climb ledges on a wall: hands first, then feet."""
    script = Script("climbing", "climbing ledges of a wall with hands and feet", friction=0.7)
    script.put("left_sole", (0.0, 0.12, 0.0)).put("right_sole", (0.0, -0.12, 0.0)).phase()
    lean = (-0.5, 0.0, 0.87)  # ledges that fall away from the wall
    script.make("left_palm", (0.35, 0.25, 0.75), normal=lean)
    script.make("right_palm", (0.35, -0.25, 0.85), normal=lean)
    script.move("right_sole", (0.18, -0.12, 0.22))
    script.move("left_sole", (0.18, 0.12, 0.3))
    script.move("left_palm", (0.38, 0.25, 1.1), normal=lean)
    script.move("right_palm", (0.38, -0.25, 1.2), normal=lean)
    script.move("right_sole", (0.2, -0.12, 0.52))
    script.move("left_sole", (0.2, 0.12, 0.6))
    script.save()


def twister() -> None:
    """On hands and feet, one of them moves at each turn."""
    script = Script("twister", "the game: one hand or foot moves at each turn", friction=0.7)
    script.put("left_sole", (-0.15, 0.15, 0.0)).put("right_sole", (-0.15, -0.15, 0.0)).phase()
    script.make("left_palm", (0.4, 0.2, 0.0)).make("right_palm", (0.4, -0.2, 0.0))
    script.move("left_palm", (0.45, 0.3, 0.0))
    script.move("right_sole", (-0.05, -0.3, 0.0))
    script.move("right_palm", (0.45, -0.05, 0.0))
    script.move("left_sole", (-0.1, 0.3, 0.0))
    script.move("left_palm", (0.35, 0.35, 0.0))
    script.lift("right_palm").lift("left_palm")
    script.save()


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    level = Script("level_walking", "eight steps of 20 cm on level ground")
    steps(level, [(0.2 * k, 0.0) for k in range(1, 8)])
    level.save()
    stairs = Script("stairs", "up six stairs of 14 cm, one foot on each")
    steps(stairs, [(0.25 * k, 0.14 * k) for k in range(1, 6)])
    stairs.save()
    uneven = Script("uneven_stairs", "stairs of different heights and depths, up and down again")
    steps(uneven, [(0.22, 0.1), (0.47, 0.27), (0.67, 0.32), (0.95, 0.45), (1.15, 0.38), (1.42, 0.25)])
    uneven.save()
    slope = np.radians(25.0)
    steep = Script("steep_slope", "up a slope of 25 degrees in steps of 18 cm")
    places = [(0.18 * k * np.cos(slope), 0.18 * k * np.sin(slope)) for k in range(1, 6)]
    steps(steep, places, normal=(-np.sin(slope), 0.0, np.cos(slope)))
    steep.save()
    chair()
    climbing()
    twister()


if __name__ == "__main__":
    main()
