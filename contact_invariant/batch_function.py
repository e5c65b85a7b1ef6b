"""CasADi functions evaluated at many points at once: a kernel runs each of their instructions for a block of points.

CasADi's virtual machine runs all instructions for one point after another, and takes six times as long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices
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
        self._points, rows = points, BLOCK * -(-points // BLOCK)
        self._code, self._constants = _instructions(function, np.cumsum([0, *inputs]), np.cumsum([0, *outputs]))
        self._ends = np.cumsum(outputs)
        self._arguments = np.zeros((rows, sum(inputs)))
        self._results = np.zeros((rows, sum(outputs)))
        self._work = np.zeros((function.sz_w(), BLOCK))

    def __call__(self, *arguments: Array) -> list[Array]:
        """Return the nonzero entries of each result, (points, entries), for those of each argument."""
        np.concatenate(arguments, axis=1, out=self._arguments[: self._points])
        _run(self._code, self._constants, self._arguments, self._results, self._work)
        return [part.copy() for part in np.split(self._results[: self._points], self._ends[:-1], axis=1)]


def _instructions(function: Any, inputs: Indices, outputs: Indices) -> tuple[NDArray[np.int32], Array]:
    """Return operation, result and two operands of each instruction, (n, 4), and the constants, (n,).

    Results and operands are places in the work vector, but for entries of all arguments and results of the function.
    """
    count = function.n_instructions()
    constants, code = np.zeros(count), np.zeros((count, 4), dtype=np.int32)
    operations = [function.instruction_id(k) for k in range(count)]
    if unknown := set(operations) - _KNOWN:
        names = sorted(name for name, value in vars(ca).items() if name.startswith("OP_") and value in unknown)
        raise NotImplementedError(f"the kernel has no branch for CasADi's {', '.join(names)}: add them to `_run`")
    for k, operation in enumerate(operations):
        if operation == _CONST:
            code[k, :2], constants[k] = (operation, function.instruction_output(k)[0]), function.instruction_constant(k)
            continue
        result, operands = function.instruction_output(k), function.instruction_input(k)
        if operation == _INPUT:
            operands = [inputs[operands[0]] + operands[1]]
        elif operation == _OUTPUT:
            result = [outputs[result[0]] + result[1]]
        code[k] = operation, result[0], operands[0], operands[-1]
    return code, constants


@compiled
def _run(code: NDArray[np.int32], constants: Array, arguments: Array, results: Array, work: Array) -> None:
    """Run the instructions for each block of points.

    Args:
        code: of `_instructions`.
        constants: the same.
        arguments: of each point, (points, entries); the number of points is a multiple of `BLOCK`.
        results: the same, output.
        work: (places, BLOCK).
    """
    for first in range(0, len(arguments), BLOCK):
        for k in range(len(code)):
            operation, result, a, b = code[k, 0], code[k, 1], code[k, 2], code[k, 3]
            if operation == _MUL:
                for j in range(BLOCK):
                    work[result, j] = work[a, j] * work[b, j]
            elif operation == _ADD:
                for j in range(BLOCK):
                    work[result, j] = work[a, j] + work[b, j]
            elif operation == _SUB:
                for j in range(BLOCK):
                    work[result, j] = work[a, j] - work[b, j]
            elif operation == _DIV:
                for j in range(BLOCK):
                    work[result, j] = work[a, j] / work[b, j]
            elif operation == _OUTPUT:
                for j in range(BLOCK):
                    results[first + j, result] = work[a, j]
            elif operation == _INPUT:
                for j in range(BLOCK):
                    work[result, j] = arguments[first + j, a]
            elif operation == _CONST:
                for j in range(BLOCK):
                    work[result, j] = constants[k]
            elif operation == _SQ:
                for j in range(BLOCK):
                    work[result, j] = work[a, j] * work[a, j]
            elif operation == _TWICE:
                for j in range(BLOCK):
                    work[result, j] = 2.0 * work[a, j]
            elif operation == _LE:
                for j in range(BLOCK):
                    work[result, j] = 1.0 if work[a, j] <= work[b, j] else 0.0
            elif operation == _LT:
                for j in range(BLOCK):
                    work[result, j] = 1.0 if work[a, j] < work[b, j] else 0.0
            elif operation == _MAX:
                for j in range(BLOCK):
                    work[result, j] = max(work[a, j], work[b, j])
            elif operation == _MIN:
                for j in range(BLOCK):
                    work[result, j] = min(work[a, j], work[b, j])
            elif operation == _ABS:
                for j in range(BLOCK):
                    work[result, j] = abs(work[a, j])
            elif operation == _SIGN:
                for j in range(BLOCK):
                    work[result, j] = np.sign(work[a, j])
            elif operation == _NEG:
                for j in range(BLOCK):
                    work[result, j] = -work[a, j]
            elif operation == _SQRT:
                for j in range(BLOCK):
                    work[result, j] = math.sqrt(work[a, j])
            elif operation == _INV:
                for j in range(BLOCK):
                    work[result, j] = 1.0 / work[a, j]
            elif operation == _EXP:
                for j in range(BLOCK):
                    work[result, j] = math.exp(work[a, j])
            elif operation == _SIN:
                for j in range(BLOCK):
                    work[result, j] = math.sin(work[a, j])
            else:  # `_COS`: `_instructions` refuses all others
                for j in range(BLOCK):
                    work[result, j] = math.cos(work[a, j])
