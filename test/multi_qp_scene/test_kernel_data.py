"""Kernel data: a kernel reads and writes arrays by name."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import pytest

from multi_qp_scene.jit import compiled
from multi_qp_scene.kernel_data import (
    ColumnMajor,
    FlagVector,
    IndexMatrix,
    IndexVector,
    KernelData,
    Matrix,
    Stack,
    Strided,
    Vector,
    fields_of,
    unpack,
)


class Every(NamedTuple):
    """A field of each type."""

    v: Vector
    m: Matrix
    f: ColumnMajor
    s: Strided
    c: Stack
    i: IndexVector
    t: IndexMatrix
    b: FlagVector
    n: int
    x: float


class One(NamedTuple):
    only: Vector


@compiled
def add_up(table, out):
    """Write sums that distinguish all entries, and change one."""
    d = unpack(table, Every)
    for row in range(2):
        for column in range(3):
            weight = 1.0 + 10.0 * row + column
            out[0] += weight * d.m[row, column]
            out[1] += weight * d.f[row, column]
            out[2] += weight * d.s[row, column]
            out[3] += weight * d.c[row, column, 1]
            out[4] += weight * d.t[row, column]
    for k in range(len(d.v)):
        out[5] += (k + 1) * d.v[k] * d.i[k]
        if d.b[k]:
            out[6] += k + 1
    out[7], out[8] = d.n, d.x
    d.f[1, 2] = d.v[len(d.v) - 1]


@compiled
def last_of(table, out):
    """Write the last entry of the only array."""
    out[0] = unpack(table, One).only[-1]


def every(**changes):
    rng = np.random.default_rng(3)
    fields = Every(
        v=rng.normal(size=4),
        m=rng.normal(size=(2, 3)),
        f=np.asfortranarray(rng.normal(size=(2, 3))),
        s=rng.normal(size=(4, 9))[::2, ::3],
        c=rng.normal(size=(2, 3, 2)),
        i=np.array([3, -1, 4, 1]),
        t=rng.integers(0, 9, (2, 3)),
        b=np.array([True, False, True, True]),
        n=-7,
        x=0.1,
    )
    return fields._replace(**changes)


def test_a_kernel_reads_fields_of_every_type_by_name_and_writes_into_them():
    fields, out = every(), np.zeros(9)
    data = KernelData(fields)
    weight = np.array([[1.0, 2.0, 3.0], [11.0, 12.0, 13.0]])
    sums = [(weight * a).sum() for a in (fields.m, fields.f, fields.s, fields.c[:, :, 1], fields.t)]
    add_up(data.table, out)
    np.testing.assert_allclose(out, [*sums, np.arange(1, 5) @ (fields.v * fields.i), 8.0, -7.0, 0.1], rtol=1e-14)
    assert fields.f[1, 2] == fields.v[3]


def test_a_copy_has_copies_of_the_arrays():
    array = np.ones(3)
    copied, data = copy.deepcopy([array, KernelData(One(array))])
    array[:], copied[:] = 5.0, 7.0
    out = np.zeros(1)
    last_of(data.table, out)
    assert out[0] == 7.0


@pytest.mark.parametrize(
    ("field", "entry"),
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
def test_an_array_that_a_kernel_would_misread_is_refused_by_name(field, entry):
    with pytest.raises(TypeError, match=rf"Every\.{field}: expected"):
        KernelData(every(**{field: entry}))


def test_a_field_without_a_type_of_kernel_data_is_refused_by_name():
    class Wrong(NamedTuple):
        words: str

    with pytest.raises(TypeError, match=r"Wrong\.words"):
        fields_of(Wrong)
