"""Nodes as processes: started without launch_ros, ended in order, none left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic, sleep

from multi_qp_controller.ros.node_table import NodeSpec
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import find_resource

#: How long a node may take to end when it is asked to [s].
GRACE = 5.0

Processes = dict[str, subprocess.Popen[bytes]]


def require_ros() -> None:
    """Check that nodes can be started.

    Raises:
        MultiQpError: when rclpy is not installed.
    """
    if find_spec("rclpy") is None:
        raise MultiQpError("rclpy is not installed: source a ROS 2 installation, or pip install the extra [ros]")


def free_domain() -> int:
    """Return a ROS_DOMAIN_ID under which nobody of this machine talks now.

    Above 101 the ports of DDS meet those that the system gives away. The search begins at a place of this process's
    own, so that two that search at once do not find the same.
    """
    for k in range(100):
        domain = 1 + (37 * os.getpid() + k) % 100
        # where a domain's first participants are asked who they are: the very first may have gone before the others
        if all(_is_free(7400 + 250 * domain + 10 + 2 * participant) for participant in range(8)):
            return domain
    return 1 + os.getpid() % 100


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def on_this_machine() -> dict[str, str]:
    """Return variables with which nodes talk among themselves: in a free domain, and nothing leaves the machine.

    So does `ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`, which however insists on shared memory; see `process.TRANSPORT`.
    """
    return {
        "ROS_DOMAIN_ID": str(free_domain()),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
        "ROS_STATIC_PEERS": "127.0.0.1",
        "FASTDDS_DEFAULT_PROFILES_FILE": str(find_resource("config/dds/loopback.xml")),
    }


@contextmanager
def running(
    nodes: Sequence[NodeSpec],
    *,
    namespace: str = "",
    log_level: str = "warn",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Processes]:
    """Start all nodes, and end them on the way out, the last one first: its last command shall be heard."""
    # the solvers' matrices are small: threads of the linear algebra only get into each other's way
    variables = {"OPENBLAS_NUM_THREADS": "1", **os.environ, **(environment or {})}
    processes: Processes = {}
    interruption = _Interruption()
    # by itself SIGTERM would end us, and leave the nodes
    before = {number: signal.signal(number, interruption) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for node in nodes:
            command = node.command(namespace=namespace, log_level=log_level)
            # a session of their own: Ctrl-C comes to us, and we end them in order
            processes[node.name] = subprocess.Popen(command, env=variables, start_new_session=True)
        interruption.allow()
        yield processes
    finally:
        for process in reversed(processes.values()):
            process.terminate()
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


class _Interruption:
    """Raises KeyboardInterrupt, but not before all processes are known: one that has just been made would be left."""

    def __init__(self) -> None:
        self._allowed = self._asked = False

    def __call__(self, *_: object) -> None:
        self._asked = True
        if self._allowed:
            raise KeyboardInterrupt

    def allow(self) -> None:
        """Interrupt from now on, and at once if it was asked for meanwhile."""
        self._allowed = True
        if self._asked:
            raise KeyboardInterrupt


def wait_for(
    name: str,
    processes: Processes,
    *,
    timeout: float | None = None,
    failing: tuple[Processes, Mapping[str, int]] = ({}, {}),
) -> int:
    """Wait for one node to end, and return its exit status; or that of one that has failed before.

    Args:
        name: of the node that ends by itself.
        processes: those that must not end before it.
        timeout: how long to wait [s].
        failing: processes that may end, and by name the exit status that tells of a failure.

    Raises:
        MultiQpError: when another node ends before it, or it takes longer than `timeout` [s].
    """
    awaited, end = processes[name], None if timeout is None else monotonic() + timeout
    while awaited.poll() is None:
        for other, process in processes.items():
            if process.poll() is not None and awaited.poll() is None:
                raise MultiQpError(f"the node '{other}' ended with status {process.returncode}")
        for other, status in failing[1].items():
            if failing[0][other].poll() == status:
                return status
        if end is not None and monotonic() > end:
            raise MultiQpError(f"the node '{name}' has not ended within {timeout:g} s")
        sleep(0.05)
    return awaited.returncode
