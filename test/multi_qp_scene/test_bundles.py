"""Bundles: a kernel finds in them what was put in, where it is."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from multi_qp_scene.bundles import ARRAYS, FLOAT, INTEGER, Bundle, unbundled
from multi_qp_scene.jit import COMPILED, compiled

ALL_KINDS = "vmfscitbnx"


@compiled
def add_up(bundle, out):
    """Write a sum that tells every entry from every other, and change one."""
    v, m, f, s, c, i, t, b, n, x = unbundled(bundle, ALL_KINDS)
    for row in range(2):
        for column in range(3):
            weight = 1.0 + 10.0 * row + column
            out[0] += weight * m[row, column]
            out[1] += weight * f[row, column]
            out[2] += weight * s[row, column]
            out[3] += weight * c[row, column, 1]
            out[4] += weight * t[row, column]
    for k in range(len(v)):
        out[5] += (k + 1) * v[k] * i[k]
        if b[k]:
            out[6] += k + 1
    out[7], out[8] = n, x
    f[1, 2] = v[len(v) - 1]


@compiled
def last_of(bundle, out):
    """Write the last entry of the one array that is given."""
    (only,) = unbundled(bundle, "v")
    out[0] = only[-1]


def test_a_kernel_finds_arrays_of_every_kind_and_numbers_and_writes_where_they_are():
    assert set(ALL_KINDS) == {*ARRAYS, INTEGER, FLOAT}
    rng = np.random.default_rng(3)
    v, m, f = rng.normal(size=4), rng.normal(size=(2, 3)), np.asfortranarray(rng.normal(size=(2, 3)))
    s, c = rng.normal(size=(4, 9))[::2, ::3], rng.normal(size=(2, 3, 2))
    i, t, b = np.array([3, -1, 4, 1]), rng.integers(0, 9, (2, 3)), np.array([True, False, True, True])
    given, out = Bundle(ALL_KINDS, v, m, f, s, c, i, t, b, -7, 0.1), np.zeros(9)
    weight = np.array([[1.0, 2.0, 3.0], [11.0, 12.0, 13.0]])
    expected = [*((weight * a).sum() for a in (m, f, s, c[:, :, 1], t)), np.arange(1, 5) @ (v * i), 8.0, -7.0, 0.1]
    add_up(given.table, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    assert f[1, 2] == v[3]


def test_a_copy_has_the_copies_of_the_arrays():
    array = np.ones(3)
    copied, bundle = copy.deepcopy([array, Bundle("v", array)])
    array[:], copied[:] = 5.0, 7.0
    out = np.zeros(1)
    last_of(bundle.table, out)
    assert out[0] == 7.0


@pytest.mark.skipif(not COMPILED, reason="nothing is read by address")
@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("v", np.zeros((2, 2))),
        ("v", np.zeros(4)[::2]),
        ("v", np.zeros(4, dtype=np.float32)),
        ("m", np.zeros((3, 2)).T),
        ("f", np.zeros((3, 2))),
        ("i", np.zeros(3)),
        ("t", np.zeros((2, 2), dtype=np.int32)),
        ("b", np.zeros(3, dtype=np.int8)),
    ],
)
def test_what_a_kernel_would_read_as_something_else_is_refused(kind, entry):
    with pytest.raises(TypeError, match=f"kind '{kind}'"):
        Bundle(kind, entry)


@pytest.mark.skipif(not COMPILED, reason="nothing is read by address")
def test_as_many_entries_are_wanted_as_there_are_kinds():
    with pytest.raises(ValueError, match="zip"):
        Bundle("vv", np.zeros(2))
