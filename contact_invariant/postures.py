"""Whole-body postures along a motion: inverse kinematics of the limbs on the full model, within joint limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_invariant.character import Character
from contact_invariant.motion import Motion, rotations
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Iterations for one posture, and where they end [m], [rad].
ITERATIONS, TOLERANCE = 12, 1e-5
#: Damping, and pull towards the optimiser's joint angles for limbs with more joints than necessary.
DAMPING, PULL = 1e-4, 1e-2


@dataclass(frozen=True)
class Postures:
    """Configurations along a motion.

    Attributes:
        times: [s], (m,).
        q: configurations of the whole scene, (m, nq).
        position_errors: distance of each limb's patch from the motion's, (m, limbs) [m].
        rotation_errors: angle between them, (m, limbs) [rad].
    """

    times: Array
    q: Array
    position_errors: Array
    rotation_errors: Array

    def after(self, time: float) -> Postures:
        """Return those after a time [s], which becomes 0."""
        k = int(np.searchsorted(self.times, time))
        return Postures(self.times[k:] - time, self.q[k:], self.position_errors[k:], self.rotation_errors[k:])


def postures_of(scene: Scene, character: Character, motion: Motion, times: Array) -> Postures:
    """Return the postures at times, (m,) [s]; joints stay within their limits, so that patches may be missed."""
    x, _, _ = motion.features(times)
    limbs = character.limbs
    guesses = np.array([np.interp(times, motion.times, column) for column in motion.angles.T]).T
    R_trunk = rotations(x[:, 3:6])
    turns = [rotations(x[:, 9 + 6 * i : 12 + 6 * i]) @ limb.nominal.rotation for i, limb in enumerate(limbs)]
    frames = [scene.surfaces[limb.surface].frame_id for limb in limbs]
    data, root = scene.model.createData(), int(scene.model.joints[character.root].idx_q)
    q, found = character.nominal.copy(), []
    errors = np.zeros((len(times), len(limbs), 2))
    for m in range(len(times)):
        q[root : root + 3] = x[m, :3] - R_trunk[m] @ character.com
        q[root + 3 : root + 7] = pin.Quaternion(R_trunk[m]).coeffs()
        first = 0
        for i, limb in enumerate(limbs):
            goal = pin.SE3(turns[i][m], x[m, 6 + 6 * i : 9 + 6 * i])
            guess = guesses[m, first : first + len(limb.joints)]
            first += len(limb.joints)
            q[limb.q_index] = np.clip(guess, limb.lower, limb.upper)
            for _ in range(ITERATIONS):
                pin.computeJointJacobians(scene.model, data, q)
                X = pin.updateFramePlacement(scene.model, data, frames[i])
                if limb.point:
                    goal.rotation = X.rotation
                error = pin.log6(X.actInv(goal)).vector
                if np.abs(error).max() < TOLERANCE:
                    break
                J = pin.getFrameJacobian(scene.model, data, frames[i], pin.LOCAL)[:, limb.v_index]
                if limb.point:
                    J[3:] = 0.0
                q[limb.q_index] = _moved(limb.lower, limb.upper, q[limb.q_index], J, error, guess)
            X = pin.updateFramePlacement(scene.model, data, frames[i])
            pin.forwardKinematics(scene.model, data, q)
            X = pin.updateFramePlacement(scene.model, data, frames[i])
            if limb.point:
                goal.rotation = X.rotation
            errors[m, i] = (
                np.linalg.norm(X.translation - goal.translation),
                pin.Quaternion(X.rotation).angularDistance(pin.Quaternion(goal.rotation)),
            )
        found.append(q.copy())
    return Postures(times, np.array(found), errors[:, :, 0], errors[:, :, 1])


def _moved(lower: Array, upper: Array, angles: Array, J: Array, error: Array, guess: Array) -> Array:
    """Return the joint angles after one damped Gauss-Newton step; joints at a limit that push outwards are held."""
    free = np.ones(len(angles), dtype=bool)
    for _ in range(2):
        H = J[:, free].T @ J[:, free]
        H[np.diag_indices_from(H)] += DAMPING
        pseudo = np.linalg.solve(H, J[:, free].T)
        pull = PULL * (guess - angles)[free]
        step = np.zeros(len(angles))
        step[free] = pseudo @ error + pull - pseudo @ (J[:, free] @ pull)
        out = ((angles <= lower + 1e-9) & (step < 0)) | ((angles >= upper - 1e-9) & (step > 0))
        if not (out & free).any():
            break
        free &= ~out
        if not free.any():
            return angles
    return np.clip(angles + step, lower, upper)
