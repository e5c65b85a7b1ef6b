"""A run on a real graph, recorded by the controller's node, can be replayed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy")

from multi_qp_simulator.bags import Bag, Replay
from multi_qp_simulator.bags.replay import same_bits


def test_a_run_of_the_graph_is_recorded(ros_environment, tmp_path) -> None:
    path = tmp_path / "run.mcap"
    arguments = ["ros", "box", "--headless", "--dt", "0.02", "--duration", "1.6", "--record", str(path)]
    # beside the graphs of the other tests
    environment = {**ros_environment, "ROS_DOMAIN_ID": str(1 + (os.getpid() + 50) % 100)}
    done = subprocess.run(
        [sys.executable, "-m", "multi_qp_cli", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr  # the goals of the whole scenario are not reached in so short a time
    with Bag(path) as bag:
        assert bag.complete
        times = [head.time for head in bag.heads()]
        assert len(times) == 80
        replay = Replay(bag, 0)
        for time in times[::10]:
            tick = bag.tick(time)
            assert same_bits(tick, replay.answer(tick).command)
