"""Velocity pads of the page: markup, and the commands that their web socket receives."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from multi_qp_scene.schema.walking import VelocityLimitsSpec

#: Path of the web socket.
PATH = "/velocity"
#: Program of the page: sends the commands of the pointer and of the arrow keys.
SCRIPT = Path(__file__).with_name("velocity_pad.js")

Share: TypeAlias = Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)]
SendVelocity: TypeAlias = Callable[[float, float, float], None]


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    """Shares of the limits of a pad: ahead, to the left, turn to the left."""

    pad: Annotated[str, msgspec.Meta(max_length=256)]
    shares: tuple[Share, Share, Share]


class VelocityPads:
    """Receiver of the commands of all pads of a page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pads: dict[str, tuple[VelocityLimitsSpec, SendVelocity]] = {}
        self._moving: dict[str, object] = {}  # sender of the last command other than zero, by pad

    def add(self, name: str, limits: VelocityLimitsSpec, callback: SendVelocity) -> None:
        """Receive the commands of a pad from now on."""
        with self._lock:
            self._pads[name] = limits, callback

    def remove(self, name: str) -> None:
        """Ignore the commands of a pad from now on."""
        with self._lock:
            self._pads.pop(name, None)
            self._moving.pop(name, None)

    def receive(self, raw: str | bytes, sender: object) -> str | None:
        """Pass a message on to the callback of its pad; return its defect, None if it is valid."""
        if isinstance(raw, bytes):
            return "binary data instead of text"
        try:
            message = msgspec.json.decode(raw, type=_Message)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return f"malformed velocity: {str(error)[:100]}"
        with self._lock:
            if message.pad not in self._pads:
                return None if not any(message.shares) else "unknown pad"  # the robot may have ceased to walk
            limits, callback = self._pads[message.pad]
            if any(message.shares):
                self._moving[message.pad] = sender
            else:
                self._moving.pop(message.pad, None)
        ahead, left, turn = message.shares
        callback(ahead * (limits.ahead if ahead > 0.0 else limits.back), left * limits.aside, turn * limits.turn)
        return None

    def lose(self, sender: object) -> None:
        """Stop what the commands of a page moved whose connection was closed."""
        with self._lock:
            lost = [name for name, mover in self._moving.items() if mover is sender]
            stopped = [self._pads[name][1] for name in lost]
            for name in lost:
                del self._moving[name]
        for callback in stopped:
            callback(0.0, 0.0, 0.0)


def pad_html(name: str, limits: VelocityLimitsSpec) -> str:
    """Return the markup of a pad: a square for vx and vy, a bar for wz, and their values."""
    figures = "".join(
        f'<tr><td>{label}</td><td data-figure="{key}">0.00</td><td>{unit}</td></tr>'
        for key, label, unit in (("vx", "ahead", "m/s"), ("vy", "left", "m/s"), ("wz", "turn", "rad/s"))
    )
    edge = f"{limits.ahead:g},{limits.back:g},{limits.aside:g},{limits.turn:g}"
    return (
        f'{_STYLE}<div class="velocity-pad" data-pad="{html.escape(name, quote=True)}" data-limits="{edge}">'
        '<div><div data-part="move" title="drag: ahead, back, aside"><i data-knob></i></div>'
        '<div data-part="turn" title="drag: turn"><i data-knob></i></div></div>'
        f"<div><table>{figures}</table>"
        "<p><b>↑ ↓</b> ahead, back<br><b>← →</b> turn<br><b>Shift ← →</b> aside<br>Released: stop</p></div></div>"
    )


_STYLE = """<style>
.velocity-pad { display: flex; gap: 1.2em; padding: 0.5em 0.7em 0.7em; user-select: none; align-items: center; }
.velocity-pad [data-part] { position: relative; width: 8.5em; border: 1px solid #8aa; touch-action: none;
  cursor: grab; background: #8fb4e018; }
.velocity-pad [data-part=move] { height: 8.5em; border-radius: 0.8em;
  background-image: linear-gradient(#8aa6, #8aa6), linear-gradient(#8aa6, #8aa6);
  background-size: 1px 100%, 100% 1px; background-position: center; background-repeat: no-repeat; }
.velocity-pad [data-part=turn] { height: 1.7em; margin-top: 0.9em; border-radius: 0.85em; }
.velocity-pad [data-knob] { position: absolute; left: 50%; top: 50%; width: 1.5em; height: 1.5em; border-radius: 50%;
  background: #3d85e3; transform: translate(-50%, -50%); pointer-events: none; }
.velocity-pad table { font-size: 0.85em; border-spacing: 0.3em 0; font-variant-numeric: tabular-nums; }
.velocity-pad td:nth-child(2) { text-align: right; min-width: 3em; font-weight: 600; }
.velocity-pad p { font-size: 0.75em; line-height: 1.55; margin: 0.7em 0.4em 0; opacity: 0.75; }
</style>"""
