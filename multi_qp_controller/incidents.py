"""Faults in the control loop: their description, and one log line for each distinct cause."""

from __future__ import annotations

import logging
import re
import traceback

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|inf|nan)(?!\w)")
#: Largest number of causes logged; only a message whose text changes at every tick reaches it.
MOST_CAUSES = 1000


class IncidentLog:
    """Logs each distinct cause once; messages that differ only in numbers have the same cause.

    Attributes:
        enabled: whether anything is logged.
    """

    def __init__(self) -> None:
        self.enabled = True
        self._causes: set[str] = set()

    def warn(self, message: str) -> None:
        """Log a warning, unless its cause was logged before."""
        cause = _NUMBER.sub("#", message)
        if self.enabled and cause not in self._causes and len(self._causes) < MOST_CAUSES:
            self._causes.add(cause)
            _log.warning("%s", message)


def described(error: BaseException) -> str:
    """Return type, text and location of an exception: the innermost line outside of installed packages."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "site-packages" not in frame.filename] or frames
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    try:
        text = str(error)
    except Exception:  # a user's exception class may fail here
        text = "?"
    return f"{type(error).__name__}: {text}{place}"
