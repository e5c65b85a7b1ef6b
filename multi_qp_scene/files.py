"""Reading of user-supplied files: regular files of bounded size."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import excess


def is_file(path: Path) -> bool:
    """Whether there is a regular file; False also where the path is too long or a folder on it cannot be entered."""
    return _holds(path.is_file)


def is_dir(path: Path) -> bool:
    """Whether there is a folder; False also where the path is too long or a folder on it cannot be entered."""
    return _holds(path.is_dir)


def exists(path: Path) -> bool:
    """Whether there is a file of any kind; False also where the path is too long or a folder on it is closed."""
    return _holds(path.exists)


def _holds(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, limit: str) -> bytes:
    """Return the content of a regular file; pipes, devices and large files are refused before they are read.

    Args:
        path: of the file.
        limit: name of the limit of its size.

    Raises:
        MultiQpError: the file does not exist, cannot be read, or is too large; the message does not name the file.
    """
    try:
        reason = not_regular(os.stat(path).st_mode)  # before opening: opening alone has side effects on some devices
        if reason is None:
            # without O_NONBLOCK, opening a pipe waits for the process that writes into it
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                state = os.fstat(descriptor)
                reason = not_regular(state.st_mode) or excess(limit, state.st_size)
                content = b"" if reason else file.read(state.st_size + 1) or b""
                if len(content) > state.st_size:  # as for files of /proc
                    reason = "its size is not known"
    except FileNotFoundError:
        reason = "no such file"
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if reason is not None:
        raise MultiQpError(reason)
    return content


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file of any size to read it; pipes and devices, which may block or never end, are refused.

    Raises:
        MultiQpError: when there is no such file, it is not a regular one, or it cannot be read; the message names the
            file.
    """
    try:
        reason = not_regular(os.stat(path).st_mode)
        if reason is None:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            reason = not_regular(os.fstat(descriptor).st_mode)
            if reason is None:
                return os.fdopen(descriptor, "rb")
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    raise MultiQpError(f"'{path}' cannot be read: {reason}")


def not_regular(mode: int) -> str | None:
    """Return why a mode is not that of a regular file; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return "this is a folder, not a file" if stat.S_ISDIR(mode) else "not a regular file"
