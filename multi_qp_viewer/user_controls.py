"""Controls of the page for the user of a run: handles, sliders, buttons and velocity pads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.walking import VelocityLimitsSpec
from multi_qp_viewer.browser_labels import FONT_SCALE
from multi_qp_viewer.browser_panel import Panel
from multi_qp_viewer.browser_server import PageServer
from multi_qp_viewer.velocity_pad import SCRIPT, SendVelocity, pad_html


class UserControls:
    """Adds controls to the page. Callbacks run in threads of the viewer; every control has a method `remove`.

    Attributes:
        reach: lower and upper corner of the box in which handles can be dragged, (3,) each [m].
    """

    def __init__(self, page_server: PageServer, panel: Panel, reach: tuple[Array, Array]) -> None:
        self._page_server, self._server, self._panel = page_server, page_server.viser, panel
        self.reach = reach
        self._script_sent = False

    def add_target_handle(
        self, name: str, position: Array, callback: Callable[[Array], None]
    ) -> viser.TransformControlsHandle:
        """Add a draggable handle to the 3-D view.

        Args:
            name: label of the handle.
            position: initial position in the world frame, (3,) [m].
            callback: called with the new position, (3,) [m]. The position is clipped to `reach`.
        """
        path = f"/world/handles/{name}"
        handle = self._server.scene.add_transform_controls(
            path,
            scale=0.25,
            disable_rotations=True,
            depth_test=False,
            position=np.asarray(position, dtype=float),
        )
        self._server.scene.add_label(f"{path}/label", name, anchor="bottom-center", font_screen_scale=FONT_SCALE)
        handle.on_update(lambda event: callback(np.clip(event.target.position, *self.reach)))
        return handle

    def add_slider(
        self, name: str, minimum: float, maximum: float, initial: float, callback: Callable[[float], None]
    ) -> viser.GuiSliderHandle[float]:
        """Add a slider for a parameter of the run.

        Args:
            name: label of the slider.
            minimum: lowest value.
            maximum: highest value.
            initial: initial value.
            callback: called with the new value.

        Raises:
            ValueError: unless minimum <= initial <= maximum and minimum < maximum.
        """
        if not (minimum <= initial <= maximum and minimum < maximum):
            raise ValueError(f"slider {name!r}: {initial} is not within [{minimum}, {maximum}]")
        with self._panel.targets:
            step = (maximum - minimum) / 200
            slider = self._server.gui.add_slider(
                name, min=float(minimum), max=float(maximum), step=step, initial_value=float(initial)
            )
        slider.on_update(lambda event: callback(min(max(float(event.target.value), minimum), maximum)))
        return slider

    def add_button(self, name: str, callback: Callable[[], None]) -> viser.GuiButtonHandle:
        """Add a button that sends a command."""
        with self._panel.targets:
            button = self._server.gui.add_button(name)
        button.on_click(lambda _: callback())
        return button

    def add_velocity_pad(self, name: str, limits: VelocityLimitsSpec, callback: SendVelocity) -> VelocityPad:
        """Add a pad that commands a velocity, also by the arrow keys.

        Args:
            name: unique name, the title of the pad.
            limits: velocities at its edge.
            callback: called with vx, vy [m/s] and wz [rad/s]: at each change, every 0.1 s while the pad is held, and
                with zeros when it is released or its page is closed.
        """
        if not self._script_sent:  # viser has no public method for it; its version is pinned
            message = viser._messages.RunJavascriptMessage(source=SCRIPT.read_text("utf-8"))
            self._server.gui._websock_interface.queue_message(message)
            self._script_sent = True
        self._page_server.pads.add(name, limits, callback)
        folder = self._panel.add_pad_folder(name)
        with folder:
            self._server.gui.add_html(pad_html(name, limits))
        return VelocityPad(name, folder, self._page_server)


class VelocityPad:
    """A velocity pad on the page."""

    def __init__(self, name: str, folder: Any, page_server: PageServer) -> None:
        self._name, self._folder, self._page_server = name, folder, page_server

    def remove(self) -> None:
        """Remove it; the last command stays."""
        self._page_server.pads.remove(self._name)
        self._folder.remove()
