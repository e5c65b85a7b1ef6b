"""Checks of the sections `plan` and `turns` of a scenario: existence of names and unambiguous goals."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Protocol

from multi_qp_scene.names import Names
from multi_qp_scene.schema.plan import PlanGoalSpec, PlanSpec
from multi_qp_scene.schema.turns import TurnsSpec

Key = tuple[str | int, ...]


class ErrorReporter(Protocol):
    """Interface that receives errors."""

    def known(self, key: Key, kind: str, name: str, valid: Iterable[str]) -> None:
        """Report a name that is not one of the valid names."""

    def report_error(self, key: Key, message: str) -> None:
        """Report another error at a key."""


def check_plan(plan: PlanSpec, names: Names, errors: ErrorReporter) -> None:
    """Report each error in the section `plan`."""
    errors.known(("plan", "character"), "subsystem", plan.character, names.moving)
    prefix = f"{plan.character}/"
    own = {surface.removeprefix(prefix) for surface in names.surfaces if surface.startswith(prefix)}
    if plan.character in names.moving and plan.character not in names.unreadable:
        for limb, surface in plan.limbs.items():
            errors.known(("plan", "limbs", limb), "surface", surface, own)
        errors.known(("plan", "posture"), "posture", plan.posture, names.postures[plan.character])
        if plan.character not in names.floating:
            errors.report_error(("plan", "character"), "only a character with a free-flyer can be planned for")
    others = {surface for surface in names.surfaces if not surface.startswith(prefix)}
    for k, face in enumerate(plan.faces or []):
        errors.known(("plan", "faces", k), "surface", face, others)
    for face in plan.frictions:
        errors.known(("plan", "frictions", face), "surface", face, others)
    for k, helper in enumerate(plan.helpers):
        errors.known(("plan", "helpers", k), "limb", helper, plan.limbs)
    if not plan.needed:
        errors.report_error(("plan", "helpers"), "at least one limb must not be a helper")
    if plan.least is not None and plan.least > len(plan.needed):
        errors.report_error(("plan", "least"), f"there are only {len(plan.needed)} limbs that are not helpers")
    for k, goal in enumerate(plan.goals):
        at: Key = ("plan", "goal", k) if isinstance(plan.goal, list) else ("plan", "goal")
        _check_goal(goal, at, plan, names, errors, others)


def check_turns(turns: TurnsSpec, names: Names, errors: ErrorReporter) -> None:
    """Report each error in the section `turns`."""
    moving = tuple(f"{player}/" for player in turns.players)
    for player, spec in turns.players.items():
        errors.known(("turns", "players", player), "subsystem", player, names.moving)
        if player not in names.moving or player in names.unreadable:
            continue
        prefix = f"{player}/"
        own = {surface.removeprefix(prefix) for surface in names.surfaces if surface.startswith(prefix)}
        for limb, surface in spec.limbs.items():
            errors.known(("turns", "players", player, "limbs", limb), "surface", surface, own)
        if player not in names.floating:
            errors.report_error(("turns", "players", player), "only a character with a free-flyer can be planned for")
    others = {surface for surface in names.surfaces if not surface.startswith(moving)}
    for color, patterns in turns.colors.items():
        for k, pattern in enumerate(patterns):
            if not fnmatch.filter(others, pattern):
                errors.known(("turns", "colors", color, k), "surface", pattern, others)


def _check_goal(
    goal: PlanGoalSpec, at: Key, plan: PlanSpec, names: Names, errors: ErrorReporter, others: set[str]
) -> None:
    if (goal.pose is None) == (goal.onto is None):
        errors.report_error(at, "give either `pose` or `onto`")
    if goal.onto is not None:
        errors.known((*at, "onto"), "surface", goal.onto, others)
    for key in ("by", "contacts"):
        for k, limb in enumerate(getattr(goal, key) or []):
            errors.known((*at, key, k), "limb", limb, plan.limbs)
    if plan.character not in names.moving or plan.character in names.unreadable:
        return
    if isinstance(goal.posture, str):
        errors.known((*at, "posture"), "posture", goal.posture, names.postures[plan.character])
    elif goal.posture is not None:
        prefix = f"{plan.character}/"
        own = {joint.removeprefix(prefix) for joint in names.joints if joint.startswith(prefix)}
        for joint in goal.posture:
            errors.known((*at, "posture", joint), "joint", joint, own)
