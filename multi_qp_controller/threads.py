"""How many threads the linear algebra of this process uses."""

from __future__ import annotations

import os

from threadpoolctl import threadpool_info, threadpool_limits

#: With it a user decides for himself; the command line tools set it to 1.
VARIABLE = "OPENBLAS_NUM_THREADS"


def use_one_thread() -> None:
    """Let the linear algebra of this process run on one thread from now on, unless the environment says how many.

    The matrices of a tick are small: threads that wait for one another took ten times the processor time that the
    arithmetic takes (acrobats on two cores, 35 against 3.4 ms a tick).
    """
    if VARIABLE not in os.environ:
        threadpool_limits(limits=1, user_api="blas")


def blas_threads() -> int:
    """Return how many threads the linear algebra may use."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
