"""Clearance of a swinging limb's last link from the fixed environment along its path."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
from scipy.interpolate import BPoly

from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Distance from the environment in the middle of a swing [m]; near its ends, only overlaps count.
DISTANCE = 0.012
#: Tolerated overlap near the ends [m].
_TOUCH = 2e-3
#: Checked instants, in durations; the middle is between two shares of the minimum-jerk path.
_INSTANTS, _FROM, _TO = np.linspace(0.05, 0.95, 19), 0.25, 0.8
#: Heights of the raised paths that are tried, in lifts.
_RAISED = (1.0, 1.5, 2.0, 3.0)
#: Weight of two inner control points together in the middle of the curve: degree 7, B_3(1/2) + B_4(1/2).
MIDDLE = 70.0 / 128.0
#: The same of four, of degree 9: the path first rises, and moves ahead later.
_MIDDLE_OF_FOUR = 420.0 / 512.0


class SwingClearance:
    """Collision test of swing paths: the link of a surface with the fixed environment."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        objects = list(scene.collision_model.geometryObjects)
        fixed = {f"{name}/" for name in scene.environment}
        self._fixed = [item for item in objects if item.name.split("/")[0] + "/" in fixed]
        self._objects = objects

    def raised(self, surface: str, start: pin.SE3, end: pin.SE3, lift: float) -> Array | None:
        """Return the inner control points of a swing over an obstacle, (k, 3) [m]; None if the direct path is free.

        The direct path is straight, with `lift` added in the middle. A stair's edge may be in its way: the raised path
        first goes up, then ahead, and down. The first of eight that is free is chosen, of four heights, the lowest
        first, with two or four control points; else the direct path.

        Args:
            surface: full name of the limb's surface.
            start: its pose at the start.
            end: pose at the end of the swing.
            lift: height of the middle above the straight line [m].
        """
        if self._is_free(surface, start, end, direct(start, end, lift)):
            return None
        top = max(start.translation[2], end.translation[2])
        for factor in _RAISED:
            for count, weight in ((1, MIDDLE), (2, _MIDDLE_OF_FOUR)):
                height = top + factor * lift / weight
                via = np.array([[*pose.translation[:2], height] for pose in (start, end) for _ in range(count)])
                if self._is_free(surface, start, end, around(start, end, via)):
                    return via
        return None

    def _is_free(self, surface: str, start: pin.SE3, end: pin.SE3, positions: Array) -> bool:
        known = self._scene.surfaces[surface]
        X_joint_surface = self._scene.model.frames[known.frame_id].placement
        pieces = [item for item in self._objects if item.parentJoint == known.joint_id]
        turn = pin.log3(start.rotation.T @ end.rotation)
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        for instant, position in zip(_INSTANTS, positions, strict=True):
            share = minimum_jerk(instant, 1.0)[0]
            pose = pin.SE3(start.rotation @ pin.exp3(share * turn), position) * X_joint_surface.inverse()
            request.security_margin = DISTANCE if _FROM <= share <= _TO else -_TOUCH
            for piece in pieces:
                place = pose * piece.placement
                for other in self._fixed:
                    result.clear()
                    if coal.collide(piece.geometry, place, other.geometry, other.placement, request, result):
                        return False
        return True


def direct(start: pin.SE3, end: pin.SE3, lift: float) -> Array:
    """Return the positions of the direct path at the checked instants, (k, 3) [m]."""
    s = np.array([minimum_jerk(instant, 1.0)[0] for instant in _INSTANTS])[:, None]
    positions = start.translation + s * (end.translation - start.translation)
    return np.asarray(positions + 64.0 * (s * (1.0 - s)) ** 3 * [0.0, 0.0, lift])


def around(start: pin.SE3, end: pin.SE3, via: Array) -> Array:
    """Return the positions of a Bézier path with these inner control points at the checked instants, (k, 3) [m]."""
    points = np.vstack([[start.translation] * 3, via, [end.translation] * 3])
    return np.asarray(BPoly(points[:, None, :], [0.0, 1.0])(_INSTANTS))
