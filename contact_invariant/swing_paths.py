"""Paths that swinging limbs follow in a refinement: those of the simplified motion, lifted where they would drag."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.audit import Bounds
from contact_invariant.character import Character
from contact_invariant.contact_schedule import Span
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Height by which the middle of a swing is lifted whose limb would drag along the ground [m].
LIFT = 0.04
#: Shares of its duration at the beginning and the end in which it moves up or down only.
UPRIGHT = 0.15
#: Power of the share s by which the lift is later if a limb lands on another character: its largest is at s = 0.79.
LATE = 3
#: Share of the top speed from which a limb counts as fast, as in the audit; and as it descends to another character,
#: where it makes up for what it is behind its path.
FAST, FAST_DESCENT = 0.5, 0.35


class SwingPaths:
    """Where limbs are between their contacts.

    A limb drags that leaves a surface and returns to it, and is below the bound of the swing clearance where it moves
    at half of its top speed or above, as the audit has it. It is lifted by 64 s³ (1 - s)³ `LIFT`, s from 0 at the
    beginning to 1 at the end of the swing, and moves with the speed of minimum jerk in the middle of its duration, so
    that it moves while it is high. One that lands on a surface of another character, and is below this bound where it
    descends to it, is lifted by the same of s³, and keeps its speed: it comes from elsewhere, and has far to go.
    """

    def __init__(
        self,
        scene: Scene,
        character: Character,
        nodes: tuple[Array, Array],
        spans: list[Span],
        planned: NDArray[np.bool_],
    ) -> None:
        """Take the simplified motion as it is.

        Args:
            scene: the scene.
            character: its patches.
            nodes: times, (M + 1,) [s], and postures, (M + 1, nq).
            spans: contacts.
            planned: whether each effector touches a surface from node to node in the simplified motion, (M, N).
        """
        self._scene, self._character, self._data = scene, character, scene.model.createData()
        (self._times, self._q), self._spans, self._planned = nodes, spans, planned
        self._lifted: dict[tuple[int, int], int] = {}

    def lift(self, limbs: set[str]) -> None:
        """Lift the limbs of these names, and those joined to them, in the swings in which they would drag."""
        variables, lifted = np.array(self._character.variables), dict[tuple[int, int], int]()
        for i, limb in enumerate(self._character.limbs):
            own = sorted((s for s in self._spans if s.effector == i), key=lambda span: span.begin)
            for left, landed in pairwise(own):
                same = left.surface == landed.surface
                if limb.name in limbs and (same or landed.base is not None) and self._drags(left, landed):
                    for k in np.flatnonzero(variables == variables[i]).tolist():
                        lifted[k, landed.begin] = 1 if same else LATE
        self._lifted |= lifted

    def _drags(self, left: Span, landed: Span) -> bool:
        """Return whether a limb is low where it is fast between two contacts, or as it descends to another surface."""
        nodes = np.arange(left.end, landed.begin + 1)
        if len(nodes) < 3:
            return False
        i, local = left.effector, self._character.limbs[left.effector].corners
        poses = [self.pose(i, k, self._along(i, k)) for k in nodes.tolist()]
        corners = np.array([local @ X.rotation.T + X.translation for X in poses])
        normal = landed.normal_at(landed.begin)
        places = np.array([landed.pose_at(k).translation for k in nodes.tolist()])
        heights = ((corners - places[:, None]) @ normal).min(axis=1)
        velocities = np.gradient(corners.mean(axis=1), self._times[nodes], axis=0)
        speeds = np.linalg.norm(velocities - np.outer(velocities @ normal, normal), axis=1)
        begin, share = (0, FAST) if left.surface == landed.surface else (int(heights.argmax()), FAST_DESCENT)
        fast = speeds[begin:] >= share * speeds.max()
        return bool(heights[begin:][fast].min(initial=np.inf) < Bounds().clearance)

    def at(self, k: int, active: list[Span]) -> dict[int, float]:
        """Return where in the simplified motion, in nodes, each limb is followed that swings to a contact."""
        touching = {span.effector for span in active}
        swinging = {s.effector for s in self._spans if s.begin > k} - touching
        return {i: self._along(i, k) for i in swinging if self._character.effectors[i].is_limb}

    def posture(self, at: float) -> Array:
        """Return the posture of the simplified motion at a node, or between two."""
        k = int(at)
        if at == k:
            return np.asarray(self._q[k])
        return np.asarray(pin.interpolate(self._scene.model, self._q[k], self._q[k + 1], at - k))

    def pose(self, i: int, k: int, at: float) -> pin.SE3:
        """Return the pose of a limb's patch at a node at which it follows the simplified motion at another one.

        It begins and ends at the contacts, which are not quite where the simplified motion is at these nodes.
        """
        X, (begin, landed) = self._followed(i, at), self._swing(i, k)
        left = next((s for s in self._spans if s.effector == i and s.end == begin), None)
        s = self._share(i, k, begin, landed.begin) if landed.begin > begin else 1.0
        for span, node, share in ((left, begin, 1.0 - s), (landed, landed.begin, s)):
            if span is not None:
                ends = self._followed(i, self._along(i, node))
                pose = span.pose_at(node)
                X.translation = X.translation + share * (pose.translation - ends.translation)
                X.rotation = X.rotation @ pin.exp3(share * pin.log3(ends.rotation.T @ pose.rotation))
        if (height := self.lifted(i, k)) is not None:
            X.translation = X.translation + height * landed.normal_at(landed.begin)
        return X

    def _followed(self, i: int, at: float) -> pin.SE3:
        """Return the pose of a limb's patch in the simplified motion at a node, or between two."""
        pin.framesForwardKinematics(self._scene.model, self._data, self.posture(at))
        return self._data.oMf[self._scene.surfaces[self._character.limbs[i].surface].frame_id].copy()

    def lifted(self, i: int, k: int) -> float | None:
        """Return by how much a limb is lifted at a node of its swing [m], None if it would not drag."""
        begin, landed = self._swing(i, k)
        if (i, landed.begin) not in self._lifted:
            return None
        s = ((k - begin) / (landed.begin - begin)) ** self._lifted[i, landed.begin]
        return LIFT * 64.0 * (s * (1.0 - s)) ** 3

    def _swing(self, i: int, k: int) -> tuple[int, Span]:
        """Return the node at which a swing begins, and the contact that it leads to."""
        landed = min((s for s in self._spans if s.effector == i and s.begin >= k), key=lambda span: span.begin)
        return max((s.end for s in self._spans if s.effector == i and s.end <= k), default=0), landed

    def _along(self, i: int, k: int) -> float:
        """Return where in the simplified motion, in nodes, a patch is followed: its swing may begin earlier there.

        Between two nodes a fast foot moves by 6 cm, so that the path needs fractions of them.
        """
        begin, landed = self._swing(i, k)
        end = landed.begin
        contacts = np.flatnonzero(self._planned[:end, i])
        planned = int(contacts[-1]) + 1 if len(contacts) else 0
        if planned >= end or begin >= end:
            return k
        return planned + (end - planned) * self._share(i, k, begin, end)

    def _share(self, i: int, k: int, begin: int, end: int) -> float:
        """Return the share of its way that a patch has made at a node of its swing."""
        share = (k - begin) / (end - begin)
        if self._lifted.get((i, end)) != 1:
            return share
        return float(minimum_jerk(np.clip((share - UPRIGHT) / (1.0 - 2.0 * UPRIGHT), 0.0, 1.0), 1.0)[0])
