"""Text labels in the 3-D view, without overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import viser
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_viewer.camera import Camera
from multi_qp_viewer.following import view_shift

FONT_SCALE = 0.8
LETTER, MARGIN, HEIGHT = 5.9, 6.0, 16.0  # of a label at that scale: letter width, padding, height [CSS pixels]


@dataclass(frozen=True)
class View:
    """View of a page: camera, and size of the 3-D view [pixels]."""

    camera: Camera
    width: int
    height: int


def view_of(server: viser.ViserServer) -> View | None:
    """Return the view of the world on the page that connected first; None without a page."""
    shift = view_shift(server)
    for client in server.get_clients().values():
        seen = client.camera
        try:
            camera = Camera(position=_point(seen.position), target=_point(seen.look_at), fov=float(seen.fov))
        except ValueError:  # not a valid camera
            continue
        return View(camera.moved(shift), int(seen.image_width), int(seen.image_height))
    return None


def apart(points: Array, texts: Sequence[str], view: View) -> NDArray[np.bool_]:
    """Return a mask of labels to show so that none covers an earlier one.

    Args:
        points: centre of the lower edge of each label, (n, 3) [m].
        texts: text of each label, n.
        view: camera and size of the view.
    """
    pixels, depths = view.camera.project(points, width=view.width, height=view.height)
    shown = np.zeros(len(points), dtype=bool)
    widths = np.array([LETTER * len(text) + MARGIN for text in texts])
    for index in range(len(points)):
        across, along = np.abs(pixels[shown] - pixels[index]).T
        covers = (across < (widths[shown] + widths[index]) / 2) & (along < HEIGHT)
        shown[index] = depths[index] > 0.0 and not covers.any()
    return shown


class LabelPool:
    """Pool of labels that are reused from tick to tick."""

    def __init__(self, server: viser.ViserServer, name: str, most: int) -> None:
        """Create an empty pool.

        Args:
            server: the server.
            name: path of the labels in the scene tree; a number is appended.
            most: largest number of labels at a time.
        """
        self._server, self._name, self._most = server, name, most
        self._handles: list[viser.LabelHandle] = []
        self._used = 0

    def place(self, points: Array, texts: Sequence[str], *, visible: bool) -> None:
        """Show texts, n, at points, (n, 3) [m], by decreasing priority; labels that cover another are left out."""
        points = np.reshape(points, (-1, 3))
        view = view_of(self._server)
        shown = np.arange(len(points)) if view is None else np.flatnonzero(apart(points, texts, view))
        shown = shown[: self._most]
        while len(self._handles) < len(shown):
            self._handles.append(
                self._server.scene.add_label(
                    f"{self._name}_{len(self._handles)}",
                    "",
                    visible=False,
                    font_screen_scale=FONT_SCALE,
                    anchor="bottom-center",
                )
            )
        for label, index in zip(self._handles, shown, strict=False):
            label.text, label.position = texts[index], points[index]
        self._used = len(shown)
        self.switch(visible)

    def switch(self, visible: bool) -> None:
        """Show or hide."""
        for index, label in enumerate(self._handles):
            label.visible = visible and index < self._used


def _point(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
