"""Formulation `condensed`: all equalities eliminated, forces as wrenches inside the facets of their cones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqrf, dorgqr, dtrtrs

from multi_qp_controller.contacts.rows import COUPLING_FORCE_COST
from multi_qp_controller.qp.condensed import BlockSolver
from multi_qp_controller.qp.formulations.base import DegenerateError, Formulation
from multi_qp_controller.qp.labels import LabelBlock, Labels
from multi_qp_controller.qp.physical_solution import PhysicalSolution, Solved
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.solution import Solution
from multi_qp_scene.jit import COMPILED

Array = NDArray[np.float64]

#: Relative length of the independent part below which rows count as linearly dependent.
_DEPENDENT = 1e-9


class CondensedFormulation(Formulation):
    """x = (a, b) with q̈ = q̈₀ + Z a and reactions w = w₀ + W a + Y b, which satisfy every equality for any x.

    Z spans the null space of the no-slip rows J and of the dynamics of unactuated joints that no contact reaches; Y
    that of J_uᵀ, u the unactuated joints that contacts reach: their dynamics M_u q̈ + N_u = J_uᵀ w give w₀ and W. Both
    come from QR factorisations with orthonormal bases, so errors are not amplified. Then τ = M_a q̈ + N_a − J_aᵀ w.

    Inequalities: limits of q̈, torque limits, facets F w >= 0 of each contact's wrench cone, rows of D, padded to
    their largest number, so that the index of a row is the same at all ticks.
    """

    name = "condensed"

    def __init__(self, qp_data: QPData) -> None:
        super().__init__(qp_data)
        self.blocks = BlockSolver(qp_data)

    def limit_time(self) -> None:
        """Limit the time of the active-set search."""
        self.blocks.limit_time()

    def prepare(self) -> None:
        """Reset for the present contacts; `build` allocates its arrays when it is called."""
        self.blocks.prepare()
        self._is_allocated = False

    def _allocate(self) -> None:
        """Allocate for the contacts, and write all constant entries."""
        s = self.qp_data
        self._is_allocated = True
        contacts, nv, na = s.contacts, s.scene.nv, s.scene.na
        reached = _reached(s)
        self._constrained = s.unactuated[reached[s.unactuated]]
        self._free = s.unactuated[~reached[s.unactuated]]
        m = len(contacts.rhs)
        self._nz, self._m = nv - m - len(self._free), m
        self._n = n = self._nz + m - len(self._constrained)
        if self._nz < 0 or m < len(self._constrained):
            self._n = n = max(0, n)  # more rows than unknowns: `build` raises
        facets = [c.F for c in contacts.contacts]
        limited = np.flatnonzero(s.limited)
        self._limited = limited
        rows = s.largest_row_count
        counts = np.cumsum([0, len(limited), na, *map(len, facets), rows])
        self._C = np.zeros((counts[-1], n))
        self._l = np.full(counts[-1], -np.inf)
        self._u = np.full(counts[-1], np.inf)
        self._torque_rows = slice(counts[1], counts[2])
        self._facets = [
            (F, where, slice(a, b))
            for F, where, a, b in zip(facets, contacts.row_slices, counts[2:], counts[3:-1], strict=False)
        ]
        self._damper_start = int(counts[-2])
        self._relaxable = np.zeros(counts[-1], dtype=bool)
        self._relaxable[: counts[1]] = True
        # square roots of the costs of (τ, w), and where each is in the stack
        cost = s.cost
        weights = [np.full(na, cost.torque)]
        weights += [contacts.wrench_costs()]
        weights += [np.full(len(contacts.couplings), COUPLING_FORCE_COST)]
        self._root = np.sqrt(np.concatenate(weights))
        self._revision = contacts.revision
        self._efforts = np.zeros((na + m, n))  # of x: τ, then w
        self._stack = np.zeros((na + m, n))
        self._H = np.zeros((n, n))
        self._g = np.zeros(n)
        self._q0 = np.zeros(nv)
        self._Z = np.zeros((nv, max(0, self._nz)))
        self._MZ = np.zeros_like(self._Z)
        self._M_blocks = [subsystem.v_slice for subsystem in s.scene.subsystems.values()]
        self._efforts_0 = np.zeros(na + m)
        self._task_rows = np.empty((0, nv))
        self._A = np.zeros((m + len(self._free), nv))
        self._rhs = np.zeros(m + len(self._free))
        self._no_A, self._no_b = np.zeros((0, n)), np.zeros(0)
        self._no_bound = np.full(n, np.inf)
        names = s.scene.velocity_names
        self._variables = (LabelBlock("coordinate", "1", tuple(map(str, range(n))), limit="limit of coordinate"),)
        self._labels = (
            LabelBlock("joint limit", "m/s² or rad/s²", tuple(names[k] for k in limited)),
            LabelBlock("torque limit", "N m", s.scene.actuated_joint_names),
            *(
                LabelBlock(f"friction cone {c.name}", "N or N m", tuple(f"facet {k}" for k in range(len(F))))
                for c, F in zip(contacts.contacts, facets, strict=True)
            ),
        )

    def build(self) -> QPProblem:
        """Write the QP of this tick.

        Raises:
            DegenerateError: if rows to eliminate are linearly dependent.
        """
        self._write()
        s = self.qp_data
        spare = LabelBlock("spare row", "m/s²", tuple(map(str, range(s.largest_row_count - s.row_count))))
        return QPProblem(
            H=self._H,
            g=self._g,
            A=self._no_A,
            b=self._no_b,
            C=self._C,
            l=self._l,
            u=self._u,
            lb=-self._no_bound,
            ub=self._no_bound,
            labels=Labels(self._variables, (), (*self._labels, *s.row_labels(), spare)),
            relaxable_rows=self._relaxable,
        )

    def _write(self) -> None:
        """Eliminate the equalities of this tick; write cost and rows."""
        if not self._is_allocated:
            self._allocate()
        if self._nz < 0 or self._m < len(self._constrained):
            raise DegenerateError("more equalities than unknowns")
        contacts, na = self.qp_data.contacts, self.qp_data.scene.na
        if contacts.revision != self._revision:
            costs = contacts.wrench_costs()
            self._root[na : na + len(costs)] = np.sqrt(costs)
            self._revision = contacts.revision
        self._eliminate_accelerations()
        self._eliminate_reactions()
        self._g[:] = self._cost()
        self._write_rows()

    def solve(self, start: Solution | None, *, penalty: float | None = None) -> Solved | None:
        """Solve the tick without assembling its matrices; see `BlockSolver`."""
        return self.blocks.solve(start, penalty=penalty) if COMPILED else None

    def recover(self, x: Array) -> PhysicalSolution:
        """Return q̈, τ and reactions."""
        x = x[: self._n]
        na = self.qp_data.scene.na
        efforts = self._efforts @ x
        efforts += self._efforts_0
        return PhysicalSolution(self._q0 + self._Z @ x[: self._nz], efforts[:na], efforts[na:])

    def _eliminate_accelerations(self) -> None:
        """Compute q̈₀ and Z."""
        s, m = self.qp_data, self._m
        A, rhs = self._A, self._rhs
        A[:m], rhs[:m] = s.contacts.J, s.contacts.rhs
        if len(self._free):
            A[m:] = s.M[self._free]
            rhs[m:] = -s.N[self._free]
        Q, R = _orthogonal(A.T)
        self._q0 = Q[:, : len(A)] @ dtrtrs(R, rhs, trans=1)[0]
        self._Z = Q[:, len(A) :]

    def _eliminate_reactions(self) -> None:
        """Compute τ and w as functions of x."""
        s, nz, constrained, na = self.qp_data, self._nz, self._constrained, self.qp_data.scene.na
        motors, J = s.scene.actuated_v, s.contacts.J
        MZ = self._MZ
        for block in self._M_blocks:  # M is block diagonal
            np.matmul(s.M[block, block], self._Z[block], out=MZ[block])
        force = s.M @ self._q0 + s.N
        w, torque = self._efforts[na:], self._efforts[:na]
        if len(constrained):
            Q, R = _orthogonal(J[:, constrained])
            inverse = dtrtrs(R, np.asfortranarray(Q[:, : len(constrained)].T))[0].T  # (J_uᵀ)⁺
            np.matmul(inverse, MZ[constrained], out=w[:, :nz])
            w[:, nz:] = Q[:, len(constrained) :]
            w0 = inverse @ force[constrained]
        else:
            w[:, nz:] = np.eye(self._m)
            w0 = np.zeros(self._m)
        J_motors = J[:, motors]
        np.matmul(J_motors.T, w, out=torque)
        np.negative(torque, out=torque)
        torque[:, :nz] += MZ[motors]
        self._efforts_0 = np.concatenate([force[motors] - w0 @ J_motors, w0])

    def _cost(self) -> Array:
        """Write H, and return g."""
        s, nz, Z, H, stack = self.qp_data, self._nz, self._Z, self._H, self._stack
        np.multiply(self._efforts, self._root[:, None], out=stack)
        np.matmul(stack.T, stack, out=H)
        g = (self._root * self._efforts_0) @ stack
        tasks = self._task_rows
        if tasks.shape != (len(s.tasks.weighted_b), nz):
            tasks = self._task_rows = np.empty((len(s.tasks.weighted_b), nz))
        s.tasks.times(Z, out=tasks)
        H[:nz, :nz] += tasks.T @ tasks
        H[range(nz), range(nz)] += s.cost.acceleration  # Z is orthonormal
        g[:nz] += (s.tasks.weighted @ self._q0 - s.tasks.weighted_b) @ tasks
        g[:nz] += s.cost.acceleration * (self._q0 @ Z)  # 0 up to rounding
        return g

    def _write_rows(self) -> None:
        s, nz, na, C, l, u = self.qp_data, self._nz, self.qp_data.scene.na, self._C, self._l, self._u  # noqa: E741
        limited, k = self._limited, len(self._limited)
        C[:k, :nz] = self._Z[limited]
        at = self._q0[limited]
        l[:k] = s.lower[limited] - at
        u[:k] = s.upper[limited] - at
        rows = self._torque_rows
        C[rows] = self._efforts[:na]
        np.subtract(s.torque_lower, self._efforts_0[:na], out=l[rows])
        np.subtract(s.torque_upper, self._efforts_0[:na], out=u[rows])
        w, w0 = self._efforts[na:], self._efforts_0[na:]
        for F, where, rows in self._facets:
            if len(F):
                np.matmul(F, w[where], out=C[rows])
                np.matmul(F, w0[where], out=l[rows])
                np.negative(l[rows], out=l[rows])
        first, count = self._damper_start, s.row_count
        C[first:, :nz] = 0.0
        l[first:] = -np.inf
        self._relaxable[first:] = False
        self._relaxable[first : first + count] = True
        if count:
            np.matmul(s.D, self._Z, out=C[first : first + count, :nz])
            np.subtract(s.d, s.D @ self._q0, out=l[first : first + count])


def _reached(qp_data: object) -> NDArray[np.bool_]:
    """Return the flags of the entries of v that contacts or couplings act on, (nv,)."""
    s = qp_data
    model, contacts = s.scene.model, s.contacts  # type: ignore[attr-defined]
    reached = np.zeros(model.nv, dtype=bool)
    for contact in contacts.contacts:
        for surface in (contact.first, contact.second):
            for joint_id in model.supports[surface.joint_id]:
                if joint_id:
                    joint = model.joints[joint_id]
                    reached[joint.idx_v : joint.idx_v + joint.nv] = True
    if len(contacts.couplings):
        reached |= (contacts.couplings.J != 0.0).any(axis=0)
    return reached


def _orthogonal(A: Array) -> tuple[Array, Array]:
    """Return Q (n, n) and R (k, k) with A = Q[:, :k] R, for A (n, k) with independent columns.

    Raises:
        DegenerateError: if they are dependent.
    """
    n, k = A.shape
    if k == 0:
        return np.eye(n), np.zeros((0, 0))
    factor, tau, _, _ = dgeqrf(A)
    R = np.asfortranarray(factor[:k])
    diagonal = np.abs(R.ravel("K")[:: k + 1])
    if not diagonal.min() > _DEPENDENT * diagonal.max():
        raise DegenerateError("linearly dependent rows")
    Q = np.empty((n, n), order="F")
    Q[:, :k] = factor
    Q, _, _ = dorgqr(Q, tau, overwrite_a=1)
    return Q, R
