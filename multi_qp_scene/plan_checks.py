"""Checks of a scenario's `plan`: every name in it is there, and it says where to go in one way."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Protocol

from multi_qp_scene.names import Names
from multi_qp_scene.schema.plan import PlanGoalSpec, PlanSpec
from multi_qp_scene.schema.turns import TurnsSpec

Key = tuple[str | int, ...]


class Complaints(Protocol):
    """Takes what is wrong."""

    def known(self, key: Key, kind: str, name: str, valid: Iterable[str]) -> None:
        """Complain of a name that is none of the valid ones."""

    def complain(self, key: Key, message: str) -> None:
        """Complain of something else."""


def check_plan(plan: PlanSpec, names: Names, complaints: Complaints) -> None:
    """Report each mistake in a plan's section."""
    complaints.known(("plan", "character"), "subsystem", plan.character, names.moving)
    prefix = f"{plan.character}/"
    own = {surface.removeprefix(prefix) for surface in names.surfaces if surface.startswith(prefix)}
    if plan.character in names.moving and plan.character not in names.unreadable:
        for limb, surface in plan.limbs.items():
            complaints.known(("plan", "limbs", limb), "surface", surface, own)
        complaints.known(("plan", "posture"), "posture", plan.posture, names.postures[plan.character])
        if plan.character not in names.floating:
            complaints.complain(("plan", "character"), "only a character with a free-flyer can be planned for")
    others = {surface for surface in names.surfaces if not surface.startswith(prefix)}
    for k, face in enumerate(plan.faces or []):
        complaints.known(("plan", "faces", k), "surface", face, others)
    for face in plan.frictions:
        complaints.known(("plan", "frictions", face), "surface", face, others)
    for k, helper in enumerate(plan.helpers):
        complaints.known(("plan", "helpers", k), "limb", helper, plan.limbs)
    if not plan.needed:
        complaints.complain(("plan", "helpers"), "one limb at least must be no helper")
    if plan.least is not None and plan.least > len(plan.needed):
        complaints.complain(("plan", "least"), f"there are only {len(plan.needed)} limbs that are no helpers")
    for k, goal in enumerate(plan.goals):
        at: Key = ("plan", "goal", k) if isinstance(plan.goal, list) else ("plan", "goal")
        _check_goal(goal, at, plan, names, complaints, others)


def check_turns(turns: TurnsSpec, names: Names, complaints: Complaints) -> None:
    """Report each mistake in the section of a game."""
    moving = tuple(f"{player}/" for player in turns.players)
    for player, spec in turns.players.items():
        complaints.known(("turns", "players", player), "subsystem", player, names.moving)
        if player not in names.moving or player in names.unreadable:
            continue
        prefix = f"{player}/"
        own = {surface.removeprefix(prefix) for surface in names.surfaces if surface.startswith(prefix)}
        for limb, surface in spec.limbs.items():
            complaints.known(("turns", "players", player, "limbs", limb), "surface", surface, own)
        if player not in names.floating:
            complaints.complain(("turns", "players", player), "only a character with a free-flyer can be planned for")
    others = {surface for surface in names.surfaces if not surface.startswith(moving)}
    for color, patterns in turns.colors.items():
        for k, pattern in enumerate(patterns):
            if not fnmatch.filter(others, pattern):
                complaints.known(("turns", "colors", color, k), "surface", pattern, others)


def _check_goal(
    goal: PlanGoalSpec, at: Key, plan: PlanSpec, names: Names, complaints: Complaints, others: set[str]
) -> None:
    if (goal.pose is None) == (goal.onto is None):
        complaints.complain(at, "give either `pose` or `onto`")
    if goal.onto is not None:
        complaints.known((*at, "onto"), "surface", goal.onto, others)
    for key in ("by", "contacts"):
        for k, limb in enumerate(getattr(goal, key) or []):
            complaints.known((*at, key, k), "limb", limb, plan.limbs)
    if plan.character not in names.moving or plan.character in names.unreadable:
        return
    if isinstance(goal.posture, str):
        complaints.known((*at, "posture"), "posture", goal.posture, names.postures[plan.character])
    elif goal.posture is not None:
        prefix = f"{plan.character}/"
        own = {joint.removeprefix(prefix) for joint in names.joints if joint.startswith(prefix)}
        for joint in goal.posture:
            complaints.known((*at, "posture", joint), "joint", joint, own)
