"""Formulation `full`: the QP (35) over q̈, τ and Λ."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.qp.formulations.base import Formulation
from multi_qp_controller.qp.labels import Labels
from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_scene.arrays import Array


class FullFormulation(Formulation):
    """x = (q̈, τ, Λ); equalities: dynamics (nv rows), no slip, couplings; inequalities: rows on q̈.

    All other constraints are bounds.
    """

    name = "full"

    def prepare(self) -> None:
        """Allocate, and write all constant entries."""
        s = self.qp_data
        nv, na, nl = s.scene.nv, s.scene.na, s.contacts.n_lambda
        n, m = nv + na + nl, nv + len(s.contacts.rhs)
        self._n_free = nv + na
        self._H = np.zeros((n, n))
        self._H[range(nv, nv + na), range(nv, nv + na)] = s.cost.torque
        self._g = np.zeros(n)
        self._A = np.zeros((m, n))
        self._A[s.scene.actuated_v, nv + np.arange(na)] = -1.0
        self._b = np.zeros(m)
        self._lb = np.concatenate([np.full(nv, -np.inf), s.torque_lower, s.contacts.lower])
        self._ub = np.concatenate([np.full(nv, np.inf), s.torque_upper, np.full(nl, np.inf)])
        self._C = np.zeros((s.largest_row_count, n))
        self._relaxable_bounds = np.concatenate(
            [s.relaxation.limits * s.limited, np.zeros(na, dtype=np.int8), s.steps_of_forces()]
        )
        self._variables = (s.acceleration_label, s.torque_label, *s.contacts.lambda_label)
        self._equalities = (s.dynamics_label, *s.contacts.row_label)

    def build(self) -> QPProblem:
        """Write the QP of this tick."""
        s = self.qp_data
        nv = s.scene.nv
        self._H[:nv, :nv] = s.tasks.H
        self._H[range(nv), range(nv)] += s.cost.acceleration
        self._H[self._n_free :, self._n_free :] = s.contacts.H
        self._g[:nv] = s.tasks.g
        self._A[:nv, :nv] = s.M
        np.negative(s.contacts.G, out=self._A[:nv, self._n_free :])
        self._A[nv:, :nv] = s.contacts.J
        np.negative(s.N, out=self._b[:nv])
        self._b[nv:] = s.contacts.rhs
        self._lb[:nv] = s.lower
        self._ub[:nv] = s.upper
        self._lb[nv : self._n_free], self._ub[nv : self._n_free] = s.torque_lower, s.torque_upper
        p = s.row_count
        self._C[:p, :nv] = s.D
        return QPProblem(
            H=self._H,
            g=self._g,
            A=self._A,
            b=self._b,
            C=self._C[:p],
            l=s.d.copy(),
            u=np.full(p, np.inf),
            lb=self._lb,
            ub=self._ub,
            labels=Labels(self._variables, self._equalities, s.row_labels()),
            relaxable_rows=s.steps_of_rows(),
            relaxable_bounds=self._relaxable_bounds,
        )

    def recover(self, x: Array) -> PhysicalSolution:
        """Return the physical quantities in x."""
        nv, contacts = self.qp_data.scene.nv, self.qp_data.contacts
        forces = x[self._n_free : self._n_free + contacts.n_lambda]
        return PhysicalSolution(x[:nv].copy(), x[nv : self._n_free].copy(), contacts.reactions(forces))
