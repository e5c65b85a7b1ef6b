"""Number of BLAS threads of this process."""

from __future__ import annotations

import os

from threadpoolctl import threadpool_info, threadpool_limits

#: Environment variable by which a user sets the number of threads; the command line tools set it to 1.
VARIABLE = "OPENBLAS_NUM_THREADS"


def use_one_thread() -> None:
    """Limit BLAS to one thread in this process, unless the environment sets the number.

    The matrices of a tick are small: with several threads, synchronisation took ten times the CPU time of the
    arithmetic (acrobats on two cores, 35 against 3.4 ms a tick).
    """
    if VARIABLE not in os.environ:
        threadpool_limits(limits=1, user_api="blas")


def blas_threads() -> int:
    """Return the number of threads that BLAS may use."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
