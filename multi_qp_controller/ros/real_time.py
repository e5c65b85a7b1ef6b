"""What a node of a loop by the wall clock asks of the system: a real-time priority, and processors that stay awake."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from multi_qp_controller.ros.parameters import ParameterSpec

#: The parameter `realtime_priority` where nobody asks for any, and what it then is by the wall clock.
UNASKED, USUAL_PRIORITY = -1, 10
#: Who holds this file open says how long a processor may take to wake up [µs], an int: at 0 it waits without sleeping.
WAKING_TIME = "/dev/cpu_dma_latency"

REAL_TIME_PARAMETERS = (
    ParameterSpec(
        "realtime_priority",
        UNASKED,
        "under SCHED_FIFO, where the system allows it; 0: as any process; -1: 10 by the wall clock, else 0",
        UNASKED,
        98,
    ),
    ParameterSpec(
        "keep_awake",
        True,
        f"wall clock: no idle processor of the machine sleeps ({WAKING_TIME}), where the system allows it",
    ),
)


class RealTime:
    """What a node has asked of the system.

    A processor with nothing to do between two messages goes to sleep, and wakes when the next one comes: on a virtual
    machine, whose host has given it to others meanwhile, milliseconds later, whatever the priority of who waits.
    """

    def __init__(self, node: Any, *, lock_step: bool) -> None:
        """Ask for nothing yet.

        Args:
            node: that has `REAL_TIME_PARAMETERS`.
            lock_step: whether the world waits for its answers; then nothing is asked for that the user did not.
        """
        self._node, self._lock_step = node, lock_step
        self._awake: int | None = None

    def begin(self) -> None:
        """Ask for what the parameters say; when all is loaded and compiled: others shall work till then."""
        wanted = self._node.get_parameter("realtime_priority").value
        usual = 0 if self._lock_step else USUAL_PRIORITY
        self._take_priority(usual if wanted == UNASKED else wanted, asked=wanted != UNASKED)
        if self._node.get_parameter("keep_awake").value and not self._lock_step:
            self._keep_awake()

    def end(self) -> None:
        """Let processors sleep again; the priority stays as it is."""
        if self._awake is not None:
            os.close(self._awake)
            self._awake = None

    def _take_priority(self, priority: int, *, asked: bool) -> None:
        """Give this process the priority, with all its threads.

        Threads that are made later inherit it; those of the middleware, which hear and tell, are there already.
        """
        if not priority:
            return
        try:
            for thread in os.listdir("/proc/self/task"):
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            # who did not ask for it is told, not warned (two calls, as rclpy wants one level at each place)
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
            self._node.get_logger().info(f"idle processors go to sleep: {WAKING_TIME}: {error.strerror}")
