"""Entry points of the nodes, which end with their parent process and on signals during imports."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from functools import partial
from runpy import run_module
from time import sleep

if __name__ == "__main__":  # before the imports, which take a second
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from multi_qp_ros.node_table import PARENT

#: Period of the check for the parent process [s].
PERIOD = 0.2


def start(module: str) -> None:
    """Run a module as the main program.

    Until the module installs its handler, SIGINT ends the process at once and without a traceback. If the environment
    names the parent process, its end raises SIGTERM.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # until `process.run`: collections are a fifth of the time of imports
    parent = int(os.environ.get(PARENT, 0))
    if parent:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    run_module(module, run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(PERIOD)
    os.kill(os.getpid(), signal.SIGTERM)


controller_node = partial(start, "multi_qp_ros.nodes.controller_node")
simulator_node = partial(start, "multi_qp_ros.nodes.simulator_node")
viewer_node = partial(start, "multi_qp_ros.nodes.viewer_node")
contact_planner_node = partial(start, "multi_qp_ros.nodes.contact_planner_node")
com_trajectory_node = partial(start, "multi_qp_ros.nodes.com_trajectory_node")

if __name__ == "__main__":
    start(sys.argv.pop(1))
