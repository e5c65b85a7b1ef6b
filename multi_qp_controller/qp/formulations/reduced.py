"""Formulation `reduced`: τ eliminated through the actuated rows of the dynamics."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.qp.formulations.base import Formulation
from multi_qp_controller.qp.labels import LabelBlock, Labels
from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_scene.arrays import Array


class ReducedFormulation(Formulation):
    """x = (q̈, Λ), with τ = T x + N_a, T = [M_a, −G_a], a the actuated rows.

    Equalities: the other rows of the dynamics, no slip, couplings. Inequalities: −τ_max <= τ <= τ_max, then rows on
    q̈. The cost of τ becomes ½ w_τ‖T x + N_a‖².
    """

    name = "reduced"

    def prepare(self) -> None:
        """Allocate, and write all constant entries."""
        s = self.qp_data
        nv, na, nl = s.scene.nv, s.scene.na, s.contacts.n_lambda
        nu = len(s.unactuated)
        n, m = nv + nl, nu + len(s.contacts.rhs)
        self._T = np.zeros((na, n))
        self._H = np.zeros((n, n))
        self._g = np.zeros(n)
        self._A = np.zeros((m, n))
        self._b = np.zeros(m)
        self._C = np.zeros((na + s.largest_row_count, n))
        self._l = np.zeros(len(self._C))
        self._u = np.full(len(self._C), np.inf)
        self._lb = np.concatenate([np.full(nv, -np.inf), s.contacts.lower])
        self._ub = np.full(n, np.inf)
        self._relaxable_bounds = np.concatenate([s.relaxation.limits * s.limited, s.steps_of_forces()])
        names = s.scene.velocity_names
        self._unactuated_label = LabelBlock("dynamics", "N or N m", tuple(names[k] for k in s.unactuated))
        self._torque_label = LabelBlock("torque limit", "N m", s.scene.actuated_joint_names)
        self._variables = (s.acceleration_label, *s.contacts.lambda_label)
        self._equalities = (self._unactuated_label, *s.contacts.row_label)

    def build(self) -> QPProblem:
        """Write the QP of this tick."""
        s = self.qp_data
        nv, na, nu = s.scene.nv, s.scene.na, len(s.unactuated)
        actuated, T = s.scene.actuated_v, self._T
        T[:, :nv] = s.M[actuated]
        np.negative(s.contacts.G[actuated], out=T[:, nv:])
        N_a = s.N[actuated]
        np.matmul(T.T, s.cost.torque * T, out=self._H)
        self._H[:nv, :nv] += s.tasks.H
        self._H[nv:, nv:] += s.contacts.H
        self._H[range(nv), range(nv)] += s.cost.acceleration
        np.matmul(T.T, s.cost.torque * N_a, out=self._g)
        self._g[:nv] += s.tasks.g
        self._A[:nu, :nv] = s.M[s.unactuated]
        np.negative(s.contacts.G[s.unactuated], out=self._A[:nu, nv:])
        self._A[nu:, :nv] = s.contacts.J
        np.negative(s.N[s.unactuated], out=self._b[:nu])
        self._b[nu:] = s.contacts.rhs
        p = na + s.row_count
        self._C[:na] = T
        self._C[na:p, :nv] = s.D
        self._l[:na] = s.torque_lower - N_a
        self._u[:na] = s.torque_upper - N_a
        self._l[na:p] = s.d
        self._lb[:nv] = s.lower
        self._ub[:nv] = s.upper
        return QPProblem(
            H=self._H,
            g=self._g,
            A=self._A,
            b=self._b,
            C=self._C[:p],
            l=self._l[:p],
            u=self._u[:p],
            lb=self._lb,
            ub=self._ub,
            labels=Labels(self._variables, self._equalities, (self._torque_label, *s.row_labels())),
            relaxable_rows=np.concatenate([np.zeros(na, dtype=np.int8), s.steps_of_rows()]),
            relaxable_bounds=self._relaxable_bounds,
        )

    def recover(self, x: Array) -> PhysicalSolution:
        """Return the physical quantities in x, with τ computed from it."""
        s = self.qp_data
        nv, nl = s.scene.nv, s.contacts.n_lambda
        torque = self._T @ x[: nv + nl] + s.N[s.scene.actuated_v]
        return PhysicalSolution(x[:nv].copy(), torque, s.contacts.reactions(x[nv : nv + nl]))
