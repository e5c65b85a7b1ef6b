"""Timed plan of a synthesised motion: what a controller plays, and its file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.character import Character
from contact_invariant.motion import Motion, angular_motion, rotations
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

View = tuple["Surroundings", Array, Array]
"""What a patch may touch, and its positions, (m, 3), and rotation vectors, (m, 3), in that frame."""

#: A patch that is closer than this to a surface, and moves by less than `SLIDING`, rests on it [m].
RESTING = 0.005
#: The largest slip of a contact that the audit allows [m].
SLIDING = 0.01


@dataclass(frozen=True)
class TimedPlan:
    """Contacts, features and postures over time.

    Attributes:
        effectors: name of each effector, limbs first, (N,).
        surfaces: full name of its surface, (N,).
        owners: name of the subsystem of each effector, (N,).
        characters: names of the characters, (C,).
        sizes: number of entries of each in the postures, (C,).
        prop: name of the object, "" without one; its features are the last six of x, as those of its root frame.
        touched: full name of the surface that each effector touches from each knot to the next, "" for none,
            (K + 1, N); the last row is what stays in contact after the end.
        limbs: number of limbs.
        ends: ends of the phases, (phases,) [s].
        knots: times of x and rates, from 0, (K + 1,) [s].
        x: features of (12) there, (K + 1, features).
        rates: their time derivatives.
        rest: rotation of trunks and of each limb's patch for which the rotation vector is zero, (1 + limbs, 3, 3).
        times: of the postures, (m,) [s].
        postures: configurations of the characters, (m, nq).
        velocities: of a refined motion at the same times, (m, nv); (0, 0) otherwise, as all of the following.
        forces: force [N] and moment [N m] of each patch, in the world's axes, about its origin, (m, N, 6).
        torques: of the motors in the order of the scene, (m, na) [N m].
        gains: change of each character's accelerations by a deviation of its state from each knot on, (nv, 2 nv) row by
            row, one character after the other, (K + 1, sum of 2 nv²); see `tracking_gains`.
    """

    effectors: NDArray[np.str_]
    surfaces: NDArray[np.str_]
    touched: NDArray[np.str_]
    limbs: Array
    ends: Array
    knots: Array
    x: Array
    rates: Array
    rest: Array
    times: Array
    postures: Array
    owners: NDArray[np.str_]
    characters: NDArray[np.str_]
    sizes: Array
    prop: Array = field(default_factory=lambda: np.array(""))
    velocities: Array = field(default_factory=lambda: np.zeros((0, 0)))
    forces: Array = field(default_factory=lambda: np.zeros((0, 0, 6)))
    torques: Array = field(default_factory=lambda: np.zeros((0, 0)))
    gains: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))

    @property
    def refined(self) -> bool:
        """Whether it is a motion of the full model."""
        return len(self.velocities) > 0

    def of(self, character: str) -> TimedPlan:
        """Return the plan of one character; the object's own contacts are in that of the first.

        Raises:
            MultiQpError: it has no such character.
        """
        names = self.characters.tolist()
        if len(names) == 1:  # also for a subsystem of another name
            return self
        if character not in names:
            raise MultiQpError(f"a motion of {' and '.join(names)}, not of '{character}'")
        k, limbs = names.index(character), int(self.limbs)
        kept = self.owners == character
        if k == 0:
            kept |= self.owners == self.prop
        own = np.flatnonzero(kept[:limbs])
        bodies = [0 if k == 0 else limbs + k, *(own + 1), *([limbs + len(names)] if str(self.prop) else [])]
        columns = (6 * np.array(bodies)[:, None] + np.arange(6)).ravel()
        begin = int(self.sizes[:k].sum())
        ends = np.cumsum([0, *(2 * (self.sizes - 1) ** 2)])
        return replace(
            self,
            effectors=self.effectors[kept],
            surfaces=self.surfaces[kept],
            touched=self.touched[:, kept],
            limbs=np.array(len(own)),
            x=self.x[:, columns],
            rates=self.rates[:, columns],
            rest=self.rest[[0, *(own + 1)]],
            postures=self.postures[:, begin : begin + int(self.sizes[k])],
            owners=self.owners[kept],
            characters=self.characters[[k]],
            sizes=self.sizes[[k]],
            velocities=self.velocities[:, begin - k : begin - k + int(self.sizes[k]) - 1],
            forces=self.forces[:, kept] if self.refined else self.forces,
            gains=self.gains[:, ends[k] : ends[k + 1]],
        )

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
    contacts, variables = np.repeat(motion.contacts, motion.pieces, axis=0), np.array(character.variables)
    rests = [_resting(character, motion, surroundings, i, one) for i, one in enumerate(contacts.T)]
    for i in range(len(character.effectors)):
        views = _views(character, surroundings, motion.x, i)
        joined = np.flatnonzero(variables == variables[i])  # they rest together, or a foot would be held aslant
        made = contacts[:, i] | np.all([rests[k] for k in joined], axis=0)
        for piece in np.flatnonzero(made):
            touched[piece, i], _ = _nearest(views, [piece, piece + 1])
        last, distance = _nearest(views, [len(motion.x) - 1])
        stays = motion.contacts[:, i].any() and distance < TOUCHING
        if made[-1] or (stays and not character.effectors[i].on_prop):
            touched[-1, i] = last
    owners = np.array([character.bodies[effector.body].name for effector in character.effectors])
    for name in character.names:
        if not any(touched[-1, owners == name]):
            raise MultiQpError(f"the motion of '{name}' ends without a contact: there is nothing to stand on")
    parts = [scene.subsystems[name].q_slice for name in character.names]
    x, rates = _of_root(character, motion)
    return TimedPlan(
        effectors=np.array([effector.name for effector in character.effectors]),
        surfaces=np.array([effector.surface for effector in character.effectors]),
        touched=touched.astype(str),
        limbs=np.array(len(character.limbs)),
        ends=motion.knots[1:],
        knots=motion.spline_knots,
        x=x,
        rates=rates,
        rest=np.stack([np.eye(3), *(limb.nominal.rotation for limb in character.limbs)]),
        times=postures.times,
        postures=np.hstack([postures.q[:, part] for part in parts]),
        owners=owners,
        characters=np.array(character.names),
        sizes=np.array([part.stop - part.start for part in parts]),
        prop=np.array("" if character.prop is None else character.prop.name),
    )


def _resting(
    character: Character, motion: Motion, surroundings: Surroundings, i: int, made: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the pieces in which a patch makes no contact, and stays where it touches a surface, (K P,)."""
    found = np.zeros_like(made)
    if character.effectors[i].on_prop:
        return found
    flags = np.concatenate([[True], made, [True]])
    for begin in np.flatnonzero(flags[:-1] & ~flags[1:]):
        end = begin + int(np.argmax(flags[begin + 1 :]))
        times = np.linspace(motion.spline_knots[begin], motion.spline_knots[end], 10 * (end - begin) + 1)
        for faces, places, turns in _views(character, surroundings, motion.features(times)[0], i):
            near, _ = faces.touched(places)
            still = np.ptp(places, axis=0).max() < SLIDING and np.ptp(turns, axis=0).max() < 10 * RESTING
            found[begin:end] |= still and np.linalg.norm(near - places, axis=1).max() < RESTING
    return found


