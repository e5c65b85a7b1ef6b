"""Families of random quadratic programs with outcomes known by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multi_qp_controller.qp import QPProblem, SolverStatus
from multi_qp_scene.arrays import Array

Rng = np.random.Generator


@dataclass(frozen=True)
class Case:
    """Problem with its outcome.

    Attributes:
        problem: the problem.
        expected: the correct status.
        x: an optimum if there is one, (n,).
    """

    problem: QPProblem
    expected: SolverStatus
    x: Array | None = None


def case(index: int, seed: int = 0) -> tuple[str, Case]:
    """Return family and problem number `index`, cycling through the families; deterministic."""
    names = list(FAMILIES)
    name = names[index % len(names)]
    return name, FAMILIES[name](np.random.default_rng([seed, index]))


def _spd(rng: Rng, n: int, condition: float = 1e2, rank: int | None = None) -> Array:
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = np.geomspace(1.0, condition, n)
    if rank is not None:
        values[rank:] = 0.0
    H = (Q * values) @ Q.T
    return np.asarray(0.5 * (H + H.T))


def _built(
    rng: Rng, *, n: int, m: int = 0, p: int = 0, H: Array | None = None, rows: int = 0, bounds: int = 0,
    weak: bool = False, C: Array | None = None, bounded: bool = True,
) -> Case:  # fmt: skip
    """Return a problem with a chosen optimum at which `rows` rows and `bounds` bounds are active.

    The gradient follows from the optimality conditions with chosen multipliers.

    Args:
        rng: random numbers.
        n: number of variables.
        m: number of equality rows.
        p: number of inequality rows.
        H: Hessian, positive semidefinite; by default well conditioned.
        rows: active inequality rows.
        bounds: active bounds.
        weak: whether half of the active rows have a multiplier of 0.
        C: inequality rows, random by default.
        bounded: whether variables have bounds.
    """
    H = _spd(rng, n) if H is None else H
    x, A = rng.normal(size=n), rng.normal(size=(m, n))
    C = rng.normal(size=(p, n)) if C is None else C
    sides = []
    for value, active in ((C @ x, rows), (x, bounds)):
        low, high = value - rng.uniform(0.1, 2.0, len(value)), value + rng.uniform(0.1, 2.0, len(value))
        low[rng.uniform(size=len(value)) < 0.3], high[rng.uniform(size=len(value)) < 0.3] = -np.inf, np.inf
        chosen, z = rng.permutation(len(value))[:active], np.zeros(len(value))
        z[chosen] = rng.uniform(0.1, 5.0, len(chosen)) * rng.choice([-1.0, 1.0], len(chosen))
        low[chosen], high[chosen] = (
            np.where(z < 0, value, low)[chosen],
            np.where(z > 0, value, high)[chosen],
        )
        if weak:
            z[chosen[::2]] = 0.0
        sides.append((low, high, z))
    (l, u, z), (lb, ub, z_bounds) = sides  # noqa: E741
    if not bounded:
        lb, ub, z_bounds = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    g = -(H @ x + rng.normal(size=m) @ A + z @ C + z_bounds)
    return Case(QPProblem.of(H, g, A=A, b=A @ x, C=C, l=l, u=u, lb=lb, ub=ub), "solved", x)


def _sizes(rng: Rng) -> dict[str, Any]:
    n = int(rng.integers(2, 25))
    p = int(rng.integers(1, 2 * n))
    m = int(rng.integers(0, n // 2 + 1))
    rows = int(rng.integers(0, min(p, (n - m + 1) // 2) + 1))
    return {"n": n, "m": m, "p": p, "rows": rows, "bounds": int(rng.integers(0, (n - m) // 3 + 1))}


def _general(rng: Rng) -> Case:
    return _built(rng, **_sizes(rng))


def _rows_replaced(problem: QPProblem, C: Array, low: Array, high: Array) -> QPProblem:
    return replace(problem, C=C, l=low, u=high, relaxable_rows=np.zeros(len(C), dtype=bool))


def _row_added(problem: QPProblem, row: Array, low: float, high: float) -> QPProblem:
    C = np.vstack([problem.C, row])
    return _rows_replaced(problem, C, np.append(problem.l, low), np.append(problem.u, high))


def _powers_of_two(rng: Rng, count: int, decades: float) -> Array:
    """Return random powers of two, which scale without rounding."""
    return np.asarray(2.0 ** np.round(rng.uniform(-decades, decades, count) / np.log10(2.0)))


def _unconstrained(rng: Rng) -> Case:
    return _built(rng, n=int(rng.integers(1, 30)), bounded=False)


def _bounds(rng: Rng) -> Case:
    n = int(rng.integers(1, 30))
    return _built(rng, n=n, bounds=int(rng.integers(0, n + 1)))


def _equal_sides(rng: Rng) -> Case:
    """Rows with equal sides, in addition to equalities."""
    made = _general(rng)
    assert made.x is not None
    problem, value = made.problem, made.problem.C @ made.x
    equal = rng.permutation(problem.p)[: max(1, (problem.n - problem.m) // 3)]
    low, high = problem.l.copy(), problem.u.copy()
    low[equal] = high[equal] = value[equal]
    return replace(made, problem=_rows_replaced(problem, problem.C, low, high))


def _fixed_variables(rng: Rng) -> Case:
    made = _general(rng)
    assert made.x is not None
    lb, ub = made.problem.lb.copy(), made.problem.ub.copy()
    fixed = rng.permutation(made.problem.n)[: max(1, made.problem.n // 3)]
    lb[fixed] = ub[fixed] = made.x[fixed]
    return replace(made, problem=replace(made.problem, lb=lb, ub=ub))


def _nearly_equal_sides(rng: Rng) -> Case:
    """Rows whose sides differ by rounding errors."""
    made = _equal_sides(rng)
    problem = made.problem
    thin = problem.l == problem.u
    l, u = problem.l.copy(), problem.u.copy()  # noqa: E741
    gap = 1e-13 * rng.uniform(size=int(thin.sum())) * (1.0 + np.abs(u[thin]))
    l[thin] -= gap
    u[thin] += gap
    return replace(made, problem=replace(problem, l=l, u=u))


def _dependent_equalities(rng: Rng) -> Case:
    n = int(rng.integers(3, 25))
    made = _built(rng, n=n, m=max(1, n // 3), p=n, rows=n // 4, bounds=n // 5)
    problem = made.problem
    mixed = rng.normal(size=(int(rng.integers(1, 5)), problem.m))
    A, b = np.vstack([problem.A, mixed @ problem.A]), np.concatenate([problem.b, mixed @ problem.b])
    order = rng.permutation(len(b))
    return replace(made, problem=replace(problem, A=A[order], b=b[order]))


def _more_equalities_than_unknowns(rng: Rng) -> Case:
    n = int(rng.integers(2, 15))
    made = _built(rng, n=n, m=int(rng.integers(1, n + 1)), p=int(rng.integers(0, 5)))
    assert made.x is not None
    problem = made.problem
    A = np.vstack([problem.A, rng.normal(size=(n + int(rng.integers(1, 6)), problem.m)) @ problem.A])
    return replace(made, problem=replace(problem, A=A, b=A @ made.x))


def _repeated_rows(rng: Rng) -> Case:
    made = _general(rng)
    problem = made.problem
    twice = rng.integers(0, problem.p, size=problem.p + 2)
    factor = rng.choice([-2.0, -1.0, 1.0, 4.0], size=len(twice))
    low, high = factor * problem.l[twice], factor * problem.u[twice]
    C = np.vstack([problem.C, factor[:, None] * problem.C[twice]])
    low, high = np.minimum(low, high), np.maximum(low, high)
    both = np.concatenate([problem.l, low]), np.concatenate([problem.u, high])
    return replace(made, problem=_rows_replaced(problem, C, *both))


def _degenerate_vertex(rng: Rng) -> Case:
    n = int(rng.integers(2, 12))
    return _built(rng, n=n, p=4 * n, rows=3 * n, bounds=n // 2)


def _weakly_active(rng: Rng) -> Case:
    return _built(rng, **_sizes(rng), weak=True)


def _semidefinite(rng: Rng) -> Case:
    size = _sizes(rng)
    rank = int(rng.integers(1, size["n"]))
    return _built(rng, **size, H=_spd(rng, size["n"], rank=rank))


def _linear_program(rng: Rng) -> Case:
    n = int(rng.integers(2, 20))
    return _built(rng, n=n, m=n // 4, p=2 * n, H=np.zeros((n, n)), rows=n // 2, bounds=n // 2)


def _zero_rows(rng: Rng) -> Case:
    """Zero rows, columns and costs, satisfied by any x."""
    made = _general(rng)
    assert made.x is not None
    problem = made.problem
    n, m, p = problem.n, problem.m, problem.p
    big = _row_added(replace(problem, A=np.vstack([problem.A, np.zeros(n)]), b=np.append(problem.b, 0.0)),
                     np.zeros(n), -1.0, np.inf)  # fmt: skip
    H = np.zeros((n + 1, n + 1))
    H[:n, :n] = problem.H
    widened = QPProblem.of(
        H, np.append(problem.g, 0.0), A=np.hstack([big.A, np.zeros((m + 1, 1))]), b=big.b,
        C=np.hstack([big.C, np.zeros((p + 1, 1))]), l=big.l, u=big.u, lb=np.append(problem.lb, -1.0),
        ub=np.append(problem.ub, 1.0),
    )  # fmt: skip
    return Case(widened, "solved", np.append(made.x, 0.0))


def _ill_conditioned(rng: Rng) -> Case:
    size = _sizes(rng)
    return _built(rng, **size, H=_spd(rng, size["n"], 10.0 ** rng.uniform(6, 10)))


def _scaled_rows(rng: Rng) -> Case:
    made = _general(rng)
    q = made.problem
    a, c = _powers_of_two(rng, q.m, 6.0), _powers_of_two(rng, q.p, 6.0)
    scaled = replace(q, A=a[:, None] * q.A, b=a * q.b, C=c[:, None] * q.C, l=c * q.l, u=c * q.u)
    return replace(made, problem=scaled)


def _scaled_variables(rng: Rng) -> Case:
    made = _general(rng)
    assert made.x is not None
    q, s = made.problem, _powers_of_two(rng, made.problem.n, 4.0)
    scaled = replace(q, H=q.H * np.outer(s, s), g=s * q.g, A=q.A * s, C=q.C * s, lb=q.lb / s, ub=q.ub / s)
    return Case(scaled, "solved", made.x / s)


def _scaled_cost(rng: Rng) -> Case:
    made = _general(rng)
    factor = float(_powers_of_two(rng, 1, 9.0)[0])
    return replace(made, problem=replace(made.problem, H=factor * made.problem.H, g=factor * made.problem.g))


def _distant_sides(rng: Rng) -> Case:
    """Large finite sides that represent infinity."""
    made = _general(rng)
    q, far = made.problem, float(rng.choice([1e8, 1e15, 1e30]))
    finite = {name: np.clip(getattr(q, name), -far, far) for name in ("l", "u", "lb", "ub")}
    return replace(made, problem=replace(q, **finite))


def _penalties(rng: Rng) -> Case:
    """Relaxable rows with a large penalty weight."""
    made = _general(rng)
    assert made.x is not None
    problem = replace(made.problem, relaxable_rows=rng.uniform(size=made.problem.p) < 0.5)
    elastic = problem.with_slack(1e6)
    return Case(elastic, "solved", np.append(made.x, np.zeros(elastic.n - problem.n)))


def _flat_forces(rng: Rng) -> Case:
    """Forces at a point within friction pyramids, with a nearly flat cost."""
    k = int(rng.integers(1, 7))
    edges = np.array([[0.7, 0, 1], [-0.7, 0, 1], [0, 0.7, 1], [0, -0.7, 1]]).T
    n = 4 * k
    W = np.hstack([edges @ np.diag(rng.uniform(0.5, 1.5, 4)) for _ in range(k)])
    x = np.where(rng.uniform(size=n) < 0.3, 0.0, rng.uniform(10.0, 500.0, n))
    z = np.where(x == 0.0, -rng.uniform(1e-4, 1e-2, n), 0.0)
    H = 1e-5 * W.T @ W + 1e-8 * np.eye(n)
    g = -(H @ x + 1e-3 * rng.normal(size=3) @ W + z)
    return Case(QPProblem.of(H, g, A=W, b=W @ x, lb=np.zeros(n), ub=np.full(n, 2000.0)), "solved", x)


def _inconsistent_equalities(rng: Rng) -> Case:
    n = int(rng.integers(2, 20))
    problem = _built(rng, n=n, m=max(1, n // 2), p=n).problem
    mixed = rng.normal(size=problem.m)
    A, b = np.vstack([problem.A, mixed @ problem.A]), np.append(problem.b, mixed @ problem.b + rng.uniform(0.1, 10.0))
    return Case(replace(problem, A=A, b=b), "infeasible")


def _infeasible_by(rng: Rng, margin: float) -> Case:
    """Return a problem with a row that is infeasible by `margin` with a combination of others."""
    made = _general(rng)
    assert made.x is not None
    problem, n = made.problem, made.problem.n
    value = problem.C @ made.x
    high = np.where(np.isfinite(problem.u), problem.u, value + 0.5)
    weights = rng.uniform(0.1, 1.0, problem.p) * (rng.uniform(size=problem.p) < 0.5)
    weights[0] = 1.0
    weights /= weights.sum()
    y = rng.normal(size=problem.m)
    row, least = weights @ problem.C + y @ problem.A, float(weights @ high + y @ problem.b)
    length = float(np.linalg.norm(row))
    if length < 1e-3:  # degenerate combination
        row, least, length = np.eye(n)[0], float(high[0]), 1.0
    problem = replace(problem, u=high)
    return Case(_row_added(problem, row / length, least / length + margin, np.inf), "infeasible")


def _infeasible_inequalities(rng: Rng) -> Case:
    return _infeasible_by(rng, rng.uniform(0.5, 5.0))


def _marginally_infeasible(rng: Rng) -> Case:
    return _infeasible_by(rng, 1e-3)


def _crossing_bounds(rng: Rng) -> Case:
    problem = _general(rng).problem
    k = int(rng.integers(0, problem.n))
    ub = problem.ub.copy()
    ub[k] = (problem.lb[k] if np.isfinite(problem.lb[k]) else 0.0) - 0.1
    if rng.uniform() < 0.5:
        return Case(replace(problem, ub=ub, lb=np.where(np.arange(problem.n) == k, ub + 0.1, problem.lb)), "infeasible")
    lb = problem.lb.copy()
    lb[k] = -np.inf
    return Case(_row_added(replace(problem, ub=ub, lb=lb), np.eye(problem.n)[k], float(ub[k]) + 0.1, np.inf),
                "infeasible")  # fmt: skip


def _unbounded(rng: Rng) -> Case:
    """Direction of unbounded descent that no row limits."""
    n = int(rng.integers(2, 20))
    made = _built(rng, n=n, m=n // 4, p=n, rows=n // 4, bounds=0)
    assert made.x is not None
    q = made.problem
    d = rng.normal(size=n) * (rng.uniform(size=n) < 0.5)
    d[int(rng.integers(n))] = 1.0
    d /= np.linalg.norm(d)
    P = np.eye(n) - np.outer(d, d)
    root = P @ _spd(rng, n, rank=int(rng.integers(0, n))) @ P
    H, A = 0.5 * (root + root.T), q.A @ P
    C, g = q.C.copy(), rng.normal(size=n)
    g += (-rng.uniform(0.1, 5.0) - g @ d) * d
    along = C @ d
    value = C @ made.x
    low, high = np.where(along < 0, -np.inf, value - 1.0), np.where(along > 0, np.inf, value + 1.0)
    lb, ub = np.where(d < 0, -np.inf, made.x - 1.0), np.where(d > 0, np.inf, made.x + 1.0)
    return Case(QPProblem.of(H, g, A=A, b=A @ made.x, C=C, l=low, u=high, lb=lb, ub=ub), "unbounded")


def _not_convex(rng: Rng) -> Case:
    made = _general(rng)
    q = made.problem
    _, vectors = np.linalg.eigh(q.H)
    H = q.H - (float(vectors[:, 0] @ q.H @ vectors[:, 0]) + rng.uniform(0.1, 2.0)) * np.outer(vectors[:, 0],
                                                                                             vectors[:, 0])  # fmt: skip
    assert made.x is not None
    lb, ub = np.minimum(made.x - 1.0, q.lb.clip(-5.0)), np.maximum(made.x + 1.0, q.ub.clip(max=5.0))
    return Case(replace(q, H=0.5 * (H + H.T), lb=lb, ub=ub), "not_convex")


def _not_finite(rng: Rng) -> Case:
    made = _general(rng)
    problem = replace(made.problem)
    names = [name for name in ("H", "g", "A", "b", "C", "l", "u", "lb", "ub") if getattr(problem, name).size]
    name = str(rng.choice(names))
    array = getattr(problem, name).copy()
    bad = [np.nan] if name in ("l", "u", "lb", "ub") else [np.nan, np.inf, -np.inf]
    array.flat[int(rng.integers(array.size))] = rng.choice(bad)
    setattr(problem, name, array)
    return Case(problem, "not_finite")


FAMILIES: dict[str, Callable[[Rng], Case]] = {
    "unconstrained": _unconstrained,
    "bounds": _bounds,
    "general": _general,
    "equal sides": _equal_sides,
    "fixed variables": _fixed_variables,
    "nearly equal sides": _nearly_equal_sides,
    "dependent equalities": _dependent_equalities,
    "more equalities than unknowns": _more_equalities_than_unknowns,
    "repeated rows": _repeated_rows,
    "degenerate vertex": _degenerate_vertex,
    "weakly active": _weakly_active,
    "semidefinite": _semidefinite,
    "linear program": _linear_program,
    "zero rows and columns": _zero_rows,
    "ill-conditioned": _ill_conditioned,
    "scaled rows": _scaled_rows,
    "scaled variables": _scaled_variables,
    "scaled cost": _scaled_cost,
    "distant sides": _distant_sides,
    "penalties": _penalties,
    "flat forces": _flat_forces,
    "inconsistent equalities": _inconsistent_equalities,
    "infeasible inequalities": _infeasible_inequalities,
    "marginally infeasible": _marginally_infeasible,
    "crossing bounds": _crossing_bounds,
    "unbounded": _unbounded,
    "not convex": _not_convex,
    "not finite": _not_finite,
}
"""Functions that draw random problems, by name of the family."""


def cases(count: int, seed: int = 0) -> Iterator[tuple[str, Case]]:
    """Generate the first `count` problems, with the names of their families."""
    for index in range(count):
        yield case(index, seed)
