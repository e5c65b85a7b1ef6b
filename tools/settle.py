"""Where the centre of mass goes through contact phases so that a whole body goes along, found by inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from com_trajectory.equilibrium import equilibrium_region
from multi_qp_cli.com.bodies import Bodies
from multi_qp_scene.contact_sequence import Contact, ContactPhase
from multi_qp_scene.equilibrium import EquilibriumRegion

Array = NDArray[np.float64]

_MARGIN = 0.02  # [m] inside the equilibrium region, where it is so large
_SMALL_MARGIN = 0.005
_CROUCH = 0.3  # [m] lower than the last posture, another begins whose legs bend
_HEIGHTS = (0.0, -0.06, -0.24, -0.12, -0.18, 0.06, 0.12, -0.3, 0.18)  # [m] tried beside the last height


class UnreachableError(Exception):
    """No posture was found for a transition."""


def settled(bodies: Bodies, phases: Sequence[ContactPhase], subsystem: str) -> tuple[list[ContactPhase], list[Array]]:
    """Return the phases with centres of mass, and a posture at each transition, (nq,) each.

    At a transition the body touches all contacts of both sides, at rest on those that stay. The centre of mass of a
    phase is that of the transition at its end, which then is where the nearest transition point is.

    Args:
        bodies: the robot among what stands there.
        phases: one contact is made or broken from each to the next.
        subsystem: its name in the phases.

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


def _at_first(bodies: Bodies, phase: ContactPhase) -> Array:
    standing = bodies.reach(phase.contacts, None, bodies.rest)
    if standing is not None:
        middle = equilibrium_region(phase.contacts).corners.mean(axis=0)
        standing = bodies.reach(phase.contacts, np.array([*middle, bodies.com(standing)[2]]), standing)
    if standing is None:
        raise UnreachableError("phase 1: it cannot stand there")
    return standing


def _transition(
    bodies: Bodies, contacts: Sequence[Contact], region: EquilibriumRegion, starts: Sequence[Array], number: int
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
    """Yield places at rest, those first that are near the last one, or between it and those that are likely."""
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
