"""Controller node in which the functions named in the file RAISE raise exceptions."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path

from multi_qp_ros.broadcast import Broadcast
from multi_qp_ros.control_run import ControlRun
from multi_qp_ros.health import Health
from multi_qp_ros.nodes import controller_node
from multi_qp_ros.real_time import RealTime
from multi_qp_simulator.run_monitor import RunMonitor

FAULTY = (
    (ControlRun, "lock_step_command"),
    (Health, "publish_if_due"),
    (RealTime, "begin"),
    (RealTime, "end"),
    (Broadcast, "clear"),
    (RunMonitor, "observe"),
)
SWITCH = Path(os.environ["RAISE"])


def faulty(owner, name):
    original = getattr(owner, name)

    @wraps(original)
    def run(*arguments, **options):
        if SWITCH.exists() and SWITCH.read_text("utf-8") == name:
            raise RuntimeError(f"{name} is broken")
        return original(*arguments, **options)

    setattr(owner, name, run)


for owner, name in FAULTY:
    faulty(owner, name)

if __name__ == "__main__":
    controller_node.main()
