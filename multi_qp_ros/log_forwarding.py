"""Forwarding of Python log records to the logger of a node."""

from __future__ import annotations

import logging
from typing import Any


class NodeLogHandler(logging.Handler):
    """Handler that forwards records of Python's `logging` from level WARNING to the logger of a node."""

    def __init__(self, node: Any) -> None:
        super().__init__(logging.WARNING)
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        try:
            text = self.format(record)
            if record.levelno >= logging.ERROR:  # rclpy permits one level per line of code
                self._logger.error(text)
            else:
                self._logger.warning(text)
        except Exception:
            self.handleError(record)
