"""Robots at the reference motions that they follow, drawn translucent beside them: in pictures and in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import viser

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_viewer.browser_bodies import BodyMeshes
from multi_qp_viewer.drawings import Drawing
from multi_qp_viewer.marks import Color
from multi_qp_viewer.meshes import pieces
from multi_qp_viewer.picture import Overlay
from multi_qp_viewer.pose import ScenePose
from multi_qp_viewer.raytracer import ShadedBody
from multi_qp_viewer.scene_view import DrawableScene, drawn_geometry, subsystem_of

#: Colour and opacity of the ghost in pictures, and its opacity in the browser.
COLOR: Color = (0.95, 0.55, 0.15)
OPACITY, FADED = 0.45, 0.35


def at_reference(scene: DrawableScene, q: Array, references: Mapping[str, Array]) -> Array:
    """Return a configuration of the scene with some subsystems at their reference, (nq,)."""
    found = q.copy()
    for name, own in references.items():
        found[scene.subsystems[name].q_slice] = own
    return found


class Ghosts:
    """Ghosts for the ray caster."""

    def __init__(self, scene: DrawableScene) -> None:
        geometries = drawn_geometry(scene)
        self._scene, self._pose = scene, ScenePose(scene.model, geometries)
        self._parts = [(k, subsystem_of(g.name), piece) for k, g in enumerate(geometries) for piece in pieces(g)]

    def overlays(self, snapshot: Snapshot) -> tuple[Overlay, ...]:
        """Return the ghosts of a tick."""
        if not snapshot.references:
            return ()
        rotations, positions = self._pose.placements(at_reference(self._scene, snapshot.q, snapshot.references))
        found = []
        for k, subsystem, piece in self._parts:
            if subsystem in snapshot.references:
                scale, shape = np.array(piece.scale), piece.shape
                vertices = (shape.vertices * scale + piece.offset) @ rotations[k].T + positions[k]
                normals = shape.normals / scale
                normals = normals / np.linalg.norm(normals, axis=1, keepdims=True) @ rotations[k].T
                body = ShadedBody(
                    vertices.astype(np.float32), normals.astype(np.float32), shape.faces, (*COLOR, OPACITY)
                )
                found.append(Overlay(body))
        return tuple(found)


class ReferenceLayer:
    """Ghosts in the browser; their meshes are added when a snapshot has a reference for the first time."""

    title = "Reference motion"

    def __init__(self, server: viser.ViserServer, scene: DrawableScene) -> None:
        self._server, self._scene, self._shown = server, scene, True
        self._bodies: BodyMeshes | None = None

    def draw(self, snapshot: Snapshot, drawings: Sequence[Drawing]) -> None:
        """Show this tick."""
        if snapshot.references and self._bodies is None:
            self._bodies = BodyMeshes(self._server, self._scene, node="/world/reference", only=set(snapshot.references))
            self._bodies.fade(FADED)
        if self._bodies is not None:
            self._bodies.visible = self._shown and bool(snapshot.references)
            self._bodies.move(at_reference(self._scene, snapshot.q, snapshot.references))

    def switch(self, shown: bool) -> None:
        """Show or hide."""
        self._shown = shown
        if self._bodies is not None:
            self._bodies.visible = shown
