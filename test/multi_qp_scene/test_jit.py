import logging

import pytest

from multi_qp_scene import jit


@pytest.mark.skipif(not jit.COMPILED, reason="nothing is compiled here")
def test_the_first_kernel_that_is_compiled_is_told_of_and_no_other(caplog):
    jit.say_why_it_takes_long.cache_clear()
    once, again = jit._njit(lambda x: x + 1), jit._njit(lambda x: x + 2)  # without a cache
    with caplog.at_level(logging.INFO, logger="multi_qp_scene.jit"):
        assert (once(1), once(2), again(1)) == (2, 3, 3)
    assert [record.message for record in caplog.records] == [
        "compiling kernels for this machine; this takes some seconds, once"
    ]
