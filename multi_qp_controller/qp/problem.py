"""A quadratic program as plain data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.labels import LabelBlock, Labels
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.npz_files import read_arrays

Steps = NDArray[np.integer] | NDArray[np.bool_]

_WHAT = "a QP problem of `QPProblem.save`"
#: Largest size of the arrays of a file [B].
_LARGEST_FILE = 500_000_000
_ARRAYS = ("H", "g", "A", "b", "C", "l", "u", "lb", "ub", "relaxable_rows", "relaxable_bounds")


def _no_steps() -> Steps:
    return np.zeros(0, dtype=np.int8)


@dataclass(slots=True)
class QPProblem:
    """min 1/2 x'Hx + g'x  subject to  A x = b,  l <= C x <= u,  lb <= x <= ub.

    Attributes:
        H: Hessian, symmetric positive (semi-)definite, (n, n).
        g: gradient at x = 0, (n,).
        A: equality rows, (m, n).
        b: right-hand side of the equalities, (m,).
        C: inequality rows, (p, n).
        l: lower side of the inequalities, (p,); -inf if absent.
        u: upper side of the inequalities, (p,); +inf if absent.
        lb: lower bounds of the variables, (n,); -inf if absent.
        ub: upper bounds of the variables, (n,); +inf if absent.
        labels: labels of variables and rows, shared between ticks.
        relaxable_rows: step of the relaxation from which each inequality row has slack; 0 or False: never, (p,).
        relaxable_bounds: the same of the bounds of each variable, (n,).

    Raises:
        ValueError: if the shapes are inconsistent.
    """

    H: Array
    g: Array
    A: Array
    b: Array
    C: Array
    l: Array  # noqa: E741  the letter that papers and solvers use
    u: Array
    lb: Array
    ub: Array
    labels: Labels = field(default_factory=Labels)
    relaxable_rows: Steps = field(default_factory=_no_steps)
    relaxable_bounds: Steps = field(default_factory=_no_steps)

    def __post_init__(self) -> None:
        """Check the shapes; fill in missing steps of the relaxation."""
        n, m, p = len(self.g), len(self.b), len(self.C)
        if not self.relaxable_rows.size:
            self.relaxable_rows = np.zeros(p, dtype=np.int8)
        if not self.relaxable_bounds.size:
            self.relaxable_bounds = np.zeros(n, dtype=np.int8)
        shapes = ((n, n), (n,), (m, n), (m,), (p, n), (p,), (p,), (n,), (n,), (p,), (n,))
        for name, shape in zip(_ARRAYS, shapes, strict=True):
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, expected {shape}")

    @classmethod
    def of(
        cls,
        H: Array,
        g: Array,
        *,
        A: Array | None = None,
        b: Array | None = None,
        C: Array | None = None,
        l: Array | None = None,  # noqa: E741
        u: Array | None = None,
        lb: Array | None = None,
        ub: Array | None = None,
        labels: Labels | None = None,
    ) -> QPProblem:
        """Return a problem in which missing parts are empty or infinite."""
        n = len(g)
        A = np.zeros((0, n)) if A is None else A
        C = np.zeros((0, n)) if C is None else C
        return cls(
            H=H,
            g=g,
            A=A,
            b=np.zeros(len(A)) if b is None else b,
            C=C,
            l=np.full(len(C), -np.inf) if l is None else l,
            u=np.full(len(C), np.inf) if u is None else u,
            lb=np.full(n, -np.inf) if lb is None else lb,
            ub=np.full(n, np.inf) if ub is None else ub,
            labels=labels or Labels(),
        )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.g.shape[0]

    @property
    def m(self) -> int:
        """Number of equality rows."""
        return self.b.shape[0]

    @property
    def p(self) -> int:
        """Number of inequality rows."""
        return self.l.shape[0]

    def objective(self, x: Array) -> float:
        """Return 1/2 x'Hx + g'x."""
        return float(0.5 * x @ (self.H @ x) + self.g @ x)

    def is_finite(self) -> bool:
        """Return whether the problem is valid: no NaN, infinities only where allowed, no crossing bounds."""
        # A sum is not finite as soon as one entry is not, and costs a tenth of np.isfinite(...).all().
        total = self.H.sum() + self.g.sum() + self.A.sum() + self.b.sum() + self.C.sum()
        return bool(np.isfinite(total)) and _ordered(self.l, self.u) and _ordered(self.lb, self.ub)

    def non_finite_arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the indices of the entries that are NaN, or infinite where that is not allowed, by array."""
        bad = {name: ~np.isfinite(getattr(self, name)) for name in ("H", "g", "A", "b", "C")}
        bad |= {name: np.isnan(getattr(self, name)) | np.isposinf(getattr(self, name)) for name in ("l", "lb")}
        bad |= {name: np.isnan(getattr(self, name)) | np.isneginf(getattr(self, name)) for name in ("u", "ub")}
        return {name: np.argwhere(mask) for name, mask in bad.items() if mask.any()}

    def with_slack(self, weight: float, *, linear: float | None = None, step: int = 1) -> QPProblem:
        """Return the elastic problem, in which violations of relaxable rows and bounds are penalised.

        Each of them gets one slack s >= 0: l - s <= c'x <= u + s, at a cost of 1/2 weight s^2 + linear s.
        The linear part makes the penalty exact: if the original problem is feasible and its multipliers
        of the relaxed rows are below `linear`, both problems have the same optimum. The first n variables
        remain x.

        Args:
            weight: penalty weight of the squared slack.
            linear: penalty weight of the slack; `weight` by default.
            step: step of the relaxation: rows of later steps have no slack.
        """
        from multi_qp_controller.qp.elastic import elastic_problem

        return elastic_problem(self, weight=weight, linear=weight if linear is None else linear, step=step)

    def save(self, path: str | Path) -> None:
        """Write the problem with its labels to an .npz file, for example for a test."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        np.savez_compressed(path, labels=np.array(json.dumps(asdict(self.labels))), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> QPProblem:
        """Read a problem from a file of `save`.

        Raises:
            MultiQpError: when the file cannot be read or is no such file.
        """
        arrays = read_arrays(Path(path), (*_ARRAYS, "labels"), what=_WHAT, largest=_LARGEST_FILE)
        try:
            groups = json.loads(str(arrays.pop("labels")))
            labels = Labels(**{key: tuple(_block(entry) for entry in group) for key, group in groups.items()})
            kinds = {name: bool if name.startswith("relaxable") else np.float64 for name in _ARRAYS}
            return cls(**{name: arrays[name].astype(kind) for name, kind in kinds.items()}, labels=labels)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            raise MultiQpError(f"'{path}' is not {_WHAT} ({type(error).__name__}: {error})") from None


def _block(entry: dict[str, object]) -> LabelBlock:
    rows = entry.pop("rows")
    return LabelBlock(rows=tuple(rows), **entry)  # type: ignore[arg-type]


def _ordered(low: Array, high: Array) -> bool:
    return bool((low <= high).all()) and bool((low < np.inf).all()) and bool((high > -np.inf).all())
