"""Control panel beside the 3-D view: status, playback, layers, tick times, targets."""

from __future__ import annotations

import html
from collections.abc import Callable
from math import ceil, floor

import numpy as np
import viser

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_viewer import marks
from multi_qp_viewer.browser_drawings import Layer
from multi_qp_viewer.browser_scene import SceneDrawing
from multi_qp_viewer.playback import SPEEDS, Player

HIDDEN_AT_START = ("Friction cones", "Target names")
AFTER_TARGETS = 1e6  # viser orders widgets by creation; targets are created later but belong above the layers


class Panel:
    """Widgets of the panel, connected to callbacks."""

    def __init__(
        self,
        server: viser.ViserServer,
        player: Player,
        *,
        on_restart: Callable[[], None] | None,
    ) -> None:
        """Build the upper part of the panel."""
        self._server = server
        self._status = server.gui.add_html("")
        self._play = server.gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE, color="blue")
        self._play.on_click(lambda _: player.toggle())
        jumps = {"Reset": player.reset, "Go live": player.go_live}
        if on_restart is not None:
            jumps["Run again"] = on_restart
        self._jumps = server.gui.add_button_group("Go to", list(jumps))
        self._jumps.on_click(lambda event: jumps[event.target.value]())
        self.time = server.gui.add_slider("Time [s]", min=0.0, max=0.01, step=0.01, initial_value=0.0)
        self.time.on_update(lambda event: player.seek(event.target.value) if event.client is not None else None)
        names = [f"{speed:g}×" for speed in SPEEDS]
        self.speed = server.gui.add_dropdown("Speed", names, initial_value="1×")
        self.speed.on_update(lambda event: player.set_speed(SPEEDS[names.index(event.target.value)]))
        self.toggles: dict[str, viser.GuiCheckboxHandle] = {}
        self._targets: viser.GuiFolderHandle | None = None
        self._layers: viser.GuiFolderHandle | None = None

    def add_layers(self, drawing: SceneDrawing) -> None:
        """Add what the view follows, a checkbox for the bodies and each layer, and the opacity of the bodies.

        They replace those of a former drawing.
        """
        body_meshes, view = drawing.bodies, drawing.view
        if self._layers is not None:
            self._layers.remove()
            self.toggles.clear()
        self._layers = self._server.gui.add_folder("Show", order=AFTER_TARGETS)
        with self._layers:
            follow = self._server.gui.add_dropdown("Follow", view.choices, initial_value=view.choice)
            follow.on_update(lambda event: setattr(view, "choice", event.target.value))
            bodies = self._server.gui.add_checkbox("Bodies", True)
            bodies.on_update(lambda event: setattr(body_meshes, "visible", event.target.value))
            self.toggles["Bodies"] = bodies
            fade = self._server.gui.add_slider("Opacity", min=0.1, max=1.0, step=0.05, initial_value=1.0)
            fade.on_update(lambda event: body_meshes.fade(event.target.value))
            for layer in drawing.layers:
                self._add_toggle(layer)

    def add_plot(self) -> None:
        """Add the plot of tick times."""
        with self._server.gui.add_folder("Tick time [ms]", order=AFTER_TARGETS + 1):
            self._plot = self._server.gui.add_uplot(
                (np.array([0.0, 1.0]), np.array([0.0, 0.0])),
                (
                    viser.uplot.Series(label="time [s]"),
                    viser.uplot.Series(label="tick [ms]", stroke="#3d85e3", width=1.5),
                ),
                scales={"x": viser.uplot.Scale(time=False)},
                legend=viser.uplot.Legend(show=False),
                height=130,
            )

    @property
    def targets(self) -> viser.GuiFolderHandle:
        """The folder of sliders and commands of the user."""
        if self._targets is None:
            self._targets = self._server.gui.add_folder("Targets", order=AFTER_TARGETS - 1)
        return self._targets

    def add_pad_folder(self, name: str) -> viser.GuiFolderHandle:
        """Add the folder of a velocity pad."""
        return self._server.gui.add_folder(f"Velocity ({name})", order=AFTER_TARGETS - 2)

    def show_status(self, snapshot: Snapshot | None, player: Player, realtime_factor: float | None) -> None:
        """Show the state and the figures of the displayed tick."""
        self._status.content = status_html(snapshot, player, realtime_factor)
        moving = player.playing or player.live
        self._play.label = "Pause" if moving else "Play"
        self._play.icon = viser.Icon.PLAYER_PAUSE if moving else viser.Icon.PLAYER_PLAY

    def show_time(self, moment: float, *, start: float, end: float) -> None:
        """Move the slider to a moment within the run's span [s]."""
        self.time.max = max(ceil(100.0 * end - 1e-6), floor(100.0 * start) + 1) / 100.0  # the slider shows its maximum
        self.time.min = floor(100.0 * start) / 100.0
        self.time.value = float(min(max(moment, start), end))  # type: ignore[misc]  # viser hides the setter

    def show_ticks(self, times: Array, ticks: Array) -> None:
        """Update the plot of tick times; times [s], ticks [ms]."""
        if len(times) >= 2:
            self._plot.data = (times, ticks)

    def _add_toggle(self, layer: Layer) -> None:
        shown = layer.title not in HIDDEN_AT_START
        box = self._server.gui.add_checkbox(layer.title, shown)
        box.on_update(lambda event: layer.switch(event.target.value))
        layer.switch(shown)
        self.toggles[layer.title] = box


def status_html(snapshot: Snapshot | None, player: Player, realtime_factor: float | None) -> str:
    """Return the status card as HTML."""
    if snapshot is None:
        return '<div style="padding:0.6em 0.9em;font-size:1.3em">waiting …</div>'
    red, green, blue = (round(255 * channel) for channel in marks.STATUS.get(snapshot.status, (0.4, 0.4, 0.4)))
    chip = (
        f'<span style="background:rgb({red},{green},{blue});color:white;border-radius:0.8em;'
        f"padding:0.1em 0.6em;"
        f'font-size:0.8em;margin-left:0.6em">{html.escape(snapshot.status)}</span>'
    )
    mode = "live" if player.live and not player.finished else "replay"
    rate = f" · {realtime_factor:.2f}× real time" if realtime_factor is not None and mode == "live" else ""
    return (
        f'<div style="padding:0.6em 0.9em;line-height:1.5">'
        f'<div><span style="font-size:1.35em;font-weight:600">{html.escape(snapshot.state)}</span>'
        f"{chip}</div>"
        f'<div style="font-size:0.85em;font-variant-numeric:tabular-nums">t = {snapshot.time:.2f} s · '
        f"tick {snapshot.tick_ms:.1f} ms · {mode}{rate}</div></div>"
    )
