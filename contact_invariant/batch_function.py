"""CasADi functions evaluated at many points at once: a kernel runs each of their instructions for a block of points.

CasADi's virtual machine runs all instructions for one point after another, and takes six times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled

#: Number of points for which an instruction runs.
BLOCK = 32

_ADD, _SUB, _MUL, _DIV, _NEG = ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG
_SQ, _SQRT, _TWICE, _INV, _EXP = ca.OP_SQ, ca.OP_SQRT, ca.OP_TWICE, ca.OP_INV, ca.OP_EXP
_SIN, _COS, _ABS, _SIGN = ca.OP_SIN, ca.OP_COS, ca.OP_FABS, ca.OP_SIGN
_MIN, _MAX, _LE, _LT = ca.OP_FMIN, ca.OP_FMAX, ca.OP_LE, ca.OP_LT
_CONST, _INPUT, _OUTPUT = ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT
_KNOWN = {
    *(_ADD, _SUB, _MUL, _DIV, _NEG, _SQ, _SQRT, _TWICE, _INV, _EXP, _SIN, _COS, _ABS, _SIGN, _MIN, _MAX, _LE, _LT),
    *(_CONST, _INPUT, _OUTPUT),
}  # fmt: skip


class BatchFunction:
    """A function of CasADi's SX expressions, evaluated at a fixed number of points."""

    def __init__(self, function: Any, points: int) -> None:
        """Read the instructions.

        Args:
            function: with sparse or dense arguments and results.
            points: number of points.

        Raises:
            NotImplementedError: the function has an instruction that the kernel does not know.
        """
        inputs = [function.nnz_in(k) for k in range(function.n_in())]
        outputs = [function.nnz_out(k) for k in range(function.n_out())]
        self._points, self._ends = points, np.cumsum(outputs)
        self._code, self._constants = _instructions(function, [0, *accumulate(inputs)], [0, *accumulate(outputs)])
        self._arguments = np.zeros((sum(inputs), BLOCK))
        self._results = np.zeros((sum(outputs), BLOCK))
        self._work = np.zeros((function.sz_w() + 1, BLOCK))

    def __call__(self, *arguments: Array) -> list[Array]:
        """Return the nonzero entries of each result, (points, entries), for those of each argument."""
        found = np.empty((self._points, len(self._results)))
        for rows, results in self.blocks(*arguments):
            found[rows] = results.T[: rows.stop - rows.start]
        return np.split(found, self._ends[:-1], axis=1)

    def blocks(self, *arguments: Array) -> Iterator[tuple[slice, Array]]:
        """Yield for each block of points which they are, and the entries of all results, (entries, BLOCK).

        The next block overwrites the entries.
        """
        for first in range(0, self._points, BLOCK):
            rows = slice(first, min(first + BLOCK, self._points))
            np.concatenate([part[rows] for part in arguments], axis=1, out=self._arguments.T[: rows.stop - first])
            _run(self._code, self._constants, self._arguments, self._results, self._work)
            yield rows, self._results


def _instructions(function: Any, inputs: list[int], outputs: list[int]) -> tuple[NDArray[np.int32], Array]:
    """Return operation, result and two operands of each instruction, (n, 4), and the constants, (n,).

    Results and operands are places in the work vector, but for entries of all arguments and results of the function.
    No result has the place of an operand, so that the kernel's loops are vector instructions: it has a spare place, and
    that of the operand is spare from then on.
    """
    count, places, spare = function.n_instructions(), list(range(function.sz_w())), function.sz_w()
    constants, code = np.zeros(count), []
    operations = [function.instruction_id(k) for k in range(count)]
    if unknown := set(operations) - _KNOWN:
        names = sorted(name for name, value in vars(ca).items() if name.startswith("OP_") and value in unknown)
        raise NotImplementedError(f"the kernel has no branch for CasADi's {', '.join(names)}: add them to `_run`")
    for k, operation in enumerate(operations):
        result = function.instruction_output(k)
        if operation == _CONST:
            constants[k] = function.instruction_constant(k)
            code.append((operation, places[result[0]], 0, 0))
            continue
        operands = function.instruction_input(k)
        if operation == _INPUT:
            a = b = inputs[operands[0]] + operands[1]
        else:
            a, b = places[operands[0]], places[operands[-1]]
        if operation == _OUTPUT:
            code.append((operation, outputs[result[0]] + result[1], a, b))
            continue
        if places[result[0]] in (a, b) and operation != _INPUT:
            places[result[0]], spare = spare, places[result[0]]
        code.append((operation, places[result[0]], a, b))
    return np.array(code, dtype=np.int32), constants


@compiled
def _run(code: NDArray[np.int32], constants: Array, arguments: Array, results: Array, work: Array) -> None:
    """Run the instructions for a block of points.

    Args:
        code: of `_instructions`.
        constants: the same.
        arguments: (entries, BLOCK).
        results: the same, output.
        work: (places, BLOCK).
    """
    block = work.shape[1]  # a loop over a constant number would be unrolled, without vector instructions
    for k in range(len(code)):
        operation, result, a, b = code[k, 0], np.uintp(code[k, 1]), np.uintp(code[k, 2]), np.uintp(code[k, 3])
        if operation == _MUL:
            for j in range(block):
                work[result, j] = work[a, j] * work[b, j]
        elif operation == _ADD:
            for j in range(block):
                work[result, j] = work[a, j] + work[b, j]
        elif operation == _SUB:
            for j in range(block):
                work[result, j] = work[a, j] - work[b, j]
        elif operation == _DIV:
            for j in range(block):
                work[result, j] = work[a, j] / work[b, j]
        elif operation == _OUTPUT:
            for j in range(block):
                results[result, j] = work[a, j]
        elif operation == _INPUT:
            for j in range(block):
                work[result, j] = arguments[a, j]
        elif operation == _CONST:
            for j in range(block):
                work[result, j] = constants[k]
        elif operation == _SQ:
            for j in range(block):
                work[result, j] = work[a, j] * work[a, j]
        elif operation == _TWICE:
            for j in range(block):
                work[result, j] = 2.0 * work[a, j]
        elif operation == _LE:
            for j in range(block):
                work[result, j] = 1.0 if work[a, j] <= work[b, j] else 0.0
        elif operation == _LT:
            for j in range(block):
                work[result, j] = 1.0 if work[a, j] < work[b, j] else 0.0
        elif operation == _MAX:
            for j in range(block):
                work[result, j] = max(work[a, j], work[b, j])
        elif operation == _MIN:
            for j in range(block):
                work[result, j] = min(work[a, j], work[b, j])
        elif operation == _ABS:
            for j in range(block):
                work[result, j] = abs(work[a, j])
        elif operation == _SIGN:
            for j in range(block):
                work[result, j] = np.sign(work[a, j])
        elif operation == _NEG:
            for j in range(block):
                work[result, j] = -work[a, j]
        elif operation == _SQRT:
            for j in range(block):
                work[result, j] = math.sqrt(work[a, j])
        elif operation == _INV:
            for j in range(block):
                work[result, j] = 1.0 / work[a, j]
        elif operation == _EXP:
            for j in range(block):
                work[result, j] = math.exp(work[a, j])
        elif operation == _SIN:
            for j in range(block):
                work[result, j] = math.sin(work[a, j])
        else:  # `_COS`: `_instructions` refuses all others
            for j in range(block):
                work[result, j] = math.cos(work[a, j])
