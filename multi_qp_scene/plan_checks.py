"""Checks of a scenario's `plan`: every name in it is there, and it says where to go in one way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from multi_qp_scene.names import Names
from multi_qp_scene.schema.plan import PlanSpec

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
    if (plan.goal.pose is None) == (plan.goal.onto is None):
        complaints.complain(("plan", "goal"), "give either `pose` or `onto`")
    if plan.goal.onto is not None:
        complaints.known(("plan", "goal", "onto"), "surface", plan.goal.onto, others)
    if plan.least is not None and plan.least > len(plan.limbs):
        complaints.complain(("plan", "least"), f"there are only {len(plan.limbs)} limbs")
