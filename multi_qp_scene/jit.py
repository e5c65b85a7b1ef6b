"""One place that knows whether numba is installed: `from multi_qp_scene.jit import COMPILED, compiled`.

Compiled kernels stand beside plain Python that does the same; without numba, or with MULTI_QP_NO_JIT set, that runs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
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


#: What any kernel may be made of.
_TOOLS = frozenset(str(Path(__file__).with_name(name)) for name in ("jit.py", "bundles.py", "jit_bundles.py"))
#: The files whose code goes into the machine code of a kernel or part, by its Python function.
_sources: dict[Any, frozenset[str]] = {}


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call, and keep the machine code beside the source for the next process."""
    if not COMPILED:
        return function
    kernel = _njit(cache=True, error_model="numpy", fastmath=REORDER)(function)
    _note_sources(function)
    _forget_outdated(kernel, function)
    return cast(Function, kernel)


def compiled_part(function: Function) -> Function:
    """Compile a part that only kernels call: what Python needs to call it is left out, and so is code of its own."""
    if _part is None:
        return function
    _note_sources(function)
    return cast(Function, _part(function))


def _note_sources(function: Callable[..., Any]) -> None:
    """Note the files that a kernel is made of: its own, and those of the kernels and parts that its module imports."""
    called = (getattr(value, "py_func", None) for value in function.__globals__.values())
    own = _TOOLS | {function.__code__.co_filename}
    _sources[function] = frozenset(own.union(*(_sources.get(other, ()) for other in called)))


def _forget_outdated(kernel: Any, function: Callable[..., Any]) -> None:
    """Remove kept machine code that is older than a file that went into it: numba looks at the kernel's own alone."""
    try:
        newest = max(os.stat(file).st_mtime_ns for file in _sources[function])
        kept = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-"
        for name, written in _indices(kernel.stats.cache_path).items():
            if name.startswith(kept) and written < newest:
                Path(kernel.stats.cache_path, name).unlink(missing_ok=True)
    except OSError as error:  # a folder that cannot be read or written: nothing is kept there
        _LOG.debug("kept kernels were not looked at: %s", error)


@cache
def _indices(folder: str) -> dict[str, int]:
    """Return when each index of kept machine code in a folder was written [ns]."""
    if not os.path.isdir(folder):
        return {}
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_mtime_ns for entry in entries if entry.name.endswith(".nbi")}
