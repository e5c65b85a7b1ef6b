"""Processes that do for a controller what its loop has no time for."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any


def start_helper(program: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a Python process that ends with its standard input; Ctrl-C and a real-time priority are not for it.

    Args:
        program: Python code; not a script of its own, in which the classes that are passed on would be others.
        arguments: of the program.
        options: of `subprocess.Popen`.
    """
    # ours may not be where Python finds it by itself, as after a change of directory
    paths = os.pathsep.join(dict.fromkeys(path or os.getcwd() for path in sys.path))
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
        **options,
    )
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(process.pid, os.SCHED_OTHER, os.sched_param(0))
    return process
