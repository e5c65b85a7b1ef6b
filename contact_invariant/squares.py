"""JᵀJ and Jᵀr of residuals at many instants: CasADi evaluates residuals and J, a kernel the sums of their products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_invariant.batch_function import BatchFunction
from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled

#: Number of sums that are computed before they are written, by point.
TILE = 64


@dataclass(frozen=True)
class Squares:
    """JᵀJ and Jᵀr of m instants, by q motion variables and l local ones.

    Attributes:
        cost: half the sum of squares.
        H: entries of JᵀJ of motion variables, (m, h).
        b: Jᵀr of motion variables, (m, q).
        mixed: JᵀJ of the e motion variables of `SquaresOfJacobian.depending` and local ones, then Jᵀr of local ones,
            (m, e + 1, l).
        D: lower triangle of JᵀJ of local variables, (m, l, l).
    """

    cost: float
    H: Array
    b: Array
    mixed: Array
    D: Array


class SquaresOfJacobian:
    """Function of variables and weights that returns JᵀJ and Jᵀr of residuals, of which most depend on few variables.

    Attributes:
        pairs: motion variables of each entry `Squares.H`, (2, h), the first at or after the second.
        depending: motion variables on which residuals with local variables depend, (e,).
    """

    def __init__(self, symbols: tuple[Any, Any, Any], local: int, points: int) -> None:
        """Build the function.

        Args:
            symbols: variables, of which the last ones are local, weights, residuals.
            local: number of local variables.
            points: number of instants.
        """
        y, weight, r = symbols
        J, q = ca.jacobian(r, y), y.numel() - local
        rows = ca.horzcat(J[:, :q], ca.densify(r), J[:, q:]).T  # row by row: results of instructions are used soon
        self._function, self._points = BatchFunction(ca.Function("rows", [y, weight], [rows]), points), points
        first, second, left, right = _products(rows.sparsity())
        columns = y.numel() + 1  # motion variables, residual, local variables
        sums, which = np.unique(first * columns + second, return_inverse=True)
        order = np.argsort(which, kind="stable")
        self._left, self._right, self._ends = left[order], right[order], np.cumsum(np.bincount(which))
        first, second = sums // columns, sums % columns
        motion, mixed, own = first < q, (first > q) & (second <= q), first - q - 1
        depending = np.unique(second[mixed])
        self.pairs, self.depending = np.stack([first, second])[:, motion], depending[:-1]
        self._blocks = [  # sums, their places in a block, and its shape
            ((first == q) & (second == q), 0 * first, (1,)),
            ((first == q) & (second < q), second, (q,)),
            (mixed, np.searchsorted(depending, second) * local + own, (len(depending), local)),
            (second > q, own * local + second - q - 1, (local, local)),
            (motion, np.cumsum(motion) - 1, (self.pairs.shape[1],)),
        ]
        self._places, self._size = np.zeros(len(sums), dtype=np.intp), 0
        for of_block, place, shape in self._blocks:
            self._places[of_block] = self._size + place[of_block]
            self._size += math.prod(shape)

    def __call__(self, y: Array, weights: Array) -> Squares:
        """Return JᵀJ and Jᵀr for variables and weights of each instant."""
        found, parts, begin = np.zeros((self._points, self._size)), [], 0
        for rows, entries in self._function.blocks(y, weights):
            _sums_of_products(entries, self._left, self._right, self._ends, self._places, found[rows])
        for _, _, shape in self._blocks:
            end = begin + math.prod(shape)
            parts.append(found[:, begin:end].reshape(self._points, *shape))
            begin = end
        squares, b, mixed, D, H = parts
        return Squares(0.5 * float(squares.sum()), H, b, mixed, D)


def _products(rows: Any) -> tuple[Indices, Indices, Indices, Indices]:
    """Return all products of two entries of the same row: the larger and the smaller column, and which entries."""
    columns, ends = np.array(rows.row()), rows.colind()
    lower = [np.add(np.tril_indices(end - begin), begin) for begin, end in zip(ends, ends[1:], strict=False)]
    left, right = np.hstack(lower)
    return columns[left], columns[right], left, right


@compiled
def _sums_of_products(
    entries: Array, left: Indices, right: Indices, ends: Indices, places: Indices, found: Array
) -> None:
    """Write sums of products of entries, (entries, BLOCK), to places of the results, (points, size).

    Args:
        entries: factors.
        left: index of the first factor of each product.
        right: of the second one.
        ends: index of the product after the last one of each sum.
        places: of each sum.
        found: results.
    """
    count = entries.shape[1]
    sums, begin = np.empty((TILE, count)), 0
    for low in range(0, len(ends), TILE):
        high = min(low + TILE, len(ends))
        sums[:] = 0.0
        for k in range(low, high):
            for product in range(begin, ends[k]):
                a, b = left[product], right[product]
                for j in range(count):
                    sums[k - low, j] += entries[a, j] * entries[b, j]
            begin = ends[k]
        for j in range(len(found)):
            for k in range(low, high):
                found[j, places[k]] = sums[k - low, j]
