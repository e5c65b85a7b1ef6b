"""Choice of another scene and of its parameters on the page."""

from __future__ import annotations

import html
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import viser
from numpy.typing import NDArray

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.scenario_file import ParameterSpec

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScenePreview:
    """What the page shows of a scene before it is run.

    Attributes:
        description: one line.
        picture: still of the initial state, (height, width, 3), or None.
        parameters: by name; the default of each is its present value.
    """

    description: str
    picture: NDArray[np.uint8] | None
    parameters: Mapping[str, ParameterSpec]


class SceneMenu:
    """Widgets that choose a scene, show a still of it, set its parameters, and run it.

    Loading takes seconds; meanwhile further clicks are ignored. Errors are shown on the page.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        names: Sequence[str],
        present: str,
        *,
        preview: Callable[[str], ScenePreview],
        on_run: Callable[[str, Mapping[str, float]], None],
        order: float,
    ) -> None:
        """Add the widgets.

        Args:
            server: of the page.
            names: scenes to choose from.
            present: the one that is run.
            preview: loads what is shown of a scene; may raise a MultiQpError.
            on_run: runs a scene with parameters; may raise a MultiQpError.
            order: of the widgets in the panel.
        """
        self._server, self._preview, self._on_run = server, preview, on_run
        self._busy, self._description = threading.Lock(), ""
        self._numbers: dict[str, viser.GuiNumberHandle[float]] = {}
        self._folder = server.gui.add_folder("Scene", order=order, expand_by_default=False)
        with self._folder:
            self.choice = server.gui.add_dropdown("Scene", list(names), initial_value=present, order=0)
            self._text = server.gui.add_html("", order=1)
            self._picture: viser.GuiImageHandle | None = None
            self._button = server.gui.add_button("Run this scene", icon=viser.Icon.PLAYER_PLAY, order=1e6)
        self.choice.on_update(lambda event: self.show(event.target.value))
        self._button.on_click(lambda _: self.run())
        self.show(present)

    def show(self, name: str) -> None:
        """Show a scene and its parameters."""
        self._work(f"Loading {name} …", lambda: self._show(name, self._preview(name)))

    def run(self) -> None:
        """Run the scene that is shown with the parameters that are set."""
        values = {name: float(number.value) for name, number in self._numbers.items()}
        self._work("Preparing the run …", lambda: self._on_run(self.choice.value, values))

    def _work(self, message: str, work: Callable[[], None]) -> None:
        if not self._busy.acquire(blocking=False):
            return
        try:
            self._button.disabled = self.choice.disabled = True
            self._say(message)
            work()
            self._say(self._description)
        except MultiQpError as error:
            self._say(str(error), error=True)
        except Exception:
            logger.exception("viewer: the scene '%s' cannot be shown", self.choice.value)
            self._say("this scene cannot be shown; the log of the program says why", error=True)
        finally:
            self._button.disabled = self.choice.disabled = False
            self._busy.release()

    def _show(self, name: str, preview: ScenePreview) -> None:
        for number in self._numbers.values():
            number.remove()
        self._numbers = {}
        with self._folder:
            if self._picture is not None:
                self._picture.remove()
                self._picture = None
            if preview.picture is not None:
                self._picture = self._server.gui.add_image(preview.picture, jpeg_quality=85, order=2)
            for k, (title, parameter) in enumerate(preview.parameters.items()):
                unit = f" [{parameter.unit}]" if parameter.unit else ""
                self._numbers[title] = self._server.gui.add_number(
                    title + unit,
                    min=parameter.min,
                    max=parameter.max,
                    step=parameter.multiple_of,
                    initial_value=parameter.default,
                    hint=f"{parameter.description} ({parameter.min:g} to {parameter.max:g})".strip(),
                    order=3 + k,
                )
        self._description = preview.description

    def _say(self, text: str, *, error: bool = False) -> None:
        colour = "color:#c23b22;" if error else ""
        self._text.content = f'<div style="padding:0.3em 0.9em;font-size:0.85em;{colour}">{html.escape(text)}</div>'
