"""Visualisation of a run: a live page in the browser, and off-screen pictures and videos.

`BrowserViewer` shows a run live and replays it; `render_frame` and `write_video` render pictures and videos. All of
them draw `Snapshot`s and do not depend on the controller.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multi_qp_viewer.browser import BrowserViewer as BrowserViewer
    from multi_qp_viewer.camera import Camera as Camera
    from multi_qp_viewer.video import render_frame as render_frame
    from multi_qp_viewer.video import write_video as write_video

__all__ = ["BrowserViewer", "Camera", "render_frame", "write_video"]

_MODULES = {"BrowserViewer": "browser", "Camera": "camera", "render_frame": "video", "write_video": "video"}


def __getattr__(name: str) -> Any:
    """Import on first use: video workers need no web server, and the browser viewer no ray caster."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
