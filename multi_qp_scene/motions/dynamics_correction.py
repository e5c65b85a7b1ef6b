"""Correction of a motion so that the ground can transmit its forces: footholds and timing stay, the body moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.motions.com_path import horizontal_path, outside, relative_loads, vertical_path, zero_moment_points
from multi_qp_scene.motions.reach import lowered
from multi_qp_scene.scene import Scene
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

#: Distance of the zero-moment point (ZMP) from the edges of the soles [m].
MARGIN = 0.025
#: Passes in which path and postures are computed in turn, as each changes the momentum of the other.
PASSES = 4
#: Weights of soles and centre of mass, and of the poses of base and chest beside them.
STRICT, BODY = 10.0, 0.5
#: Weights of the centre of mass along x, y and z.
COM = np.array([10.0, 10.0, 1.0])
#: Width of the smoothing of differences between the passes [s], and of rates of momentum.
SMOOTH, MOMENTUM = 0.03, 0.03


@dataclass(frozen=True)
class BalanceError:
    """How far a motion is from one that the ground can carry.

    Attributes:
        outside: distance of the ZMP outside the support at each sample in contact, (k,) [m]; where the soles carry less
            than the weight, the missing moment over the weight.
        shifted: distance of the centre of mass from that of the retargeted motion, (n,) [m].
        unsmoothed: `outside` of the samples as they are, without smoothing of centre of mass and momentum, (k,) [m].
        samples: index of each sample in contact, (k,).
    """

    outside: Array
    shifted: Array
    unsmoothed: Array
    samples: Indices


class DynamicsCorrection:
    """Moves the body of a robot over its footholds, so that the zero-moment point is in their support."""

    def __init__(
        self,
        scene: Scene,
        subsystem: str,
        soles: Sequence[str],
        chest: int,
        arms: NDArray[np.bool_],
        hips: Sequence[int],
        leg: float,
    ) -> None:
        """Prepare for a robot.

        Args:
            scene: a scene of this robot alone.
            subsystem: a robot with a floating base.
            soles: full names of the surfaces of its feet.
            chest: frame of its chest.
            arms: which of the joints that have limits keep their angles.
            hips: frames of its hips, in the order of the soles.
            leg: length of a leg [m].
        """
        self._scene, self._part = scene, scene.subsystems[subsystem]
        self._ik = WholeBodyIk(scene, subsystem)
        self._data = scene.model.createData()
        self._soles = [scene.surfaces[sole] for sole in soles]
        root = self._part.root_joints[0]
        self._base, self._chest = int(scene.model.getFrameId(scene.model.names[root])), chest
        self._arms, self._hips, self._leg = arms, list(hips), leg

    def correct(
        self, q: Array, contacts: NDArray[np.bool_], soles: Sequence[Sequence[pin.SE3]], ankles: Array, dt: float
    ) -> tuple[Array, BalanceError, BalanceError]:
        """Return configurations of the scene after the correction, (n, nq), and the balance before and after.

        Args:
            q: configurations of the scene, (n, nq).
            contacts: whether each sole is planted, (n, soles).
            soles: poses of each sole.
            ankles: their places, (n, soles, 3) [m].
            dt: time between two samples [s].
        """
        first = self._momenta(q, dt)
        reference, changed, moved = first[0], q, np.zeros((len(q), 3))
        hips, supports = self._places(q), self._supports(contacts, soles, MARGIN)
        for _ in range(PASSES):
            com, spin = self._momenta(changed, dt)
            low = lowered(hips + (moved * [1.0, 1.0, 0.0])[:, None], ankles, self._leg, dt)
            heights = vertical_path(reference[:, 2] - low, np.asarray(contacts.any(axis=1)), dt)
            path = np.column_stack([horizontal_path(reference[:, :2], heights, spin, supports, dt), heights])
            moved += path - com  # the legs move less than the body
            changed = self._postures(q, changed, path, moved, soles, dt)
        shifted = np.linalg.norm(self._momenta(changed, dt)[0] - reference, axis=1)
        before, after = (self._balance(each, contacts, soles, dt) for each in (q, changed))
        return changed, replace(before, shifted=np.zeros(len(q))), replace(after, shifted=shifted)

    def _balance(
        self, q: Array, contacts: NDArray[np.bool_], soles: Sequence[Sequence[pin.SE3]], dt: float
    ) -> BalanceError:
        """Return the balance of configurations, without the displacement of the centre of mass."""
        com, spin = self._momenta(q, dt)
        smooth = gaussian_filter1d(com, 1.0, axis=0, mode="nearest")
        raw = self._momenta(q, dt, width=0.0)
        samples = np.flatnonzero(contacts.any(axis=1))
        return BalanceError(
            self._outside(smooth, spin, contacts, soles, dt),
            np.zeros(len(q)),
            self._outside(*raw, contacts, soles, dt),
            samples,
        )

    def _momenta(self, q: Array, dt: float, width: float = MOMENTUM) -> tuple[Array, Array]:
        """Return the centre of mass, (n, 3), and the horizontal rate of angular momentum over the mass, (n, 2).

        The rate is smoothed over a `width` [s]; 0 for none.
        """
        model, data = self._scene.model, self._data
        coms, momenta = np.zeros((len(q), 3)), np.zeros((len(q), 3))
        for k in range(len(q)):
            before, after = max(k - 1, 0), min(k + 1, len(q) - 1)
            v = pin.difference(model, q[before], q[after]) / ((after - before) * dt)
            pin.ccrba(model, data, q[k], v)
            coms[k], momenta[k] = data.com[0], data.hg.angular
        if width:
            momenta = gaussian_filter1d(momenta, width / dt, axis=0, mode="nearest")
        spin = np.gradient(momenta, dt, axis=0)
        return coms, spin[:, :2] / pin.computeTotalMass(model)

    def _places(self, q: Array) -> Array:
        """Return the places of the hips, (n, hips, 3) [m]."""
        found = []
        for row in q:
            pin.framesForwardKinematics(self._scene.model, self._data, row)
            found.append([self._data.oMf[frame].translation.copy() for frame in self._hips])
        return np.array(found)

    def _supports(
        self, contacts: NDArray[np.bool_], soles: Sequence[Sequence[pin.SE3]], margin: float
    ) -> list[Array | None]:
        """Return the corners of the planted soles, smaller by a margin, at each sample."""
        found: list[Array | None] = []
        for k, row in enumerate(contacts):
            own = [
                _inner(surface.points, margin) @ poses[k].rotation.T + poses[k].translation
                for surface, poses, on in zip(self._soles, soles, row, strict=True)
                if on
            ]
            found.append(np.vstack(own)[:, :2] if own else None)
        return found

    def _postures(
        self, q: Array, start: Array, path: Array, moved: Array, soles: Sequence[Sequence[pin.SE3]], dt: float
    ) -> Array:
        """Return configurations with the centre of mass on a path, near those of the motion with the body moved."""
        model, data = self._scene.model, self._data
        found, limited = _smooth(self._scene, q, start, SMOOTH / dt), self._ik.limited
        for k, own in enumerate(q):
            pin.framesForwardKinematics(model, data, own)
            body = [
                Placement(frame, pin.SE3(data.oMf[frame].rotation, data.oMf[frame].translation + moved[k]), weight=BODY)
                for frame in (self._base, self._chest)
            ]
            feet = [Placement(s.frame_id, poses[k], weight=STRICT) for s, poses in zip(self._soles, soles, strict=True)]
            found[k, limited[self._arms]] = own[limited[self._arms]]
            within = np.where(self._arms, own[limited], -np.inf), np.where(self._arms, own[limited], np.inf)
            found[k] = self._ik.solve(
                found[k],
                [*feet, *body],
                com=path[k],
                com_weight=COM,
                rest=own,
                within=within,
                iterations=8,
                tolerance=1e-7,
            ).q
        return found

    def _outside(
        self,
        com: Array,
        spin: Array,
        contacts: NDArray[np.bool_],
        soles: Sequence[Sequence[pin.SE3]],
        dt: float,
    ) -> Array:
        points, loads = zero_moment_points(com, spin, dt), np.clip(relative_loads(com, dt), 0.0, 1.0)
        supports = self._supports(contacts, soles, 0.0)
        return np.array(
            [
                load * outside(p, corners)
                for p, load, corners in zip(points, loads, supports, strict=True)
                if corners is not None
            ]
        )


def _inner(points: Array, margin: float) -> Array:
    """Return the corners of a surface moved inwards along both axes, (k, 3)."""
    found = points.copy()
    found[:, :2] -= margin * np.sign(found[:, :2])
    return found


def _smooth(scene: Scene, q: Array, changed: Array, width: float) -> Array:
    """Return configurations whose difference from others is smoothed over time."""
    steps = np.array([pin.difference(scene.model, a, b) for a, b in zip(q, changed, strict=True)])
    steps = gaussian_filter1d(steps, width, axis=0, mode="nearest")
    return np.array([pin.integrate(scene.model, a, step) for a, step in zip(q, steps, strict=True)])
