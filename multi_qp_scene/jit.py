"""Compilation of kernels by numba: `compiled` for kernels, `compiled_part` for functions called only by kernels.

`external` declares C functions that kernels call. With NUMBA_DISABLE_JIT=1 the same functions run as Python, about a
hundred times slower, for debugging.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

_LOG = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def log_compilation() -> None:
    """Log once that kernels are being compiled."""
    _LOG.info("compiling kernels for this machine; this takes some seconds, once")


def _find() -> Any:
    from numba import config, njit
    from numba.core import event

    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return None

    class Notice(event.Listener):
        """Listener for compilation events; kernels that are read from the cache emit none."""

        def on_start(self, _: object) -> None:
            log_compilation()

        def on_end(self, _: object) -> None:
            pass

    event.register("numba:compile", Notice())
    return njit


_njit = _find()
#: Reassociation and contraction of sums are allowed, for vector instructions; NaN is preserved.
REORDER = {"reassoc", "nsz", "contract"}
#: Whether kernels are compiled; otherwise they run as Python.
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
        from multi_qp_scene.jit_parts import PartCompiler, once_for_all_constants
    except (ImportError, AttributeError):  # another internal interface of numba: compilation takes twice as long
        return _njit(cache=True, **options)
    return lambda function: once_for_all_constants(_njit(pipeline_class=PartCompiler, **options)(function))


_part = _find_part()


#: Files that any kernel may depend on.
_TOOLS = frozenset(str(Path(__file__).with_name(name)) for name in ("jit.py", "kernel_data.py", "jit_unpack.py"))
#: Source files of the machine code of a kernel or part, by its Python function.
_sources: dict[Any, frozenset[str]] = {}


def compiled(function: Function) -> Function:
    """Compile a kernel at its first call, and cache the machine code beside the source for the next process."""
    if not COMPILED:
        return function
    kernel = _njit(cache=True, error_model="numpy", fastmath=REORDER)(function)
    _record_sources(function)
    _remove_outdated(kernel, function)
    _tolerate_full_disks(kernel)
    return cast(Function, kernel)


def compiled_part(function: Function) -> Function:
    """Compile a function called only by kernels, without a Python wrapper and without machine code of its own."""
    if _part is None:
        return function
    _record_sources(function)
    return cast(Function, _part(function))


def external(function: Any) -> Any:
    """Return a C function of ctypes, with arguments of type size_t and no result, as kernels call it."""
    if not COMPILED:
        return function
    from llvmlite.binding import add_symbol  # type: ignore[import-untyped]
    from numba.core import types

    name = function.__name__
    add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return types.ExternalFunction(name, types.void(*(types.uintp for _ in function.argtypes)))


def _record_sources(function: Callable[..., Any]) -> None:
    """Record the source files of a kernel: its own, and those of the kernels and parts that its module imports."""
    called = (getattr(value, "py_func", None) for value in function.__globals__.values())
    own = _TOOLS | {function.__code__.co_filename}
    _sources[function] = frozenset(own.union(*(_sources.get(other, ()) for other in called)))


def _remove_outdated(kernel: Any, function: Callable[..., Any]) -> None:
    """Remove cached machine code that is older than one of its source files; numba checks the kernel's file only."""
    try:
        newest = max(os.stat(file).st_mtime_ns for file in _sources[function])
        prefix = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-"
        for name, written in _indices(kernel.stats.cache_path).items():
            if name.startswith(prefix) and written < newest:
                Path(kernel.stats.cache_path, name).unlink(missing_ok=True)
    except OSError as error:  # a folder that cannot be read or written contains no cache
        _LOG.debug("cached kernels were not checked: %s", error)


def _tolerate_full_disks(kernel: Any) -> None:
    """Run a kernel whose machine code cannot be cached: numba raises the error of a full disk from the first call."""
    cache: Any = getattr(kernel, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if save is None:  # another internal interface of numba
        return

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            warn_of_missing_cache(error.strerror)

    cache.save_overload = save_if_possible


@cache
def warn_of_missing_cache(reason: str | None) -> None:
    """Log once that compiled kernels cannot be cached for the next process."""
    _LOG.warning("compiled kernels cannot be cached and will be compiled again next time: %s", reason)


@cache
def _indices(folder: str) -> dict[str, int]:
    """Return the modification time of each cache index in a folder [ns]."""
    if not os.path.isdir(folder):
        return {}
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_mtime_ns for entry in entries if entry.name.endswith(".nbi")}
