"""Tests of the supervision of node processes."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from multi_qp_cli.node_processes import free_domain, wait_for
from multi_qp_scene.errors import MultiQpError


@pytest.fixture
def process():
    made = []

    def start(status: int | None):
        code = "import time; time.sleep(100)" if status is None else f"raise SystemExit({status})"
        made.append(subprocess.Popen([sys.executable, "-I", "-c", code]))
        return made[-1]

    yield start
    for each in made:
        each.kill()
        each.wait()


def test_status_is_that_of_the_awaited_process(process):
    assert wait_for("controller", {"controller": process(3)}) == 3


def test_earlier_end_of_another_process_raises(process):
    with pytest.raises(MultiQpError, match="'simulator' ended with status 4"):
        wait_for("controller", {"controller": process(None), "simulator": process(4)})


def test_optional_process_ends_the_graph_only_on_failure(process):
    ended, failed = process(0), process(1)
    ended.wait()
    assert (
        wait_for("controller", {"controller": process(None)}, failing=({"a": ended, "b": failed}, {"a": 1, "b": 1}))
        == 1
    )


def test_domain_with_any_participant_is_not_free():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as third:
        domain = free_domain()
        third.bind(("127.0.0.1", 7400 + 250 * domain + 10 + 2 * 2))
        assert free_domain() != domain
