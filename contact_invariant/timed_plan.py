"""Timed plan of a synthesised motion: what a controller plays, and its file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contact_invariant.character import Character
from contact_invariant.motion import Motion, rotations
from contact_invariant.postures import Postures
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.npz_files import read_arrays
from multi_qp_scene.scene import Scene

if TYPE_CHECKING:  # CasADi is an optional dependency, not needed to play a motion
    from contact_invariant.surroundings import Surroundings

#: Largest size of a file [B].
LARGEST = 50_000_000
#: Distance of a patch from a surface at the end up to which it stays there [m].
TOUCHING = 0.01

#: A patch that moves by less than this, and is closer than this to a surface, rests on it [m].
RESTING = 0.003


@dataclass(frozen=True)
class TimedPlan:
    """Contacts, features and postures over time.

    Attributes:
        effectors: name of each effector, limbs first, (N,).
        surfaces: full name of its surface, (N,).
        touched: full name of the surface that each effector touches from each knot to the next, "" for none,
            (K + 1, N); the last row is what stays in contact after the end.
        limbs: number of limbs.
        knots: times of x and rates, from 0, (K + 1,) [s].
        x: features of (12) there, (K + 1, features).
        rates: their time derivatives.
        rest: rotation of the trunk and of each limb's patch for which the rotation vector is zero, (1 + limbs, 3, 3).
        times: of the postures, (m,) [s].
        postures: configurations of the character, (m, nq).
        velocities: of a refined motion at the same times, (m, nv); (0, 0) otherwise, as all of the following.
        forces: force [N] and moment [N m] of each patch, in the world's axes, about its origin, (m, N, 6).
        torques: of the motors in the order of the scene, (m, na) [N m].
    """

    effectors: NDArray[np.str_]
    surfaces: NDArray[np.str_]
    touched: NDArray[np.str_]
    limbs: Array
    knots: Array
    x: Array
    rates: Array
    rest: Array
    times: Array
    postures: Array
    velocities: Array = field(default_factory=lambda: np.zeros((0, 0)))
    forces: Array = field(default_factory=lambda: np.zeros((0, 0, 6)))
    torques: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def refined(self) -> bool:
        """Whether it is a motion of the full model."""
        return len(self.velocities) > 0

    def save(self, path: Path) -> None:
        """Write it to an .npz file."""
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **vars(self))

    @classmethod
    def load(cls, path: Path) -> TimedPlan:
        """Read a file.

        Raises:
            MultiQpError: when it is not such a file.
        """
        names = [field.name for field in fields(cls)]
        return cls(**read_arrays(path, names, what="a synthesised motion", largest=LARGEST))


def timed_plan(
    scene: Scene, character: Character, surroundings: Surroundings, motion: Motion, postures: Postures
) -> TimedPlan:
    """Return the plan of a motion with its postures.

    Raises:
        MultiQpError: nothing is in contact at the end.
    """
    touched = np.full((len(motion.x), len(character.effectors)), "", dtype=object)
    for i in range(len(character.effectors)):
        places = _places(character, motion.x, i)
        made = np.repeat(motion.contacts[:, i], motion.pieces)
        made |= _resting(character, motion, surroundings, i, made)
        for piece in np.flatnonzero(made):
            middle = 0.5 * (places[piece] + places[piece + 1])
            touched[piece, i] = surroundings.name_at(middle)
        near, _ = surroundings.touched(places[-1:])
        if made[-1] or (motion.contacts[:, i].any() and np.linalg.norm(near - places[-1]) < TOUCHING):
            touched[-1, i] = surroundings.name_at(places[-1])
    if not any(touched[-1]):
        raise MultiQpError("the motion ends without a contact: there is nothing to stand on")
    part = scene.subsystems[character.name].q_slice
    return TimedPlan(
        effectors=np.array([effector.name for effector in character.effectors]),
        surfaces=np.array([effector.surface for effector in character.effectors]),
        touched=touched.astype(str),
        limbs=np.array(len(character.limbs)),
        knots=motion.spline_knots,
        x=motion.x,
        rates=motion.rates,
        rest=np.stack([np.eye(3), *(limb.nominal.rotation for limb in character.limbs)]),
        times=postures.times,
        postures=postures.q[:, part],
    )


def _resting(
    character: Character, motion: Motion, surroundings: Surroundings, i: int, made: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the pieces in which a patch makes no contact, and stays where it touches a surface, (K P,)."""
    found, effector = np.zeros_like(made), character.effectors[i]
    flags = np.concatenate([[True], made, [True]])
    for begin in np.flatnonzero(flags[:-1] & ~flags[1:]):
        end = begin + int(np.argmax(flags[begin + 1 :]))
        times = np.linspace(motion.spline_knots[begin], motion.spline_knots[end], 10 * (end - begin) + 1)
        places = _places(character, motion.features(times)[0], i)
        turn = slice(9 + 6 * i, 12 + 6 * i) if effector.is_limb else slice(3, 6)
        turns = np.zeros((1, 3)) if effector.point else motion.features(times)[0][:, turn]
        near, _ = surroundings.touched(places)
        still = np.ptp(places, axis=0).max() < RESTING and np.ptp(turns, axis=0).max() < 10 * RESTING
        found[begin:end] = still and np.linalg.norm(near - places, axis=1).max() < RESTING
    return found


def _places(character: Character, x: Array, i: int) -> Array:
    """Return the position of a patch for features, (m, features) to (m, 3) [m]."""
    if i < len(character.limbs):
        return x[:, 6 + 6 * i : 9 + 6 * i]
    arm = character.effectors[i].nominal.translation - character.com
    return np.asarray(x[:, :3] + rotations(x[:, 3:6]) @ arm)
