"""Start of helper processes for work outside the control loop."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any


def start_helper(program: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a Python process in a session of its own (no SIGINT from Ctrl-C) and without real-time priority.

    The program has to end when its standard input is closed.

    Args:
        program: Python code for `-c`; in a script run as `__main__`, pickled classes would have another module.
        arguments: arguments of the program.
        options: options of `subprocess.Popen`.
    """
    # packages may be on no default path of the new interpreter, e.g. after a change of directory
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
