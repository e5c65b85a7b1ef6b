"""Execution of jobs in this process and in worker processes."""

import os

import pytest

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.executor import Lost, executor_of, in_order

PID, SLEEP = "__import__('os').getpid()", "__import__('time').sleep(600)"


def test_one_worker_is_this_process():
    with executor_of(1) as executor:
        assert executor.in_process and list(executor.as_completed(eval, [PID])) == [(0, os.getpid())]


def test_a_job_whose_process_dies_twice_is_lost_and_no_other(tmp_path):
    once = f"__import__('os').mkdir({str(tmp_path / 'made')!r}) or __import__('os')._exit(3)"
    again = f"{once} if not __import__('os').path.exists({str(tmp_path / 'made')!r}) else 5"
    with executor_of(2) as executor:
        found = dict(executor.as_completed(eval, ["1 + 1", "__import__('os')._exit(4)", again, PID, "3 * 3"]))
    assert [found[k] for k in (0, 2, 4)] == [2, 5, 9] and found[3] != os.getpid()
    assert isinstance(found[1], Lost) and "exit code 4" in found[1].why


def test_an_error_of_a_job_ends_the_others_and_says_where():
    with executor_of(2) as executor, pytest.raises(ZeroDivisionError) as caught:
        list(executor.as_completed(eval, [SLEEP, "1 / 0"]))
    assert "in a worker process" in caught.value.__notes__[0]


def test_results_are_put_in_order():
    assert list(in_order([(1, "b"), (0, "a"), (2, "c")])) == ["a", "b", "c"]


@pytest.mark.parametrize("address", ["nonsense", "ftp://here:1"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(MultiQpError, match=r"expected an address as tcp://host:8786, got"):
        executor_of(1, address)
