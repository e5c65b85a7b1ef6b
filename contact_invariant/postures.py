"""Whole-body postures along a motion: inverse kinematics of the limbs on the full model, within joint limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.ndimage import median_filter

from contact_invariant.character import Character, Effector
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
    """Return the postures at times, (m,) [s]; joints stay within their limits, so that patches may be missed.

    A patch that is not the last one of its limb counts only where it makes contact.
    """
    x, _, _ = motion.features(times)
    # what no patch determines, as the roll of a straight arm, may be far off at a single instant
    angles = median_filter(motion.angles, size=(3, 1), mode="nearest")
    guesses = np.array([np.interp(times, motion.times, column) for column in angles.T]).T
    turns = [rotations(x[:, 9 + 6 * i : 12 + 6 * i]) @ limb.nominal.rotation for i, limb in enumerate(character.limbs)]
    data = scene.model.createData()
    q, found = character.nominal.copy(), []
    errors = np.zeros((len(times), len(character.limbs), 2))
    groups, last = _groups(character), [_is_last(character, i) for i in range(len(character.limbs))]
    for m in range(len(times)):
        made = motion.contacts[motion.phase(times[m])]
        for k, body in enumerate(character.bodies):
            of_body, at = x[m, character.body_features(k)], int(scene.model.joints[body.root].idx_q)
            R = pin.exp3(of_body[3:])
            q[at : at + 3] = of_body[:3] - R @ body.com
            q[at + 3 : at + 7] = pin.Quaternion(R).coeffs()
        q[character.joints.q_index] = np.clip(guesses[m], character.joints.lower, character.joints.upper)
        for group in groups:
            goals = {i: pin.SE3(turns[i][m], x[m, 6 + 6 * i : 9 + 6 * i]) for i in group if last[i] or made[i]}
            _reach(scene, character, data, q, goals)
            for i, goal in goals.items():
                X = _placed(scene, data, character.limbs[i], goal)
                errors[m, i] = (
                    np.linalg.norm(X.translation - goal.translation),
                    pin.Quaternion(X.rotation).angularDistance(pin.Quaternion(goal.rotation)),
                )
        found.append(q.copy())
    return Postures(times, np.array(found), errors[:, :, 0], errors[:, :, 1])


def _groups(character: Character) -> list[list[int]]:
    """Return the effectors of each group of limbs that share joints, those with the most joints first."""
    found: list[list[int]] = []
    for i in sorted(range(len(character.limbs)), key=lambda i: -len(character.limbs[i].joints)):
        joints = set(character.limbs[i].joints)
        same = [group for group in found if any(joints & set(character.limbs[k].joints) for k in group)]
        found = [group for group in found if group not in same] + [[k for group in same for k in group] + [i]]
    return found


def _is_last(character: Character, i: int) -> bool:
    """Return whether no other patch is further out on its limb."""
    own = set(character.limbs[i].joints)
    return not any(own < set(other.joints) for other in character.limbs)


def _reach(scene: Scene, character: Character, data: pin.Data, q: Array, goals: dict[int, pin.SE3]) -> None:
    """Move the joints of limbs in q so that their patches reach their goals."""
    chosen = {j: k for i in goals for k, j in enumerate(character.joints.indices) if j in character.limbs[i].joints}
    columns = list(chosen.values())
    q_index = character.joints.q_index[columns]
    v_index = [int(scene.model.joints[j].idx_v) for j in chosen]
    lower, upper, guess = character.joints.lower[columns], character.joints.upper[columns], q[q_index].copy()
    for _ in range(ITERATIONS):
        pin.computeJointJacobians(scene.model, data, q)
        errors, rows = [], []
        for i, goal in goals.items():
            patch = character.limbs[i]
            X = _placed(scene, data, patch, goal)
            frame = scene.surfaces[patch.surface].frame_id
            error, J = pin.log6(X.actInv(goal)).vector, pin.getFrameJacobian(scene.model, data, frame, pin.LOCAL)
            size = 3 if patch.point else 6
            errors.append(error[:size])
            rows.append(J[:size, v_index])
        error = np.concatenate(errors)
        if np.abs(error).max() < TOLERANCE:
            break
        q[q_index] = _moved(lower, upper, q[q_index], np.vstack(rows), error, guess)
    pin.forwardKinematics(scene.model, data, q)


def _placed(scene: Scene, data: pin.Data, patch: Effector, goal: pin.SE3) -> pin.SE3:
    """Return the placement of a patch for joint placements in `data`; a goal of a point takes its rotation."""
    X = pin.updateFramePlacement(scene.model, data, scene.surfaces[patch.surface].frame_id)
    if patch.point:
        goal.rotation = X.rotation
    return X


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
