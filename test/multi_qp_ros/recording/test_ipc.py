"""Packing of data for another process: contents, and data that were sent before."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_ros.recording.ipc import SHARED, Packer, Unpacker


def same(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("count", [3, 2 * SHARED + 5])
def test_messages_come_out_as_they_went_in(count):
    rng, packer, unpacker = np.random.default_rng(0), Packer(), Unpacker()
    kept = {"made": rng.standard_normal((4, 4)), "where": rng.standard_normal(3), "none": None}
    for k in range(count):
        message = {
            "kept": kept,
            "new": rng.standard_normal(7),
            "special": np.array([np.nan, -np.nan, -0.0, np.inf, 5e-324]),
            "turned": np.asfortranarray(rng.standard_normal((3, 2))),
            "every second": rng.standard_normal(8)[::2],
            "counts": np.arange(k % 5),
            "flags": np.array([True, False]),
            "name": f"tick {k}",
        }
        if k == 1:
            packer.reset()
        assert same(unpacker.unpack(packer.pack(message)), message)


def test_unchanged_data_are_sent_once_until_the_packer_is_reset():
    packer, kept = Packer(), np.zeros(1000)
    sizes = [len(packer.pack({"kept": kept, "tick": k})) for k in range(SHARED + 1)]
    assert sizes[0] > 8000 and max(sizes[1:SHARED]) < 100 and sizes[SHARED] == sizes[0]
