"""Contact surfaces of a model as overlays: faces, contact points and axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
import trimesh

from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.surfaces import Surface
from multi_qp_viewer import marks
from multi_qp_viewer.meshes import split_creases
from multi_qp_viewer.picture import Overlay
from multi_qp_viewer.render_overlays import ball, overlay, rod

#: Length and radius of an axis, and radius of a contact point [m].
AXIS, ROD, POINT = 0.08, 0.004, 0.008


def surface_overlays(model: pin.Model, q: Array, surfaces: Sequence[Surface]) -> list[Overlay]:
    """Return the marks of surfaces at a configuration: x red, y green, z (the outward normal) blue."""
    data = place_frames(model, q)
    drawn: list[Overlay] = []
    for surface in surfaces:
        X = data.oMf[surface.frame_id]
        points = surface.points @ X.rotation.T + X.translation
        if surface.kind == "planar":
            faces = marks.fan(len(points))
            both = np.concatenate([faces, faces[:, ::-1]])
            face = split_creases(trimesh.Trimesh(points, both, process=False))
            drawn.append(overlay(face, marks.SUPPORT, opacity=0.5))
            drawn += [rod(a, b, ROD, marks.SUPPORT) for a, b in zip(points, np.roll(points, -1, 0), strict=True)]
        drawn += [ball(point, POINT, marks.TARGET) for point in points]
        ends = X.translation + AXIS * X.rotation.T
        drawn += [rod(X.translation, end, ROD, color) for end, color in zip(ends, marks.AXIS_COLORS, strict=True)]
    return drawn
