"""The run in a web browser: live while it goes, and to scrub through during and after."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import viser
from numpy.typing import NDArray

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer.browser_bodies import Bodies
from multi_qp_viewer.browser_layers import Layer, all_layers
from multi_qp_viewer.browser_panel import Panel
from multi_qp_viewer.browser_studio import furnish
from multi_qp_viewer.history import History
from multi_qp_viewer.playback import SPEEDS, Playhead
from multi_qp_viewer.scene_view import DrawableScene, character_weight

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]

FRAME_TIME = 1 / 30  # [s]
IDLE_TIME = 0.5  # between pictures while nobody watches [s]
SLOW_TIME = 0.5  # between updates of the curve and the slider's ends [s]
TEXT_TIME = 0.1  # between updates of text and slider [s]


class BrowserViewer:
    """Serves the scene to any number of browsers.

    `show` only stores the snapshot; a thread of the viewer's own draws about 30 times a second.
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
            title: shown over the panel.
            port: where to serve; the next free one if it is taken.
            host: the address to listen at; "0.0.0.0" lets other machines watch.
            on_restart: called, from a thread of the viewer, when the user asks for a fresh run.
            make_layers: makes what is drawn over the bodies, in the place of the viewer's own layers.
        """
        with contextlib.redirect_stdout(io.StringIO()):  # viser greets on standard output
            self._server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        self._host = host
        self._on_restart = on_restart
        self.history = History()
        self.playhead = Playhead()
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._next_text = self._next_slow = 0.0
        self._complained = False
        self._prepare(scene, make_layers)
        self._thread = threading.Thread(target=self._run, name="multi_qp_viewer", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where to point a browser."""
        host = "localhost" if self._host in ("0.0.0.0", "::") else self._host
        return f"http://{host}:{self._server.get_port()}"

    def show(self, snapshot: Snapshot) -> None:
        """Take one tick; cheap and safe to call from the control loop.

        The snapshot's arrays must not be changed afterwards.
        """
        self.history.append(snapshot)

    def finish(self) -> None:
        """Say that the run is over; the page keeps serving for replay."""
        with self._lock:
            self.playhead.finish()
        self._wake.set()

    def restart(self) -> None:
        """Forget the run and ask for a fresh one, if the viewer was given an `on_restart`."""
        with self._lock:
            self.history.clear()
            self.playhead.begin()
        if self._on_restart is not None:
            self._on_restart()

    def wait(self) -> None:
        """Serve until `close` is called or the user interrupts the program."""
        while not self._closed.wait(0.5):  # short waits leave room for Ctrl-C on every platform
            pass

    def close(self) -> None:
        """Stop serving; may be called twice."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)
        with contextlib.redirect_stdout(io.StringIO()):  # viser says goodbye on standard output
            self._server.stop()

    def __enter__(self) -> BrowserViewer:
        """Return the viewer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.close()

    def play(self) -> None:
        """Go on from the moment on screen."""
        with self._lock:
            start, end = self.history.span
            self.playhead.play(start=start, end=end)
        self._wake.set()

    def pause(self) -> None:
        """Hold the moment on screen."""
        with self._lock:
            self.playhead.pause()
        self._wake.set()

    def seek(self, moment: float) -> None:
        """Hold another moment of the run [s]."""
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
        """Choose how fast replays go; 1 is real time.

        Raises:
            ValueError: if the speed is not within 0.1 and 4.
        """
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(f"the replay speed must be within {SPEEDS[0]} and {SPEEDS[-1]}, not {speed}")
        with self._lock:
            self.playhead.speed = speed

    def set_layer(self, title: str, shown: bool) -> None:
        """Switch a layer on or off by its title in the panel.

        Raises:
            ValueError: if there is no such layer.
        """
        if title not in self.panel.toggles:
            raise ValueError(f"no layer {title!r}; there are: {', '.join(self.panel.toggles)}")
        self.panel.toggles[title].value = shown  # type: ignore[misc]  # viser hides the setter

    def add_target_handle(
        self, name: str, position: Array, callback: Callable[[Array], None]
    ) -> viser.TransformControlsHandle:
        """Add a handle to drag in the 3-D view.

        Args:
            name: shown beside the handle.
            position: where it starts, world frame, (3,) [m].
            callback: called with the new position, (3,) [m], from a thread of the viewer.
        """
        path = f"/handles/{name}"
        handle = self._server.scene.add_transform_controls(
            path,
            scale=0.25,
            disable_rotations=True,
            depth_test=False,
            position=np.asarray(position, dtype=float),
        )
        self._server.scene.add_label(f"{path}/label", name, anchor="bottom-center", font_screen_scale=0.8)
        handle.on_update(lambda event: callback(np.array(event.target.position, dtype=float)))
        return handle

    def add_slider(
        self, name: str, minimum: float, maximum: float, initial: float, callback: Callable[[float], None]
    ) -> viser.GuiSliderHandle[float]:
        """Add a slider for a number that the run listens to.

        Args:
            name: its label.
            minimum: lowest value.
            maximum: highest value.
            initial: value at the start.
            callback: called with the new value from a thread of the viewer.

        Raises:
            ValueError: unless minimum <= initial <= maximum and minimum < maximum.
        """
        if not (minimum <= initial <= maximum and minimum < maximum):
            raise ValueError(f"slider {name!r}: {initial} is not within [{minimum}, {maximum}]")
        return self.panel.add_target_slider(name, minimum, maximum, initial, callback)

    def add_button(self, name: str, callback: Callable[[], None]) -> viser.GuiButtonHandle:
        """Add a button that gives a command.

        Args:
            name: its label.
            callback: called from a thread of the viewer.
        """
        return self.panel.add_command_button(name, callback)

    def refresh(self, elapsed: float = 0.0) -> Snapshot | None:
        """Move the replay on by wall time [s], draw the moment that is due and return its snapshot."""
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
        furnish(server, scene)
        self.bodies = Bodies(server, scene)
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

    def _toggle_play(self) -> None:
        if self.playhead.playing or self.playhead.live:
            self.pause()
        else:
            self.play()

    def _show_bodies(self, shown: bool) -> None:
        self.bodies.visible = shown

    def _draw(self, snapshot: Snapshot) -> None:
        if snapshot is self._drawn:
            return
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
        """Draw; a snapshot that cannot be drawn is reported once and must not end the page."""
        try:
            self.refresh(elapsed)
        except Exception:
            if not self._complained:
                logger.exception("the viewer cannot draw the tick at %.3f s", self.playhead.time)
            self._complained = True

    def _run(self) -> None:
        last = time.monotonic()
        while not self._closed.is_set():
            now = time.monotonic()
            self._refresh_safely(now - last)
            last = now
            pause = FRAME_TIME if self._server.get_clients() else IDLE_TIME
            self._wake.wait(max(pause - (time.monotonic() - now), 0.002))
            self._wake.clear()
