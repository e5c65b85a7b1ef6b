"""Functions evaluated at many points at once have CasADi's own values."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from contact_invariant.batch_function import BLOCK, BatchFunction


@pytest.mark.parametrize("points", [1, BLOCK - 1, BLOCK, 2 * BLOCK + 5])
def test_values_are_those_of_casadi(points: int) -> None:
    """Every operation that costs use, with several arguments and a sparse result."""
    x, w = ca.SX.sym("x", 4), ca.SX.sym("w", 3)
    r = ca.vertcat(
        *(w[0] * x[0] + x[1] / w[1] - x[2] ** 2, -x[3], 2 * x[0], ca.sqrt(ca.sumsqr(x) + 1), 1 / (1 + ca.exp(-x[1]))),
        *(ca.sin(x[2]) * ca.cos(x[3]), ca.fabs(x[0]), ca.sign(x[1]), ca.fmin(x[0], x[1]), ca.fmax(w[2], x[3])),
        *(x[0] <= x[1], x[2] < x[3], 0.25),
    )
    J = ca.jacobian(r, x)
    function = ca.Function("f", [x, w], [r, ca.tril(J.T @ J), J])
    rng = np.random.default_rng(0)
    at, weights = rng.normal(size=(points, 4)), rng.uniform(0.5, 2.0, size=(points, 3))
    found = BatchFunction(function, points)(at, weights)
    for k in range(points):
        expected = function(at[k], weights[k])
        for values, value in zip(found, expected, strict=True):
            np.testing.assert_array_equal(values[k], value.nonzeros())


def test_an_operation_that_the_kernel_does_not_know_is_refused() -> None:
    """At the beginning, not as a wrong value."""
    x = ca.SX.sym("x")
    with pytest.raises(NotImplementedError, match="OP_ATAN2"):
        BatchFunction(ca.Function("f", [x], [ca.atan2(x, 2)]), 3)
