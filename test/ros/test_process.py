"""A node's process: its real-time priority, without a node."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from multi_qp_controller.ros import process


class FakeNode:
    """Has a parameter, and keeps what is logged by level."""

    def __init__(self, priority: int) -> None:
        self.priority, self.said = priority, []

    def get_parameter(self, name):
        assert name == "realtime_priority"
        return SimpleNamespace(value=self.priority)

    def get_logger(self):
        return SimpleNamespace(
            info=lambda text: self.said.append(("info", text)), warning=lambda text: self.said.append(("warning", text))
        )


@pytest.fixture
def threads(monkeypatch):
    """Three threads of this process, the second of which has just ended, and their priorities."""
    taken: dict[int, int] = {}

    def take(thread, policy, parameter):
        assert policy == os.SCHED_FIFO
        if thread == 8:
            raise ProcessLookupError(3, "No such process")
        taken[thread] = parameter.sched_priority

    monkeypatch.setattr(process.os, "listdir", lambda path: ["7", "8", "9"])
    monkeypatch.setattr(process.os, "sched_setscheduler", take)
    return taken


@pytest.mark.parametrize(
    ("wanted", "lock_step", "expected"), [(-1, False, 10), (-1, True, None), (0, False, None), (30, True, 30)]
)
def test_all_threads_take_the_priority_that_is_asked_for_or_usual(threads, wanted, lock_step, expected):
    node = FakeNode(wanted)
    process.take_priority(node, lock_step=lock_step)
    assert threads == ({} if expected is None else {7: expected, 9: expected})
    assert not node.said


@pytest.mark.parametrize(("wanted", "level"), [(-1, "info"), (20, "warning")])
def test_where_it_is_not_allowed_that_is_said_once(monkeypatch, wanted, level):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(process.os, "sched_setscheduler", refuse)
    node = FakeNode(wanted)
    process.take_priority(node, lock_step=False)
    assert node.said == [(level, "no real-time priority: Operation not permitted; see `ulimit -r`")]
