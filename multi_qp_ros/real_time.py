"""Real-time settings of a node's process: scheduling priority and CPU wake-up latency."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from multi_qp_ros.parameters import NodeParameter

#: Default of the parameter `realtime_priority`, and the priority that it stands for in real-time mode.
UNASKED, USUAL_PRIORITY = -1, 10
#: While this file is open, the int written to it bounds the wake-up latency of CPUs [µs]: at 0 they do not sleep.
WAKING_TIME = "/dev/cpu_dma_latency"

REAL_TIME_PARAMETERS = (
    NodeParameter(
        "realtime_priority",
        UNASKED,
        "SCHED_FIFO priority, where permitted; 0: normal scheduling; -1: 10 in real-time mode, else 0",
        UNASKED,
        98,
    ),
    NodeParameter(
        "keep_awake",
        True,
        f"real-time mode: prevent idle CPUs from sleeping ({WAKING_TIME}), where permitted",
    ),
)


class RealTime:
    """Real-time settings of a node's process.

    A CPU that is idle between two messages sleeps and wakes up at the next one: on a virtual machine, whose host has
    assigned it to others meanwhile, this takes milliseconds, regardless of the priority of the waiting process.
    """

    def __init__(self, node: Any, *, lock_step: bool) -> None:
        """Store the settings; `begin` applies them.

        Args:
            node: node with `REAL_TIME_PARAMETERS`.
            lock_step: whether the simulator waits for commands; then only an explicit priority is applied.
        """
        self._node, self._lock_step = node, lock_step
        self._awake: int | None = None

    def begin(self) -> None:
        """Apply the parameters; to be called after loading and compiling, which should not preempt other processes."""
        wanted = self._node.get_parameter("realtime_priority").value
        usual = 0 if self._lock_step else USUAL_PRIORITY
        self._take_priority(usual if wanted == UNASKED else wanted, asked=wanted != UNASKED)
        if self._node.get_parameter("keep_awake").value and not self._lock_step:
            self._keep_awake()

    def end(self) -> None:
        """Let CPUs sleep again; the priority is unchanged."""
        if self._awake is not None:
            os.close(self._awake)
            self._awake = None

    def _take_priority(self, priority: int, *, asked: bool) -> None:
        """Set the priority of all threads of this process.

        Later threads inherit it; those of the middleware, which receive and send, exist already.
        """
        if not priority:
            return
        try:
            for thread in os.listdir("/proc/self/task"):
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            # a warning only if it was requested (two calls, as rclpy requires one level at each call site)
            text = f"no real-time priority: {error.strerror}; see `ulimit -r`"
            if asked:
                self._node.get_logger().warning(text)
            else:
                self._node.get_logger().info(text)

    def _keep_awake(self) -> None:
        if self._awake is not None:
            return
        try:
            self._awake = os.open(WAKING_TIME, os.O_WRONLY)
            os.write(self._awake, (0).to_bytes(4, "little"))
        except OSError as error:
            self.end()
            self._node.get_logger().info(f"idle CPUs are allowed to sleep: {WAKING_TIME}: {error.strerror}")
