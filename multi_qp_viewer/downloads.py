"""Files of a run that a page can download."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

import viser

from multi_qp_scene.errors import MultiQpError

logger = logging.getLogger(__name__)

#: Makes the content of a file; called with a function that takes the completed fraction.
MakeFile: TypeAlias = Callable[[Callable[[float], None]], bytes]


class Downloads:
    """Buttons that make a file and send it to the page that asked for it; one file at a time.

    Attributes:
        files: offered at present, by name.
    """

    def __init__(self, server: viser.ViserServer, *, order: float) -> None:
        self._server, self._order = server, order
        self._busy = threading.Lock()
        self._folder: viser.GuiFolderHandle | None = None
        self.files: Mapping[str, MakeFile] = {}

    def offer(self, files: Mapping[str, MakeFile]) -> None:
        """Offer files by name, in place of former ones; none removes the buttons."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None
        self.files = files
        if not files:
            return
        self._folder = self._server.gui.add_folder("Files of this run", order=self._order)
        with self._folder:
            for name, make in files.items():
                button = self._server.gui.add_button(name, icon=viser.Icon.DOWNLOAD)
                button.on_click(lambda event, name=name, make=make: self._send(event, name, make))  # type: ignore[misc]

    def _send(self, event: viser.GuiEvent[viser.GuiButtonHandle], name: str, make: MakeFile) -> None:
        client = event.client
        if client is None or not self._busy.acquire(blocking=False):
            return
        note = client.add_notification(f"Preparing {name}", "", loading=True, with_close_button=False)
        try:
            content = make(lambda fraction: setattr(note, "body", f"{100.0 * fraction:.0f} %"))
            client.send_file_download(name, content, save_immediately=True)
        except MultiQpError as error:
            client.add_notification(f"{name} cannot be made", str(error), color="red")
        except Exception:
            logger.exception("viewer: '%s' cannot be made", name)
            client.add_notification(f"{name} cannot be made", "The log of the program says why.", color="red")
        finally:
            note.remove()
            self._busy.release()
