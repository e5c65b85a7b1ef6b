"""The page's handles, sliders and buttons for a run that is somewhere else, as on a ROS graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from multi_qp_viewer.browser import BrowserViewer

Array = NDArray[np.float64]


class User(Protocol):
    """Where to send what the user does."""

    def move(self, name: str, position: Array) -> None:
        """Move a target to a position in the world, (3,) [m]."""

    def weigh(self, name: str, mass: float) -> None:
        """Set a load [kg]."""

    def give(self, name: str) -> None:
        """Give a command."""


class GraphControls:
    """Keeps the controls on a page in step with what can be done.

    The page calls back from threads of its own; what it says waits until `pass_on` is called.
    """

    def __init__(self, page: BrowserViewer, user: User, loads: Mapping[str, tuple[float, float, float]]) -> None:
        """Add a slider for each load: least, largest and present mass [kg]."""
        self._page, self._user = page, user
        self._said: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._shown: dict[tuple[str, str], Any] = {}
        for name, (minimum, maximum, present) in loads.items():
            page.add_slider(f"{name} [kg]", minimum, maximum, present, partial(self._say, user.weigh, name))

    def offer(self, targets: Mapping[str, Array], commands: Sequence[str]) -> None:
        """Offer exactly these targets, new ones at a position in the world, (3,) [m], and these commands."""
        wanted = {("target", name) for name in targets} | {("command", name) for name in commands}
        for key in self._shown.keys() - wanted:
            self._shown.pop(key).remove()
        for kind, name in sorted(wanted - self._shown.keys()):
            if kind == "target":
                take = partial(self._say, self._user.move, name)
                self._shown[kind, name] = self._page.add_target_handle(name, targets[name], take)
            else:
                click = partial(self._say, self._user.give, name)
                self._shown[kind, name] = self._page.add_button(name.replace("_", " "), click)

    def _say(self, what: Callable[..., None], *arguments: Any) -> None:
        self._said.put(partial(what, *arguments))

    def pass_on(self) -> None:
        """Send what the user has said since the last time."""
        while not self._said.empty():
            self._said.get()()
