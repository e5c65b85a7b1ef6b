"""Garbage collection happens between ticks only, and is restored afterwards."""

from __future__ import annotations

import gc
import weakref

import pytest

from multi_qp_simulator.garbage import EVERY, collected_between_ticks


class Loop:
    """Refers to itself: only the collector can free it."""

    def __init__(self):
        self.me = self


def test_loops_are_freed_but_not_before_their_time():
    with collected_between_ticks() as collect:
        assert not gc.isenabled()
        gone = weakref.ref(Loop())
        for _ in range(EVERY - 1):
            collect()
        assert gone() is not None
        collect()
        assert gone() is None
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_an_error_leaves_the_collector_on():
    with pytest.raises(RuntimeError), collected_between_ticks():
        raise RuntimeError
    assert gc.isenabled()
