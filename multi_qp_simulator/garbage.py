"""Garbage collection between control ticks."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Ticks between collections of the youngest generation, and number of these between collections of all new objects.
EVERY, FULL = 50, 20
#: A full collection is run at the start of every n-th use.
ALL = 8
_users = itertools.count()


@contextmanager
def collected_between_ticks() -> Iterator[Callable[[], None]]:
    """Yield a function to call between two ticks; inside the context nothing is collected at any other time.

    Objects that existed before, all modules included, are frozen: a full collection over them takes 50 ms or more.
    Garbage of former uses is therefore collected by some uses only. So are objects that have survived a full
    collection, such as the growing log: reading them would also displace the controller's data from the CPU's caches.
    """
    was_enabled = gc.isenabled()
    gc.collect(2 if next(_users) % ALL == 0 else 1)
    gc.freeze()
    gc.disable()
    ticks = 0

    def between() -> None:
        nonlocal ticks
        ticks += 1
        if ticks % (EVERY * FULL) == 0:
            gc.collect()
            gc.freeze()
        elif ticks % EVERY == 0:
            gc.collect(1)

    try:
        yield between
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
