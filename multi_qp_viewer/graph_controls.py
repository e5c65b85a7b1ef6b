"""Handles, sliders and buttons of the page for a run in another process, as on a ROS graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.settings import Setting

if TYPE_CHECKING:
    from multi_qp_viewer.user_controls import UserControls


class UserActions(Protocol):
    """Receiver of the user's inputs."""

    def move(self, name: str, position: Array) -> None:
        """Move a target to a position in the world, (3,) [m]."""

    def weigh(self, name: str, mass: float) -> None:
        """Set a load [kg]."""

    def give(self, name: str) -> None:
        """Send a command."""

    def adjust(self, name: str, value: float) -> None:
        """Change a setting of a motion generator."""


class GraphControls:
    """Controls of the page, updated with the available targets and commands.

    Callbacks arrive on the page's threads; their values are queued until `send_pending` is called. Of each control only
    the newest value is queued.
    """

    def __init__(
        self,
        page: UserControls,
        user: UserActions,
        loads: Mapping[str, tuple[float, float, float]],
        settings: Mapping[str, tuple[str, Setting]],
    ) -> None:
        """Add a slider for each load and setting.

        Args:
            page: the controls of the page.
            user: receiver of the inputs.
            loads: minimum, maximum and present mass by name [kg].
            settings: label and range by the name that is passed to `UserActions.adjust`.
        """
        self._page, self._user = page, user
        self._lock = Lock()
        self._pending: dict[tuple[Callable[..., None], str], tuple[Any, ...]] = {}
        self._shown: dict[tuple[str, str], Any] = {}
        for name, (minimum, maximum, present) in loads.items():
            page.add_slider(f"{name} [kg]", minimum, maximum, present, partial(self._enqueue, user.weigh, name))
        for name, (label, one) in settings.items():
            page.add_slider(label, one.minimum, one.maximum, one.value, partial(self._enqueue, user.adjust, name))

    def offer(self, targets: Mapping[str, Array], commands: Sequence[str]) -> None:
        """Show exactly these targets, new ones at a world position, (3,) [m], and these commands."""
        available = {("target", name) for name in targets} | {("command", name) for name in commands}
        for key in self._shown.keys() - available:
            self._shown.pop(key).remove()
        for kind, name in sorted(available - self._shown.keys()):
            if kind == "target":
                move = partial(self._enqueue, self._user.move, name)
                self._shown[kind, name] = self._page.add_target_handle(name, targets[name], move)
            else:
                click = partial(self._enqueue, self._user.give, name)
                self._shown[kind, name] = self._page.add_button(name.replace("_", " "), click)

    def _enqueue(self, send: Callable[..., None], name: str, *values: Any) -> None:
        with self._lock:
            self._pending[send, name] = values

    def send_pending(self) -> None:
        """Send the inputs since the last call."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for (send, name), values in pending.items():
            send(name, *values)
