"""Garbage collection at times of our choosing, so that none falls into a control tick."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Young objects are collected after so many ticks, all that are new after so many times that.
EVERY, FULL = 50, 20
#: All objects are looked through at the beginning by one user of so many.
ALL = 8
_users = itertools.count()


@contextmanager
def collected_between_ticks() -> Iterator[Callable[[], None]]:
    """Give a function to call between two ticks; within, nothing is collected at any other time.

    What was there before, all modules included, is left out: a full collection over it takes 50 ms and more. What
    former users left is therefore looked for by some only.
    """
    was_enabled = gc.isenabled()
    gc.collect(2 if next(_users) % ALL == 0 else 1)
    gc.freeze()
    gc.disable()
    ticks = 0

    def between() -> None:
        nonlocal ticks
        ticks += 1
        if ticks % EVERY == 0:
            gc.collect(2 if ticks % (EVERY * FULL) == 0 else 1)

    try:
        yield between
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
