"""What a patch touches, as CasADi expressions: surroundings, the object, or the moving trunk of another character."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contact_invariant.character import Character
from contact_invariant.surroundings import Surroundings
from contact_invariant.symbols import ca

if TYPE_CHECKING:
    from contact_invariant.task_terms import BodyState, SymbolicState


@dataclass(frozen=True)
class Touch:
    """Virtual nearest point of a patch, and how it moves.

    Attributes:
        near: the point in the world, (3, 1).
        normal: of the surface there, (3, 1).
        speed: velocity of the surface at the patch, (3, 1).
        spin: its angular velocity, (3, 1).
        shares: index in `Character.bodies` and share, 0..1, of each body that bears the force of the patch; the fixed
            surroundings bear the rest.
    """

    near: Any
    normal: Any
    speed: Any
    spin: Any
    shares: tuple[tuple[int, Any], ...] = ()


def touch_of(character: Character, surroundings: Surroundings, state: SymbolicState, i: int) -> Touch:
    """Return what a patch touches.

    Each face that moves has the weight η of (3), as fixed ones: the same weights tell which share of the force a body
    bears, so that the sum of all forces of the patch is zero.

    Args:
        character: its effectors.
        surroundings: surfaces.
        state: of all bodies.
        i: index of the effector.

    Raises:
        MultiQpError: it fits on no face.
    """
    effector, place, none = character.effectors[i], state.places[i], ca.SX.zeros(3)
    if effector.on_prop and state.prop is not None and surroundings.prop is not None:
        prop = state.prop
        near, normal = surroundings.prop.nearest(prop.seen(place), effector.margin)
        near, normal = prop.p + prop.R @ near, prop.R @ normal
        return Touch(near, normal, prop.speed_at(place), prop.omega, ((len(character.bodies) - 1, 1),))
    moving = (
        []
        if effector.of_prop
        else [
            (k, face)
            for k, trunk, at in trunks_of(surroundings, state, effector.body)
            for face in trunk.weighted(at.seen(place), effector.margin)
        ]
    )
    if not moving:
        return Touch(*surroundings.nearest(place, effector.margin), none, none)
    fixed = [(-1, face) for face in surroundings.weighted(place, effector.margin)]
    total = sum(eta for _, (eta, _, _) in fixed + moving)
    near = normal = speed = spin = none
    shares: dict[int, Any] = {}
    for k, (eta, point, axis) in fixed + moving:
        share = eta / total
        if k >= 0:
            at = state.bodies[k]
            point, axis = at.p + at.R @ point, at.R @ axis
            speed, spin = speed + share * at.speed_at(place), spin + share * at.omega
            shares[k] = shares.get(k, 0) + share
        near, normal = near + share * point, normal + share * axis
    return Touch(near, normal, speed, spin, tuple(shares.items()))


def trunks_of(
    surroundings: Surroundings, state: SymbolicState, body: int
) -> Iterator[tuple[int, Surroundings, BodyState]]:
    """Yield index, faces and solids, and state of each trunk that a body may touch: not its own."""
    for k, trunk in surroundings.trunks.items():
        if k != body:
            yield k, trunk, state.bodies[k]


__all__ = ["Touch", "touch_of", "trunks_of"]
