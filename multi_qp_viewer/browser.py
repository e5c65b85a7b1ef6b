"""Browser viewer of a run: live view, and replay during and after the run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from multi_qp_controller.snapshot import Snapshot
from multi_qp_viewer import marks
from multi_qp_viewer.browser_panel import AFTER_TARGETS, Panel
from multi_qp_viewer.browser_scene import SceneDrawing
from multi_qp_viewer.browser_server import PageServer
from multi_qp_viewer.browser_studio import frame_scene, set_up_page, simplify_if_slow
from multi_qp_viewer.downloads import Downloads
from multi_qp_viewer.live_curves import CurveSource, LiveCurves
from multi_qp_viewer.playback import Player
from multi_qp_viewer.scene_menu import SceneMenu, ScenePreview
from multi_qp_viewer.scene_view import DrawableScene
from multi_qp_viewer.user_controls import UserControls

logger = logging.getLogger(__name__)

FRAME_TIME = 1 / 30  # [s]
IDLE_TIME = 0.5  # between frames while no page is connected [s]
SLOW_TIME = 0.5  # between updates of the plot and of the slider's range [s]
TEXT_TIME = 0.1  # between updates of status text and slider position [s]


class BrowserViewer:
    """Serves the scene to any number of browsers.

    `show` only stores the snapshot; a separate thread draws about 30 times per second.

    Attributes:
        player: playback of the run.
        controls: controls of the user of the run.
        panel: widgets of the viewer itself.
        drawing: bodies and layers.
        curves: charts of the run, None before `show_curves`.
        downloads: files of the run.
    """

    def __init__(
        self,
        scene: DrawableScene,
        *,
        title: str,
        port: int = 8080,
        host: str = "127.0.0.1",
        on_restart: Callable[[], None] | None = None,
        groups: Sequence[str] = marks.GROUPS,
    ) -> None:
        """Start serving.

        Args:
            scene: the scene.
            title: of the page and panel.
            port: TCP port; the next free one if it is in use.
            host: address to listen on; "0.0.0.0" accepts other machines.
            on_restart: called from a viewer thread when the user requests a new run.
            groups: of drawings over the bodies, each of which is a layer.

        Raises:
            MultiQpError: when the host is not an address of this machine, or no port is free.
        """
        self._page_server = PageServer(host=host, port=port, title=title)
        self._server = self._page_server.viser
        self._on_restart = on_restart
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._next_text = self._next_slow = 0.0
        self._error_logged = False
        self.player = Player(on_change=self._wake.set)
        set_up_page(self._server, scene)
        self._server.on_client_connect(lambda client: simplify_if_slow(self._server, client))
        self._groups = groups
        self.drawing = SceneDrawing(self._server, scene, groups)
        self.panel = Panel(self._server, self.player, on_restart=self.restart if on_restart else None)
        self.panel.add_layers(self.drawing)
        self.panel.add_plot()
        self.controls = UserControls(self._page_server, self.panel, self.drawing.reach)
        self.curves: LiveCurves | None = None
        self.downloads = Downloads(self._server, order=AFTER_TARGETS - 0.6)
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
        self.player.history.append(snapshot)

    def set_scene(self, scene: DrawableScene, *, title: str) -> None:
        """Show another scene, before a run of it; its curves are offered by `show_curves`."""
        with self._lock, self._server.atomic():
            self.player.begin()
            self.drawing.remove()
            self.drawing = SceneDrawing(self._server, scene, self._groups)
            self.panel.add_layers(self.drawing)
            self.controls.reach = self.drawing.reach
            if self.curves is not None:
                self.curves.remove()
                self.curves = None
            frame_scene(self._server, scene)
            self._server.gui.set_panel_label(title)

    def add_scene_menu(
        self,
        names: Sequence[str],
        present: str,
        *,
        preview: Callable[[str], ScenePreview],
        on_run: Callable[[str, Mapping[str, float]], None],
    ) -> SceneMenu:
        """Add a choice of scenes, see `SceneMenu`."""
        return SceneMenu(self._server, names, present, preview=preview, on_run=on_run, order=AFTER_TARGETS - 3)

    def show_curves(self, source: CurveSource) -> None:
        """Offer the curves of a run; those that the user has chosen continue with the next run."""
        with self._lock:
            if self.curves is None:
                self.curves = LiveCurves(self._server, source, order=AFTER_TARGETS - 0.5)
            else:
                self.curves.show(source)

    def finish(self) -> None:
        """Mark the run as finished; the page stays available for replay."""
        self.player.finish()

    def restart(self) -> None:
        """Clear the history and call `on_restart` if there is one."""
        self.player.begin()
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

    def set_layer(self, title: str, shown: bool) -> None:
        """Show or hide a layer by its title in the panel.

        Raises:
            ValueError: if there is no such layer.
        """
        if title not in self.panel.toggles:
            raise ValueError(f"no layer {title!r}; there are: {', '.join(self.panel.toggles)}")
        self.panel.toggles[title].value = shown  # type: ignore[misc]  # viser hides the setter

    def refresh(self, elapsed: float = 0.0) -> Snapshot | None:
        """Advance the replay by wall time [s], draw the snapshot due and return it."""
        with self._lock, self._server.atomic():
            snapshot = self.player.advance(elapsed)
            if snapshot is not None:
                self.drawing.draw(snapshot, follow_camera=time.monotonic() >= self._next_slow)
                self.drawing.view.update(elapsed)
            self._update_panel(snapshot)
            return snapshot

    def _update_panel(self, snapshot: Snapshot | None) -> None:
        now, history = time.monotonic(), self.player.history
        if now >= self._next_text:
            self._next_text = now + TEXT_TIME
            start, end = history.span
            self.panel.show_status(snapshot, self.player, history.realtime_factor)
            self.panel.show_time(self.player.time, start=start, end=end)
        if now >= self._next_slow:
            self._next_slow = now + SLOW_TIME
            self.panel.show_ticks(*history.tick_curve())
            if self.curves is not None:
                self.curves.update()

    def _refresh_safely(self, elapsed: float) -> None:
        """Draw; an error is logged once and does not stop the viewer."""
        try:
            self.refresh(elapsed)
        except Exception:
            if not self._error_logged:
                logger.exception("the viewer cannot draw the tick at %.3f s", self.player.time)
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
