"""Browser viewer of a run: live view, and replay during and after the run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import viser
from numpy.typing import NDArray

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer.browser_bodies import BodyMeshes
from multi_qp_viewer.browser_labels import FONT_SCALE, View, view_of
from multi_qp_viewer.browser_layers import Layer, all_layers
from multi_qp_viewer.browser_panel import Panel
from multi_qp_viewer.browser_server import PageServer
from multi_qp_viewer.browser_studio import set_up_page, simplify_if_slow
from multi_qp_viewer.history import History
from multi_qp_viewer.playback import SPEEDS, PlaybackPosition
from multi_qp_viewer.scene_view import DrawableScene, character_weight, scene_bounds

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]

FRAME_TIME = 1 / 30  # [s]
IDLE_TIME = 0.5  # between frames while no page is connected [s]
HANDLE_REACH = 20.0  # margin around the initial scene within which handles can be dragged [m]
SLOW_TIME = 0.5  # between updates of the plot and of the slider's range [s]
TEXT_TIME = 0.1  # between updates of status text and slider position [s]


class BrowserViewer:
    """Serves the scene to any number of browsers.

    `show` only stores the snapshot; a separate thread draws about 30 times per second.
    """

    def __init__(
        self,
        scene: DrawableScene,
        *,
        title: str,
        port: int = 8080,
        host: str = "127.0.0.1",
        on_restart: Callable[[], None] | None = None,
        make_layers: Callable[[viser.ViserServer], Sequence[Layer]] | None = None,
    ) -> None:
        """Start serving.

        Args:
            scene: the scene.
            title: of the page and panel.
            port: TCP port; the next free one if it is in use.
            host: address to listen on; "0.0.0.0" accepts other machines.
            on_restart: called from a viewer thread when the user requests a new run.
            make_layers: factory of the layers drawn over the bodies; by default `all_layers`.

        Raises:
            MultiQpError: when the host is not an address of this machine, or no port is free.
        """
        self._page_server = PageServer(host=host, port=port, title=title)
        self._server = self._page_server.viser
        self._on_restart = on_restart
        self.history = History()
        self.playhead = PlaybackPosition()
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._next_text = self._next_slow = 0.0
        self._error_logged = False
        self._prepare(scene, make_layers)
        self._thread = threading.Thread(target=self._run, name="multi_qp_viewer", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Address to open in a browser; it contains the access token."""
        return self._page_server.url

    def show(self, snapshot: Snapshot) -> None:
        """Store the snapshot of one tick; cheap enough for the control loop.

        The snapshot's arrays must not be changed afterwards.
        """
        self.history.append(snapshot)

    def finish(self) -> None:
        """Mark the run as finished; the page stays available for replay."""
        with self._lock:
            self.playhead.finish()
        self._wake.set()

    def restart(self) -> None:
        """Clear the history and call `on_restart` if there is one."""
        with self._lock:
            self.history.clear()
            self.playhead.begin()
        if self._on_restart is not None:
            self._on_restart()

    def wait(self) -> None:
        """Serve until `close` is called or the user interrupts the program."""
        while not self._closed.wait(0.5):  # short waits, so that Ctrl-C works on every platform
            pass

    def close(self) -> None:
        """Stop serving; may be called twice."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)
        self._page_server.stop()

    def __enter__(self) -> BrowserViewer:
        """Return the viewer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.close()

    def play(self) -> None:
        """Play from the displayed time on."""
        with self._lock:
            start, end = self.history.span
            self.playhead.play(start=start, end=end)
        self._wake.set()

    def pause(self) -> None:
        """Pause at the displayed time."""
        with self._lock:
            self.playhead.pause()
        self._wake.set()

    def seek(self, moment: float) -> None:
        """Pause at a time of the run [s]."""
        with self._lock:
            self.playhead.seek(moment)
        self._wake.set()

    def reset(self) -> None:
        """Replay from the start."""
        with self._lock:
            self.playhead.reset(start=self.history.span[0])
        self._wake.set()

    def go_live(self) -> None:
        """Follow the newest tick."""
        with self._lock:
            self.playhead.go_live()
        self._wake.set()

    def set_speed(self, speed: float) -> None:
        """Set the replay speed; 1 is real time.

        Raises:
            ValueError: if the speed is not within 0.1 and 4.
        """
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(f"the replay speed must be within {SPEEDS[0]} and {SPEEDS[-1]}, not {speed}")
        with self._lock:
            self.playhead.speed = speed

    def set_layer(self, title: str, shown: bool) -> None:
        """Show or hide a layer by its title in the panel.

        Raises:
            ValueError: if there is no such layer.
        """
        if title not in self.panel.toggles:
            raise ValueError(f"no layer {title!r}; there are: {', '.join(self.panel.toggles)}")
        self.panel.toggles[title].value = shown  # type: ignore[misc]  # viser hides the setter

    def add_target_handle(
        self, name: str, position: Array, callback: Callable[[Array], None]
    ) -> viser.TransformControlsHandle:
        """Add a draggable handle to the 3-D view.

        Args:
            name: label of the handle.
            position: initial position in the world frame, (3,) [m].
            callback: called with the new position, (3,) [m], from a viewer thread. The position is clipped to 20 m
                around the initial scene.
        """
        path = f"/handles/{name}"
        handle = self._server.scene.add_transform_controls(
            path,
            scale=0.25,
            disable_rotations=True,
            depth_test=False,
            position=np.asarray(position, dtype=float),
        )
        self._server.scene.add_label(f"{path}/label", name, anchor="bottom-center", font_screen_scale=FONT_SCALE)
        handle.on_update(lambda event: callback(np.clip(event.target.position, *self._reach)))
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
            callback: called with the new value from a viewer thread.

        Raises:
            ValueError: unless minimum <= initial <= maximum and minimum < maximum.
        """
        if not (minimum <= initial <= maximum and minimum < maximum):
            raise ValueError(f"slider {name!r}: {initial} is not within [{minimum}, {maximum}]")
        return self.panel.add_target_slider(name, minimum, maximum, initial, callback)

    def add_button(self, name: str, callback: Callable[[], None]) -> viser.GuiButtonHandle:
        """Add a button that sends a command.

        Args:
            name: label of the button.
            callback: called from a viewer thread.
        """
        return self.panel.add_command_button(name, callback)

    def refresh(self, elapsed: float = 0.0) -> Snapshot | None:
        """Advance the replay by wall time [s], draw the snapshot due and return it."""
        with self._lock:
            start, end = self.history.span
            moment = self.playhead.advance(elapsed, start=start, end=end)
            snapshot = self.history.at(moment)
            with self._server.atomic():
                if snapshot is not None:
                    self._draw(snapshot)
                self._update_panel(snapshot, start=start, end=end)
            return snapshot

    def _prepare(
        self, scene: DrawableScene, make_layers: Callable[[viser.ViserServer], Sequence[Layer]] | None
    ) -> None:
        server = self._server
        set_up_page(server, scene)
        server.on_client_connect(lambda client: simplify_if_slow(server, client))
        lower, upper = scene_bounds(scene, scene.q0)
        self._reach = lower - HANDLE_REACH, upper + HANDLE_REACH
        self.bodies = BodyMeshes(server, scene)
        if make_layers is None:
            self.layers: Sequence[Layer] = all_layers(server, weight=character_weight(scene))
        else:
            self.layers = make_layers(server)
        self.panel = Panel(
            server,
            on_play=self._toggle_play,
            on_reset=self.reset,
            on_live=self.go_live,
            on_seek=self.seek,
            on_speed=self.set_speed,
            on_restart=self.restart if self._on_restart else None,
        )
        self.panel.add_layers(self.layers, on_bodies=self._show_bodies, on_fade=self.bodies.fade)
        self.panel.add_plot()
        self._drawn: Snapshot | None = None
        self._view: View | None = None

    def _toggle_play(self) -> None:
        if self.playhead.playing or self.playhead.live:
            self.pause()
        else:
            self.play()

    def _show_bodies(self, shown: bool) -> None:
        self.bodies.visible = shown

    def _draw(self, snapshot: Snapshot) -> None:
        view = view_of(self._server)
        if snapshot is self._drawn and (view == self._view or time.monotonic() < self._next_slow):
            return
        self._view = view  # decides which labels are shown
        self.bodies.move(snapshot.q)
        for layer in self.layers:
            layer.draw(snapshot)
        self._drawn = snapshot

    def _update_panel(self, snapshot: Snapshot | None, *, start: float, end: float) -> None:
        now = time.monotonic()
        if now >= self._next_text:
            self._next_text = now + TEXT_TIME
            self.panel.show_status(snapshot, self.playhead, self.history.realtime_factor)
            self.panel.show_time(self.playhead.time, start=start, end=end)
        if now >= self._next_slow:
            self._next_slow = now + SLOW_TIME
            self.panel.show_ticks(*self.history.tick_curve())

    def _refresh_safely(self, elapsed: float) -> None:
        """Draw; an error is logged once and does not stop the viewer."""
        try:
            self.refresh(elapsed)
        except Exception:
            if not self._error_logged:
                logger.exception("the viewer cannot draw the tick at %.3f s", self.playhead.time)
            self._error_logged = True

    def _run(self) -> None:
        last = time.monotonic()
        while not self._closed.is_set():
            now = time.monotonic()
            self._refresh_safely(now - last)
            last = now
            pause = FRAME_TIME if self._server.get_clients() else IDLE_TIME
            self._wake.wait(max(pause - (time.monotonic() - now), 0.002))
            self._wake.clear()
