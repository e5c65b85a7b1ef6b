"""Signals at random instants end every node, and `multi-qp ros` with all of its nodes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from multi_qp_ros.node_table import PARENT, node_table, planning_nodes

#: Longest time from a signal to the end [s]: 2 s on a machine that does nothing else.
LONGEST = 4.0
#: From the start of the nodes to the last signal [s]: imports, configuration, planning, walking.
SPAN = 12.0


def end_all_nodes(environment, seed, folder):
    """Start all nodes of `stairs`, signal them at one instant, once or twice, and return how long each took to end."""
    chosen = random.Random(seed)
    after, number = chosen.uniform(0.0, SPAN), chosen.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    nodes = node_table(
        "stairs",
        controller={"record": str(folder / "stairs.mcap")},
        viewer={"port": 8300},
        **planning_nodes(True, goal="scenario", headless=False),
    )
    processes = {}
    try:
        for node in nodes:
            log = (folder / f"{node.name}.txt").open("wb")
            processes[node.name] = subprocess.Popen(
                node.command(log_level="warn"), env=environment, stdout=log, stderr=log, start_new_session=True
            )
        time.sleep(after)
        early = {name: process.poll() for name, process in processes.items() if process.poll() is not None}
        assert not early, (early, after)
        began = time.monotonic()
        for repeat in range(chosen.choice([1, 2])):
            time.sleep(0.1 * repeat)
            for process in processes.values():
                process.send_signal(number)
        took = {}
        while len(took) < len(processes) and time.monotonic() < began + 60.0:
            for name, process in processes.items():
                if name not in took and process.poll() is not None:
                    took[name] = round(time.monotonic() - began, 2)
            time.sleep(0.01)
        statuses = {name: process.poll() for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    print(f"{number.name} after {after:.2f} s: ended after {took} s with {statuses}")
    reported = {name: (folder / f"{name}.txt").read_text("utf-8") for name in processes}
    assert took.keys() == processes.keys() and max(took.values()) < LONGEST, (took, statuses, reported)
    # 0: in order; a signal: while it was imported, where nothing but the process itself is to be ended
    assert set(statuses.values()) <= {0, -number}, (statuses, reported)
    assert not any("Traceback" in text for text in reported.values()), reported
    return took


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_signal_ends_all_nodes(ros_environment, tmp_path, seed):
    end_all_nodes(ros_environment, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_signals_end_all_nodes(ros_environment, tmp_path, seed):
    end_all_nodes(ros_environment, seed, tmp_path)


def end_graph(environment, after, numbers):
    """Start `multi-qp ros`, signal it, and return how long it took until its last process had ended [s]."""
    command = [sys.executable, "-m", "multi_qp_cli", "ros", "stairs", "--viewer", "--port", "8310"]
    quiet = subprocess.DEVNULL
    graph = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        time.sleep(after)
        began = time.monotonic()
        for number in numbers:
            graph.send_signal(number)
            time.sleep(0.1)
        graph.wait(60.0)
        while (left := children(graph.pid)) and time.monotonic() < began + 60.0:
            time.sleep(0.02)
        took = time.monotonic() - began
    finally:
        graph.kill()
        graph.wait()
        for child in children(graph.pid):
            os.kill(child, signal.SIGKILL)
    print(f"{[number.name for number in numbers]} after {after:.2f} s: {took:.2f} s, status {graph.returncode}")
    assert not left
    return took


def children(parent: int) -> list[int]:
    """Return the processes that `multi-qp ros` of this number has started, and what they have started."""
    mark, found = f"{PARENT}={parent}\0".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:  # it has ended, or is not ours
            continue
    return found


@pytest.mark.parametrize(
    "after, numbers",
    [(2.5, [signal.SIGINT]), pytest.param(7.0, [signal.SIGINT] * 3, marks=pytest.mark.slow), (8.0, [signal.SIGKILL])],
    ids=["while it starts", "Ctrl-C three times", "killed"],
)
def test_no_process_of_a_graph_is_left_behind(ros_environment, after, numbers):
    assert end_graph(ros_environment, after, numbers) < 2.0 * LONGEST  # the simulator ends after the others


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_signals_leave_no_process_of_a_graph_behind(ros_environment, seed):
    chosen = random.Random(seed)
    numbers = [chosen.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])] * chosen.choice([1, 2, 3])
    numbers = chosen.choice([numbers, [signal.SIGKILL]])
    assert end_graph(ros_environment, chosen.uniform(0.5, SPAN), numbers) < 2.0 * LONGEST
