"""`multi-qp bench ros`: figures from known times, and one real run."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from multi_qp_cli.benches.ros import WARM_UP, evaluate

DT = 0.01
START = 1_700_000_000_000_000_000  # [ns]


def recorded(latencies, *, tick=0.002, robots=1):
    """Return the records of both nodes; the states after the warm-up are answered after these times [s], or never."""
    warm = round(WARM_UP / DT) + 1
    late = np.concatenate([np.full(warm, 0.001), latencies])
    stamps = START + np.round(np.arange(len(late)) * DT * 1e9)
    answered = ~np.isnan(late)
    stamps, late = stamps[answered], late[answered]
    answers = {
        "stamp": stamps,
        "sent": stamps + (late - 0.0005) * 1e9,
        "answer": np.full(len(late), tick + 0.001),
        "tick": np.full(len(late), tick),
        "prediction": np.full(len(late), 0.0005),
        "processor": 1.0 + 0.004 * np.arange(len(late)),
        "failed": (np.arange(len(late)) % 50 == 0) * 1.0,
    }
    inbox = {
        "stamp": np.repeat(stamps, robots),
        "received": np.repeat(stamps + late * 1e9, robots) - np.tile(np.arange(robots)[::-1] * 1e5, len(late)),
    }
    return inbox, answers


@pytest.mark.parametrize("robots", [1, 3])
def test_latency_rate_and_misses_are_those_of_the_records(robots):
    latencies = np.full(100, 0.005)
    latencies[10] = 0.013  # later than a period
    latencies[20] = np.nan  # never
    inbox, answers = recorded(latencies, robots=robots)
    published = evaluate("box", DT, inbox, answers, processor_time=1.0, stolen_time=0.1).as_dict()
    assert published["latency_ms"]["median"] == pytest.approx(5.0, abs=1e-3)
    assert published["latency_ms"]["max"] == pytest.approx(13.0, abs=1e-3)
    assert (published["periods"], published["missed"], published["answers"]) == (100, 2, 99)
    assert published["processor_ms"] == pytest.approx(4.0, abs=1e-6)
    assert published["fallbacks"] == 1
    assert published["stolen"] == pytest.approx(0.1 * published["cores"])
    assert published["rate_hz"] == pytest.approx(99.0)
    assert published["ros_share"] == pytest.approx(0.5, abs=1e-3)  # 2 ms of tick and 0.5 ms of prediction in 5 ms
    assert sum(published["median_ms"].values()) == pytest.approx(5.0, abs=1e-3)


@pytest.mark.slow
def test_it_measures_a_graph(ros_environment, tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "multi_qp_cli", "bench", "ros", "--scene", "box", "--duration", "4"]
    done = subprocess.run(
        [*command, "--json", str(file)], env=ros_environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    published = json.loads(file.read_text("utf-8"))["scenes"]["box"]
    assert published["answers"] > 0 and 0.0 < published["ros_share"] < 1.0
    assert published["stolen"] >= 0.0
    assert published["latency_ms"]["median"] <= published["latency_ms"]["p99"] <= published["latency_ms"]["max"]
