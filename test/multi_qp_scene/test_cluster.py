"""Execution of jobs on the workers of a Dask cluster."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import distributed
import pytest

from multi_qp_cli.main import BAD_INPUT, SUCCESS, main
from multi_qp_scene import cluster
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.executor import executor_of


def worker(threads=1):
    return SimpleNamespace(address="tcp://there:1", state=SimpleNamespace(nthreads=threads))


def test_a_scheduler_that_does_not_answer_is_bad_input(monkeypatch, capsys):
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    assert main(["robustness", "stand", "--runs", "2", "--cluster", "tcp://127.0.0.1:1"]) == BAD_INPUT
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in capsys.readouterr().err


def test_other_code_and_several_threads_are_refused():
    state = cluster.state_of_code()
    cluster.require_same(state, worker())
    other = {**state, "numpy": "1.0", "multi_qp_controller": "0123"}
    with pytest.raises(MultiQpError, match=r"tcp://there:1 has numpy [0-9.]+ instead of 1.0, multi_qp_controller "):
        cluster.require_same(other, worker())
    with pytest.raises(MultiQpError, match="has 4 threads; expected one"):
        cluster.require_same(state, worker(threads=4))


def dask(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return the address of a scheduler with two workers."""
    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    scheduler = dask("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    options = ("--nthreads", "1", "--nworkers", "2", "--no-dashboard", "--local-directory", str(file.parent))
    workers = dask("worker", "--scheduler-file", str(file), *options)
    try:
        while not file.exists() and scheduler.poll() is None:
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), timeout=30) as client:
            client.wait_for_workers(2, timeout=60)
            found = client.scheduler.address
        yield found
    finally:
        for process in (workers, scheduler):
            process.terminate()
            process.wait()


@pytest.mark.slow
def test_runs_are_executed_by_two_workers(address, capsys):
    with executor_of(1, address) as executor:
        pids = {
            pid
            for _, pid in executor.as_completed(eval, ["__import__('time').sleep(1) or __import__('os').getpid()"] * 4)
        }
    assert len(pids) == 2 and os.getpid() not in pids
    command = ["robustness", "stand", "--set", "stand.duration=1.5", "--runs", "2", "--cluster", address]
    assert main(command) == SUCCESS
    assert "2 of 2" in capsys.readouterr().out


@pytest.mark.slow
def test_a_job_whose_worker_dies_is_repeated(address, tmp_path):
    made = str(tmp_path / "made")
    job = f"__import__('os').path.exists({made!r}) or __import__('os').mkdir({made!r}) or __import__('os')._exit(3)"
    with executor_of(1, address) as executor:
        assert dict(executor.as_completed(eval, ["1 + 1", job, "2 + 2"])) == {0: 2, 1: True, 2: 4}


@pytest.mark.slow
def test_an_interrupt_ends_jobs_on_workers(address, tmp_path):
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    first, last = (f"__import__('os').mkdir({str(path)!r})" for path in (begun, ended))
    code = f"""
from multi_qp_scene.executor import executor_of
with executor_of(1, {address!r}) as executor:
    list(executor.as_completed(eval, [{f"{first} or __import__('time').sleep(6) or {last}"!r}]))
"""
    client = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not begun.exists() and client.poll() is None:
        time.sleep(0.1)
    client.send_signal(signal.SIGINT)
    assert client.wait(30) != 0 and begun.exists()
    time.sleep(7.0)
    assert not ended.exists()


@pytest.mark.slow
def test_a_cluster_that_ends_ends_the_run(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "ABSENCE", 1.0)
    with distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None) as there:
        with (
            executor_of(1, there.scheduler_address) as executor,
            pytest.raises(MultiQpError, match="1 jobs are not done"),
        ):
            for _ in executor.as_completed(eval, ["1", "__import__('time').sleep(600)"]):
                there.scale(0)
