"""One place that knows whether numba is installed: `from multi_qp_controller.jit import COMPILED, compiled`.

Compiled kernels stand beside plain Python that does the same; without numba, or with MULTI_QP_NO_JIT set, that runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def _find() -> Any:
    if os.environ.get("MULTI_QP_NO_JIT"):
        return None
    try:
        from numba import njit
    except ImportError:
        return None
    return njit


_njit = _find()
#: Whether kernels are compiled.
COMPILED: bool = _njit is not None


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call, and keep the machine code beside the source for the next process."""
    return cast(Function, _njit(cache=True, error_model="numpy")(function)) if COMPILED else function
