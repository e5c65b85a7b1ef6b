"""Postures and centres of mass at the transitions of a contact sequence, by whole-body inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from com_trajectory.equilibrium import equilibrium_region
from multi_qp_cli.com.bodies import PosedRobot
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase
from multi_qp_scene.equilibrium import EquilibriumRegion

_MARGIN = 0.02  # [m] inside the equilibrium region, where it is large enough
_SMALL_MARGIN = 0.005
_CROUCH = 0.3  # [m] height difference of an alternative initial posture with bent legs
_HEIGHTS = (0.0, -0.06, -0.24, -0.12, -0.18, 0.06, 0.12, -0.3, 0.18)  # [m] candidate heights relative to the last one


class UnreachableError(Exception):
    """Error of a transition without a feasible posture."""


def with_postures(
    bodies: PosedRobot, phases: Sequence[ContactPhase], subsystem: str
) -> tuple[list[ContactPhase], list[Array]]:
    """Return the phases with centres of mass, and a posture at each transition, (nq,) each.

    At a transition all contacts of both phases are closed, and the body is in equilibrium on those that are maintained.
    The centre of mass of a phase is that of the transition at its end, so that it is the nearest transition point.

    Args:
        bodies: the robot and the obstacles.
        phases: contact phases; one contact is made or broken at each transition.
        subsystem: name of the robot in the phases.

    Raises:
        UnreachableError: no posture was found for a transition.
    """
    q = first = _at_first(bodies, phases[0])
    postures = [q]
    for number, (before, after) in enumerate(zip(phases[:-1], phases[1:], strict=True)):
        more, fewer = (before, after) if len(before.contacts) > len(after.contacts) else (after, before)
        q = _transition(bodies, more.contacts, equilibrium_region(fewer.contacts), (q, first), number)
        postures.append(q)
    places = [bodies.com(posture).round(4) for posture in (*postures[1:], postures[-1])]
    return [replace(phase, com={subsystem: place}) for phase, place in zip(phases, places, strict=True)], postures


def _at_first(bodies: PosedRobot, phase: ContactPhase) -> Array:
    standing = bodies.reach(phase.contacts, None, bodies.rest)
    if standing is not None:
        middle = equilibrium_region(phase.contacts).corners.mean(axis=0)
        standing = bodies.reach(phase.contacts, np.array([*middle, bodies.com(standing)[2]]), standing)
    if standing is None:
        raise UnreachableError("phase 1: there is no feasible posture")
    return standing


def _transition(
    bodies: PosedRobot, contacts: Sequence[Contact], region: EquilibriumRegion, starts: Sequence[Array], number: int
) -> Array:
    crouched = starts[0].copy()
    crouched[2] -= _CROUCH
    starts = (*starts, crouched)
    free = bodies.reach(contacts, None, starts[0], also=starts[1:])
    leaning = np.mean([contact.pose.translation for contact in contacts], axis=0)
    leaning[2] = bodies.com(starts[0])[2]
    likely = [leaning] if free is None else [bodies.com(free), leaning]
    also = starts[1:] if free is None else (free, *starts[1:])
    for place in _places(region, bodies.com(starts[0]), likely):
        found = bodies.reach(contacts, place, starts[0], also=also, tries=0)
        if found is not None:
            return found
    raise UnreachableError(f"transition {number}: no posture on {', '.join(contact.name for contact in contacts)}")


def _places(region: EquilibriumRegion, last: Array, likely: Sequence[Array]) -> Iterator[Array]:
    """Yield positions in equilibrium, first those near the last one, or between it and the likely ones."""
    inner = region.shrunk(_MARGIN)
    inner = region.shrunk(_SMALL_MARGIN) if inner.empty else inner
    if inner.empty:
        return
    goals = [*likely, np.array([*inner.corners.mean(axis=0), last[2]])]
    for height in _HEIGHTS:
        for goal in goals:
            for share in (0.0, 0.25, 0.5, 0.75, 1.0):
                place = last + share * (goal - last) + [0.0, 0.0, height]
                if inner.margin(place) >= 0.0:
                    yield place
