"""Fixtures and hooks of all tests."""

import os

# before numpy is imported: two threads for small matrices cost ten times the processor time of one
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started by a script with `&`: commands would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # only called by xdist
def pytest_xdist_make_scheduler(config, log):
    """Let one process run all of a file with a mere `pytest -n 2` too: on the graph, tests go on where others ended."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)