def rests_at(character: Character, surroundings: Surroundings, x: Array, i: int) -> bool:
    """Return whether a patch rests on a surface, for features (features,)."""
    return bool(_nearest(_views(character, surroundings, x[None], i), [0])[1] < RESTING)


def of_prop_root(character: Character, x: Array) -> Array:
    """Return features with those of the object's root frame instead of its centre of mass, (m, features)."""
    found, at = x.copy(), character.prop_features
    if character.prop is not None:
        found[:, at.start : at.start + 3] -= rotations(x[:, at][:, 3:]) @ character.prop.com
    return found


def _of_root(character: Character, motion: Motion) -> tuple[Array, Array]:
    """Return x and rates at the knots, with those of the object's root frame instead of its centre of mass."""
    prop = character.prop
    if prop is None:
        return motion.x, motion.rates
    x, rates, at = motion.x.copy(), motion.rates.copy(), character.prop_features
    arms = rotations(x[:, at][:, 3:]) @ prop.com
    omega, _ = angular_motion(x[:, at][:, 3:], rates[:, at][:, 3:], np.zeros((len(x), 3)))
    x = of_prop_root(character, x)
    rates[:, at.start : at.start + 3] -= np.cross(omega, arms)
    return x, rates


def _nearest(views: list[View], rows: list[int]) -> tuple[str, float]:
    """Return the surface nearest to the middle of a patch's positions at some instants, and its distance [m]."""
    found = []
    for faces, places, _ in views:
        middle = places[rows].mean(axis=0)
        near, _ = faces.touched(middle[None])
        found.append((float(np.linalg.norm(near[0] - middle)), faces.name_at(middle)))
    distance, name = min(found)
    return name, distance


def _views(character: Character, surroundings: Surroundings, x: Array, i: int) -> list[View]:
    """Return whatever a patch may touch, and its positions and rotation vectors in that frame.

    Rotation vectors of points are zero; those of hands on the object are not needed and zero as well.
    """
    effector, none = character.effectors[i], np.zeros((len(x), 3))
    prop = x[:, character.prop_features]
    if effector.of_prop:
        return [(surroundings, prop[:, :3] + rotations(prop[:, 3:]) @ effector.nominal.translation, prop[:, 3:])]
    if effector.is_limb:
        places, turns = x[:, 6 + 6 * i : 9 + 6 * i], none if effector.point else x[:, 9 + 6 * i : 12 + 6 * i]
    else:
        trunk = x[:, character.body_features(effector.body)]
        arm = effector.nominal.translation - character.bodies[effector.body].com
        places, turns = np.asarray(trunk[:, :3] + rotations(trunk[:, 3:]) @ arm), trunk[:, 3:]
    if effector.on_prop and surroundings.prop is not None:
        return [(surroundings.prop, np.einsum("mji,mj->mi", rotations(prop[:, 3:]), places - prop[:, :3]), none)]
    found = [(surroundings, places, turns)]
    for k, faces in surroundings.trunks.items():
        if k != effector.body:
            at = x[:, character.body_features(k)]
            R = rotations(at[:, 3:])
            seen = np.array([pin.log3(a.T @ b) for a, b in zip(R, rotations(turns), strict=True)])
            found.append((faces, np.einsum("mji,mj->mi", R, places - at[:, :3]), none if effector.point else seen))
    return found
