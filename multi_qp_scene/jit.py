"""One place that knows whether numba is installed: `from multi_qp_scene.jit import COMPILED, compiled`.

Compiled kernels stand beside plain Python that does the same; without numba, or with MULTI_QP_NO_JIT set, that runs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

_LOG = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def say_why_it_takes_long() -> None:
    """Log once that kernels are being compiled."""
    _LOG.info("compiling kernels for this machine; this takes some seconds, once")


def _find() -> Any:
    if os.environ.get("MULTI_QP_NO_JIT"):
        return None
    try:
        from numba import njit
        from numba.core import event
    except ImportError:
        return None

    class Notice(event.Listener):
        """Hears of kernels that are compiled; those that are read from the cache make no such event."""

        def on_start(self, _: object) -> None:
            say_why_it_takes_long()

        def on_end(self, _: object) -> None:
            pass

    event.register("numba:compile", Notice())
    return njit


_njit = _find()
#: Sums may be taken in another order and by fused products, so that they become vector instructions; NaN stays NaN.
REORDER = {"reassoc", "nsz", "contract"}
#: Whether kernels are compiled.
COMPILED: bool = _njit is not None


def _find_part() -> Any:
    if _njit is None:
        return None
    options: dict[str, Any] = {
        "error_model": "numpy",
        "fastmath": REORDER,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    try:
        from multi_qp_scene.jit_parts import PartCompiler
    except (ImportError, AttributeError):  # a numba whose insides are others: it takes twice as long
        return _njit(cache=True, **options)
    return _njit(pipeline_class=PartCompiler, **options)


_part = _find_part()


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call, and keep the machine code beside the source for the next process."""
    return cast(Function, _njit(cache=True, error_model="numpy", fastmath=REORDER)(function)) if COMPILED else function


def compiled_part(function: Function) -> Function:
    """Compile a part that only kernels call: what Python needs to call it is left out, and so is code of its own."""
    return function if _part is None else cast(Function, _part(function))
