"""The life of a node's process: start, spin, a clean end on Ctrl-C, an exit status."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import rclpy
from rclpy.signals import SignalHandlerOptions

from multi_qp_scene.errors import MultiQpError

try:  # several times less work per message; not there before Kilted
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

#: Exit statuses, as of the command line: all went well; goals were missed; bad parameters or a bad file.
SUCCESS, GOALS_MISSED, BAD_INPUT = 0, 1, 2
#: Nodes talk by UDP unless the user says otherwise. In the shared memory of Fast DDS a process that is killed may leave
#: a lock behind that nobody opens again: whoever sends to it, a control loop as well, then stands still for ever.
TRANSPORT = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}


class Worker(Protocol):
    """A node as `run` needs it."""

    exit_status: int | None

    def work(self) -> float:
        """Do what is due between messages; return how long nothing will be due [s]."""

    def close(self) -> None:
        """Leave the world in a safe state; messages can still be sent."""

    def destroy_node(self) -> None:
        """End."""


def settle() -> None:
    """Take what was loaded so far out of garbage collection: a full one over all modules stops a loop for 50 ms."""
    gc.collect()
    gc.freeze()


def run(make_node: Callable[[], Any], arguments: Sequence[str] | None = None) -> int:
    """Run a node until it sets its `exit_status` or a signal ends it, and return the exit status."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    for name, value in TRANSPORT.items():
        os.environ.setdefault(name, value)
    # rclpy's own handlers would take the context away before a last command can be sent
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    executor = Executor()
    try:
        node: Worker = make_node()
        executor.add_node(node)
        while not stopped and node.exit_status is None:
            executor.spin_once(timeout_sec=min(0.1, max(0.0, node.work())))
        node.close()
        return SUCCESS if node.exit_status is None else node.exit_status
    except MultiQpError as error:
        print(f"multi-qp: {error}", file=sys.stderr)
        return BAD_INPUT
    finally:
        executor.shutdown()
        rclpy.try_shutdown()
