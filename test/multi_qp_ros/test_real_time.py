"""Real-time priority and prevention of CPU idling; without a node."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from multi_qp_ros import real_time
from multi_qp_ros.real_time import RealTime


class FakeNode:
    """Has parameters, and keeps what is logged by level."""

    def __init__(self, priority: int, *, keep_awake: bool = False) -> None:
        self.parameters = {"realtime_priority": priority, "keep_awake": keep_awake}
        self.logged: list[tuple[str, str]] = []

    def get_parameter(self, name):
        return SimpleNamespace(value=self.parameters[name])

    def get_logger(self):
        return SimpleNamespace(
            info=lambda text: self.logged.append(("info", text)),
            warning=lambda text: self.logged.append(("warning", text)),
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

    monkeypatch.setattr(real_time.os, "listdir", lambda path: ["7", "8", "9"])
    monkeypatch.setattr(real_time.os, "sched_setscheduler", take)
    return taken


@pytest.mark.parametrize(
    ("wanted", "lock_step", "expected"), [(-1, False, 10), (-1, True, None), (0, False, None), (30, True, 30)]
)
def test_all_threads_get_the_requested_or_the_default_priority(threads, wanted, lock_step, expected):
    node = FakeNode(wanted)
    RealTime(node, lock_step=lock_step).begin()
    assert threads == ({} if expected is None else {7: expected, 9: expected})
    assert not node.logged


@pytest.mark.parametrize(("wanted", "level"), [(-1, "info"), (20, "warning")])
def test_a_refused_priority_is_reported_once(monkeypatch, wanted, level):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(real_time.os, "sched_setscheduler", refuse)
    node = FakeNode(wanted)
    RealTime(node, lock_step=False).begin()
    assert node.logged == [(level, "no real-time priority: Operation not permitted; see `ulimit -r`")]


@pytest.fixture
def waking_time(monkeypatch, tmp_path):
    """A file in the place of the system's, and whether this process holds it open."""
    file = tmp_path / "cpu_dma_latency"
    file.touch()
    monkeypatch.setattr(real_time, "WAKING_TIME", str(file))

    def held():
        links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        return [link for link in links if os.path.islink(link) and os.readlink(link) == str(file)]

    return SimpleNamespace(file=file, held=held)


def test_processors_are_prevented_from_idling_during_each_run(waking_time):
    system = RealTime(FakeNode(0, keep_awake=True), lock_step=False)
    for _ in range(2):
        system.begin()
        system.begin()
        assert len(waking_time.held()) == 1
        assert waking_time.file.read_bytes() == bytes(4)
        system.end()
        system.end()
        assert not waking_time.held()


@pytest.mark.parametrize(("keep_awake", "lock_step"), [(False, False), (True, True)])
def test_processors_may_sleep_where_the_user_wants_it_or_the_world_waits(waking_time, keep_awake, lock_step):
    RealTime(FakeNode(0, keep_awake=keep_awake), lock_step=lock_step).begin()
    assert not waking_time.held()
    assert not waking_time.file.read_bytes()


def test_a_failure_to_prevent_idling_is_reported(waking_time):
    waking_time.file.unlink()
    node = FakeNode(0, keep_awake=True)
    RealTime(node, lock_step=False).begin()
    assert node.logged == [("info", f"idle CPUs are allowed to sleep: {waking_time.file}: No such file or directory")]
