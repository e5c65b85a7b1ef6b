"""Touches between bodies that no contact connects: overlaps of their shapes, and contact forces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.meeting_pairs import link_of, parting_pieces
from multi_qp_scene.overlaps import OverlapSearch
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_simulator.backend import TouchForce

LinkPair = tuple[str, str]

#: Period of the measurement of overlaps [s]: a limb that crosses another one of 8 cm at 2 m/s overlaps it for 40 ms.
PERIOD = 0.02
#: Smallest overlap that is listed [m].
SMALLEST = 1e-4
#: Number of overlapping pairs at the start that are listed.
MOST_LISTED = 3
#: To which forces are related also in a scene without gravity [m/s²].
GRAVITY = 9.81


@dataclass
class _Touch:
    """Worst overlap [m] and force [N] of two links, with their times [s] and states."""

    overlap: float = 0.0
    overlap_time: float | None = None
    overlap_state: str | None = None
    force: float | None = None
    force_time: float | None = None
    force_state: str | None = None


def lighter_weight(scene: Scene, links: Iterable[str]) -> float | None:
    """Return the weight of the lighter character of some links [N]; None if none of them is of a character."""
    names = {link.partition("/")[0] for link in links}
    return min((GRAVITY * one.mass for one in scene.characters if one.name in names), default=None)


class TouchMonitor:
    """Largest overlap of each pair of links that may meet, while no contact connects them.

    All pairs of shapes with relative motion are measured, watched or not, see `measured_pairs`, outside the control
    tick, every `PERIOD`.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, scene = scenario, scenario.scene
        self._links = {k: link_of(scene, k) for k in range(len(scene.collision_model.geometryObjects))}
        pairs = measured_pairs(scenario)
        self._search = OverlapSearch(scene.model, scene.collision_model, pairs)
        self._connecting = list(pairs.values())
        self._next = -1.0
        self._touches: dict[LinkPair, _Touch] = {}
        self._entries: list[tuple[float, str]] = []

    def check_start(self, state: State) -> None:
        """Check that no bodies, but those with a contact, are inside of each other, farther than a healthy run permits.

        Raises:
            MultiQpError: naming the bodies and the depths.
        """
        if not state.is_finite:
            return
        most, deepest = self._scenario.spec.health.overlap, dict[LinkPair, float]()
        for k, distance in self._search.distances(state.q).items():
            if distance < -most and not self._connecting[k]:
                first, second = (self._links[int(piece)] for piece in self._search.pairs[k])
                pair = min(first, second), max(first, second)
                deepest[pair] = max(deepest.get(pair, 0.0), -float(distance))
        if not deepest:
            return
        worst = sorted(deepest.items(), key=lambda item: -item[1])
        listed = "; ".join(f"{a} is {1e3 * depth:.3g} mm inside {b}" for (a, b), depth in worst[:MOST_LISTED])
        more = f"; {len(worst) - MOST_LISTED} more pairs" if len(worst) > MOST_LISTED else ""
        raise MultiQpError(
            f"{self._scenario.name}: bodies overlap at the start: {listed}{more}. Place them apart, or widen "
            f"`health: {{overlap: ...}}` ({1e3 * most:g} mm)"
        )

    def observe(self, state: State, time: float, phase: str, active: Collection[str]) -> None:
        """Process one tick: state of the scene, time [s], state of the state machine and names of active contacts."""
        if not self._entries or self._entries[-1][1] != phase:
            self._entries.append((time, phase))
        if time < self._next - 1e-9:
            return
        self._next = time + PERIOD
        for k, distance in self._search.distances(state.q).items():
            if distance > -SMALLEST or not self._connecting[k].isdisjoint(active):
                continue
            first, second = (self._links[int(piece)] for piece in self._search.pairs[k])
            touch = self._touch((first, second))
            if -distance > touch.overlap:
                touch.overlap, touch.overlap_time, touch.overlap_state = -distance, time, phase

    def _touch(self, links: LinkPair) -> _Touch:
        return self._touches.setdefault((min(links), max(links)), _Touch())

    def report(self, forces: Iterable[TouchForce] = ()) -> list[dict[str, Any]]:
        """Return all touches, the deepest overlaps first, with the simulated forces."""
        for found in forces:
            touch = self._touch(found.links)
            if touch.force is None or found.force > touch.force:
                touch.force, touch.force_time, touch.force_state = found.force, found.time, self._state_at(found.time)
        listed = [
            {
                "bodies": list(links),
                "overlap_m": touch.overlap,
                "overlap_time": touch.overlap_time,
                "overlap_state": touch.overlap_state,
                "force_n": touch.force,
                "force_of_weight": self._of_weight(links, touch.force),
                "force_time": touch.force_time,
                "force_state": touch.force_state,
            }
            for links, touch in self._touches.items()
        ]
        return sorted(listed, key=_importance, reverse=True)

    def _of_weight(self, links: LinkPair, force: float | None) -> float | None:
        weight = lighter_weight(self._scenario.scene, links)
        return None if force is None or weight is None else force / weight

    def _state_at(self, time: float) -> str | None:
        return next((phase for entered, phase in reversed(self._entries) if entered <= time + 1e-9), None)


def _importance(touch: Mapping[str, Any]) -> tuple[float, float]:
    return touch["overlap_m"], touch["force_n"] or 0.0


def measured_pairs(scenario: Scenario) -> dict[tuple[int, int], frozenset[str]]:
    """Return pairs of pieces of the collision model with relative motion, and names of the contacts of their bodies.

    Pairs of one subsystem that overlap by construction are left out, pairs without a controlled subsystem, and those of
    bodies with a grasp, since a hand is around what it is about to grasp.
    """
    scene, controlled = scenario.scene, scenario.controlled.scene
    objects = scene.collision_model.geometryObjects
    owners = [item.name.partition("/")[0] for item in objects]
    bodies = [
        (int(item.parentJoint), owner if item.parentJoint == 0 else "")
        for item, owner in zip(objects, owners, strict=True)
    ]
    own = {pair for name in controlled.subsystems for pair in parting_pieces(scene, name)}
    connecting: dict[frozenset[tuple[int, str]], set[str]] = {}
    grasped = set()
    for name, spec in scenario.spec.contacts.items():
        surfaces = [scene.surfaces[surface] for surface in spec.surfaces]
        pair = frozenset((s.joint_id, s.name.partition("/")[0] if s.joint_id == 0 else "") for s in surfaces)
        connecting.setdefault(pair, set()).add(name)
        if any(s.kind == "grasp" for s in surfaces):
            grasped.add(pair)
    return {
        (a, b): frozenset(connecting.get(pair, ()))
        for a, b in combinations(range(len(objects)), 2)
        if (owners[a] in controlled.subsystems or owners[b] in controlled.subsystems)
        and bodies[a][0] != bodies[b][0]
        and (pair := frozenset((bodies[a], bodies[b]))) not in grasped
        and (owners[a] != owners[b] or (a, b) in own)
    }
