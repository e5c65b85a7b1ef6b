"""What a person sees of a run: a live page in the browser, and videos rendered without a window.

`BrowserViewer` shows a run while it goes and lets one scrub through it; `render_frame` and `write_video` make
pictures and videos. All of them draw `Snapshot`s and know nothing of the controller.
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

_HOMES = {"BrowserViewer": "browser", "Camera": "camera", "render_frame": "video", "write_video": "video"}


def __getattr__(name: str) -> Any:
    """Import on first use: video workers need no web server, and the browser no ray caster."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
