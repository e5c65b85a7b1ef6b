"""By the wall clock, on a real graph: late and lost states, a slow solver, a QP without solution."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

DT = 0.02
#: Periods after which a state is too old; half a second is more than a busy machine makes of a tick.
MAX_AGE = 25
NODE = "multi_qp_controller"
OK, ERROR = DiagnosticStatus.OK, DiagnosticStatus.ERROR


class Talking:
    """The fake robots publish their state every period, in a thread, until stopped."""

    def __init__(self, robots) -> None:
        self.robots, self.silent = robots, False
        self.reported: list[int] = []
        self.jammed_since: int | None = None
        self.edit = None
        self._on = True
        self._thread = threading.Thread(target=self._talk)
        self._thread.start()

    def _talk(self) -> None:
        due = time.monotonic()
        while self._on:
            if not self.silent:
                self.reported.append(self._stamp())
                self.robots.send_at(self.reported[-1], edit_all=self.edit)
            due = max(due + DT, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _stamp(self) -> int:
        """Return the time [ns]; while the way is jammed, messages take longer and longer, up to 40 periods."""
        now, since = time.time_ns(), self.jammed_since
        return now if since is None else now - min(round(40 * DT * 1e9), (now - since) // 2)

    def stop(self) -> None:
        self._on = False
        self._thread.join()


@pytest.fixture(scope="module")
def slow(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("slow") / "now"


@pytest.fixture(scope="module")
def running(start, graph, fake_robots, slow):
    settings = {"scenario": "box", "dt": DT, "autostart": True, "marker_rate": 0.0, "max_state_age": MAX_AGE}
    here = Path(__file__).parent
    environment = {"SLOW_WHILE": str(slow), "PYTHONPATH": f"{here.parents[1]}:{here}"}
    start("slow_solver_node", environment=environment, **settings)
    graph.until(lambda: graph.diagnosed(NODE, "waiting for"), what="the controller")
    talking = Talking(fake_robots)
    yield talking
    talking.stop()


@pytest.fixture
def talking(running, graph):
    """Robots in a valid state, and a controller without faults."""
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "ok", what="a good command")
    graph.clear()
    yield running
    running.silent, running.jammed_since, running.edit = False, None, None
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "ok", what="recovery")


def efforts(graph) -> list[np.ndarray]:
    return [np.array(message.effort) for message in graph.received["humanoid/joint_commands"]]


def damped(graph):
    """Return whether the last command damps robots at rest: no effort at all."""
    published = efforts(graph)
    return bool(published) and np.abs(published[-1]).max() < 1e-3


def test_states_are_processed_on_arrival(talking, graph):
    """Each command has the stamp of its state, and stamps increase."""
    graph.until(lambda: len({state["stamp"] for state in graph.states()}) > 20, what="answers to 20 states")
    stamps = [state["stamp"] for state in graph.states()]
    assert stamps == sorted(stamps) and set(stamps) <= set(talking.reported)


def test_unchanged_status_is_published_ten_times_a_second(talking, graph):
    """The controller's state costs more than the efforts: what has not changed is not published with each of them."""
    graph.until(lambda: len(graph.states()) > 10, what="ten states")
    published = [
        (state["stamp"], {key: state[key] for key in set(state) - {"stamp", "tick_ms"}}) for state in graph.states()
    ]
    apart = [b[0] - a[0] for a, b in zip(published, published[1:], strict=False) if a[1] == b[1]]
    assert apart and min(apart) >= 100_000_000


def test_states_that_stop_are_held_then_damped(talking, graph):
    talking.silent = True
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "fallback", what="a fallback")
    graph.until(lambda: damped(graph), what="damping")
    graph.until(lambda: graph.diagnosed(NODE, "ms old", ERROR), what="age")
    graph.clear()
    talking.silent = False
    graph.until(lambda: graph.diagnosed(NODE, "in state", OK), what="recovery")


def test_states_that_come_late_are_as_good_as_none(talking, graph):
    talking.jammed_since = time.time_ns()
    graph.until(lambda: graph.diagnosed(NODE, "ms old", ERROR), what="age")
    graph.until(lambda: graph.states()[-1]["status"] == "fallback", what="a fallback")


def test_one_stamp_an_hour_ahead_costs_one_message(talking, graph):
    """Later ones are neither outdated nor late, and the run goes on."""
    left = 1

    def edit(messages):
        nonlocal left
        if left:
            left -= 1
            messages["humanoid/odom"].header.stamp.sec += 3600

    talking.edit = edit
    text = "s ahead of the earlier ones"
    graph.until(lambda: graph.diagnosed(NODE, text), what=text)
    graph.clear()
    graph.listen(1.0)
    assert {state["status"] for state in graph.states()} == {"ok"}


def test_messages_without_stamps_count_from_their_arrival(talking, graph):
    def edit(messages):
        for message in messages.values():
            message.header.stamp.sec = message.header.stamp.nanosec = 0

    talking.edit = edit
    graph.until(
        lambda: graph.diagnosed(NODE, "has no stamps: its messages count as measured when they"), what="a warning"
    )
    graph.listen(2.0)
    graph.clear()
    graph.until(lambda: len(graph.states()) > 5, what="answers")
    assert {state["status"] for state in graph.states()} == {"ok"}


def test_a_solver_that_takes_too_long_is_not_followed(talking, graph, slow):
    slow.touch()
    graph.until(lambda: graph.diagnosed(NODE, "longer than its deadline", ERROR), what="a deadline that is missed")
    graph.until(lambda: damped(graph), what="damping")
    assert np.isfinite(np.concatenate(efforts(graph))).all()
    slow.unlink()
    graph.clear()
    graph.until(lambda: graph.diagnosed(NODE, "in state", OK), what="recovery")


def test_a_qp_without_solution_falls_back(talking, graph):
    """The feet fly off: no torque can stop them within a period."""
    robots = talking.robots
    humanoid = robots.scenario.scene.subsystems["humanoid"]
    limits = robots.scenario.scene.torque_limits[humanoid.actuated]
    still = robots.state.v.copy()
    robots.state.v[humanoid.v_slice.start + 2] = 50.0
    try:
        graph.until(lambda: graph.diagnosed(NODE, "the QP has no solution", ERROR), what="infeasibility")
        graph.until(lambda: graph.states()[-1]["status"] == "fallback", what="a fallback")
        graph.listen(0.3)
        assert all((np.abs(effort) <= limits + 1e-9).all() for effort in efforts(graph))
    finally:
        robots.state.v[:] = still
