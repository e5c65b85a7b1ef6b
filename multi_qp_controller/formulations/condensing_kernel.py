"""`condensed`, compiled: the same steps as `CondensedFormulation` takes in Python, and the free optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: What `condense` answers.
DONE, DEPENDENT = 0, 1


@compiled
def condense(
    M: Array,
    N: Array,
    J: Array,
    rhs: Array,
    held: Indices,
    loose: Indices,
    motors: Indices,
    tasks: Array,
    wanted: Array,
    root: Array,
    acceleration_cost: float,
    dependent: float,
    q0: Array,
    Z: Array,
    efforts: Array,
    efforts_0: Array,
    H: Array,
    g: Array,
) -> int:
    """Write q̈₀, Z, τ and w as functions of x, and the cost in x; return DONE or DEPENDENT.

    Args:
        M: (nv, nv).
        N: (nv,).
        J: no-slip rows and couplings, (m, nv).
        rhs: their right-hand side, (m,).
        held: joints without motor that contacts reach, (h,).
        loose: those that none reaches, (l,).
        motors: index in v of each motor, (na,).
        tasks: √w J of the tasks, (k, nv).
        wanted: √w b of the tasks, (k,).
        root: square roots of the costs of τ and w, (na + m,).
        acceleration_cost: w_a.
        dependent: least independent part of a row, relative to the largest.
        q0: to fill, (nv,).
        Z: to fill, (nv, nz).
        efforts: to fill, (na + m, n).
        efforts_0: to fill, (na + m,).
        H: to fill, (n, n).
        g: to fill, (n,).
    """
    m, nv = J.shape
    k, h, na, nz = m + len(loose), len(held), len(motors), Z.shape[1]
    # q̈ = q̈₀ + Z a: QR of the rows, the rest of the square left empty
    square = np.zeros((nv, nv))
    right = np.empty(k)
    for i in range(m):
        right[i] = rhs[i]
        for j in range(nv):
            square[j, i] = J[i, j]
    for i in range(len(loose)):
        right[m + i] = -N[loose[i]]
        for j in range(nv):
            square[j, m + i] = M[loose[i], j]
    Q, R = np.linalg.qr(square)
    if k and _dependent(R, k, dependent):
        return DEPENDENT
    _forward(R, k, right)
    for i in range(nv):
        q0[i] = 0.0
        for j in range(k):
            q0[i] += Q[i, j] * right[j]
        for j in range(nz):
            Z[i, j] = Q[i, k + j]
    MZ = np.dot(M, Z)
    force = np.dot(M, q0)
    for i in range(nv):
        force[i] += N[i]
    # w = w₀ + W a + Y b
    w = np.zeros((m, efforts.shape[1]))
    w0 = np.zeros(m)
    if h:
        square_w = np.zeros((m, m))
        for i in range(m):
            for j in range(h):
                square_w[i, j] = J[i, held[j]]
        P, S = np.linalg.qr(square_w)
        if _dependent(S, h, dependent):
            return DEPENDENT
        inverse = np.empty((m, h))
        column = np.empty(h)
        for i in range(m):  # rows of Q R⁻ᵀ
            for j in range(h - 1, -1, -1):
                column[j] = P[i, j]
            _backward(S, h, column)
            for j in range(h):
                inverse[i, j] = column[j]
        need = np.empty((h, nz))
        for i in range(h):
            for j in range(nz):
                need[i, j] = MZ[held[i], j]
        W = np.dot(inverse, need)
        for i in range(m):
            for j in range(nz):
                w[i, j] = W[i, j]
            for j in range(m - h):
                w[i, nz + j] = P[i, h + j]
            for j in range(h):
                w0[i] += inverse[i, j] * force[held[j]]
    else:
        for i in range(m):
            w[i, nz + i] = 1.0
    # τ = M_a q̈ + N_a − J_aᵀ w
    lever = np.empty((na, m))
    for i in range(na):
        for j in range(m):
            lever[i, j] = J[j, motors[i]]
    pushed = np.dot(lever, w)
    for i in range(na):
        efforts_0[i] = force[motors[i]]
        for j in range(m):
            efforts_0[i] -= lever[i, j] * w0[j]
        for j in range(nz):
            efforts[i, j] = MZ[motors[i], j] - pushed[i, j]
        for j in range(nz, efforts.shape[1]):
            efforts[i, j] = -pushed[i, j]
    for i in range(m):
        efforts_0[na + i] = w0[i]
        for j in range(efforts.shape[1]):
            efforts[na + i, j] = w[i, j]
    _cost(tasks, wanted, root, acceleration_cost, q0, Z, efforts, efforts_0, H, g)
    return DONE


@compiled
def _cost(
    tasks: Array,
    wanted: Array,
    root: Array,
    acceleration_cost: float,
    q0: Array,
    Z: Array,
    efforts: Array,
    efforts_0: Array,
    H: Array,
    g: Array,
) -> None:
    n, nz = len(g), Z.shape[1]
    stack = np.empty_like(efforts)
    level = np.empty(len(root))
    for i in range(len(root)):
        level[i] = root[i] * efforts_0[i]
        for j in range(n):
            stack[i, j] = root[i] * efforts[i, j]
    H[:, :] = np.dot(stack.T, stack)
    g[:] = np.dot(level, stack)
    if len(wanted):
        T = np.dot(tasks, Z)
        error = np.dot(tasks, q0) - wanted
        H[:nz, :nz] += np.dot(T.T, T)
        g[:nz] += np.dot(error, T)
    for i in range(nz):
        H[i, i] += acceleration_cost  # Z is orthonormal


@compiled
def write_rows(
    q0: Array,
    Z: Array,
    efforts: Array,
    efforts_0: Array,
    limited: Indices,
    lower: Array,
    upper: Array,
    torque_limits: Array,
    facets: Array,
    facet_starts: Indices,
    reaction_starts: Indices,
    D: Array,
    d: Array,
    C: Array,
    low: Array,
    high: Array,
) -> None:
    """Write the inequality rows: limits of q̈, of τ, facets of the cones, rows of D; what is left has no side.

    Args:
        q0: (nv,).
        Z: (nv, nz).
        efforts: (na + m, n).
        efforts_0: (na + m,).
        limited: entries of q̈ with bounds, (k,).
        lower: of q̈, (nv,).
        upper: of q̈, (nv,).
        torque_limits: (na,).
        facets: of all contacts, one under the other, (f, 6).
        facet_starts: where those of each contact begin, (c + 1,).
        reaction_starts: where the reactions of each contact begin, (c + 1,).
        D: (p, nv).
        d: (p,).
        C: to fill, (rows, n).
        low: to fill, (rows,).
        high: to fill, (rows,).
    """
    nz, n, na = Z.shape[1], C.shape[1], len(torque_limits)
    row = 0
    for i in limited:
        for j in range(nz):
            C[row, j] = Z[i, j]
        low[row] = lower[i] - q0[i]
        high[row] = upper[i] - q0[i]
        row += 1
    for i in range(na):
        for j in range(n):
            C[row, j] = efforts[i, j]
        low[row] = -torque_limits[i] - efforts_0[i]
        high[row] = torque_limits[i] - efforts_0[i]
        row += 1
    for c in range(len(facet_starts) - 1):
        first, count = na + reaction_starts[c], reaction_starts[c + 1] - reaction_starts[c]
        for f in range(facet_starts[c], facet_starts[c + 1]):
            low[row] = 0.0
            for j in range(n):
                C[row, j] = 0.0
            for i in range(count):
                share = facets[f, i]
                low[row] -= share * efforts_0[first + i]
                if share != 0.0:
                    for j in range(n):
                        C[row, j] += share * efforts[first + i, j]
            row += 1
    for p in range(len(d)):
        low[row] = d[p]
        for j in range(nz):
            C[row, j] = 0.0
        for i in range(len(q0)):
            share = D[p, i]
            if share != 0.0:
                low[row] -= share * q0[i]
                for j in range(nz):
                    C[row, j] += share * Z[i, j]
        row += 1
    for i in range(row, len(low)):
        low[i] = -np.inf


@compiled
def free_optimum(H: Array, g: Array, C: Array, low: Array, high: Array, tolerance: float, x: Array) -> bool:
    """Write the optimum without inequalities; return whether it satisfies them all. A NaN satisfies nothing.

    Raises:
        LinAlgError: when H is not positive definite.
    """
    n = len(g)
    L = np.linalg.cholesky(H)
    for i in range(n):
        x[i] = -g[i]
    for j in range(n):
        x[j] /= L[j, j]
        for i in range(j + 1, n):
            x[i] -= L[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= L[k, i] * x[k]
        x[i] = total / L[i, i]
    values = np.dot(C, x)
    for i in range(len(values)):
        slack = tolerance * (1.0 + min(abs(low[i]), abs(high[i]), 1e6))
        if not (values[i] >= low[i] - slack and values[i] <= high[i] + slack):
            return False
    return True


@compiled
def _dependent(R: Array, k: int, least: float) -> bool:
    longest, shortest = 0.0, np.inf
    for i in range(k):
        longest = max(longest, abs(R[i, i]))
        shortest = min(shortest, abs(R[i, i]))
    return not shortest > least * longest


@compiled
def _forward(R: Array, k: int, x: Array) -> None:
    """Solve Rᵀ y = x in place."""
    for i in range(k):
        for j in range(i):
            x[i] -= R[j, i] * x[j]
        x[i] /= R[i, i]


@compiled
def _backward(R: Array, k: int, x: Array) -> None:
    """Solve R y = x in place."""
    for i in range(k - 1, -1, -1):
        for j in range(i + 1, k):
            x[i] -= R[i, j] * x[j]
        x[i] /= R[i, i]
