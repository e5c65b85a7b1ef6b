"""Arrays of the condensed QP that its kernels read and write in a tick."""

from __future__ import annotations

from typing import NamedTuple

from multi_qp_scene.kernel_data import IndexMatrix, IndexVector, Matrix, Vector


class CondensedData(NamedTuple):
    """Arrays of `assemble` and `search`; allocated once for each set of contacts and tasks.

    s are the shared unknowns: forces along link rows, multipliers of these rows and of tasks over several subsystems.

    Attributes:
        nodes: of the plan: one row per subsystem, see `EliminationPlan`.
        lists: of the plan: indices that the rows refer to.
        links: of the plan: row of J, index of its force and of its multiplier in s, of each link, (3, l).
        crossing: of the plan: task row and index of its multiplier in s, (2, c).
        last: of the plan: end of each row of the band, (s,).
        border: of the plan: first entry of s outside the band.
        places: of the plan: subsystem and row of E of each entry of v, motor and row of J, see `EliminationPlan`.
        motor_order: of the plan: motors ordered by subsystem, (na,).
        J: rows of contacts and couplings, (m, nv).
        rhs: their right-hand side, (m,).
        task_J: task rows, (k, nv).
        task_b: (k,).
        scale: √w of each task row, (k,).
        selects: entry of q̈ that a task row selects, or -1, (k,).
        force_root: square root of the cost of the force along each row of J, (m,).
        costs: square root of the cost of torques, cost of accelerations, least relative independent part of a row,
            softness of link rows: residual per unit of their multiplier.
        E_all: E of all subsystems: accelerations, torques and internal reactions are E ξ + e; filled by `assemble`.
        e_all: e of all subsystems; filled by `assemble`.
        L_all: Cholesky factors of all subsystems; filled by `assemble`.
        U_all: L⁻¹ B of all subsystems, B their coupling to s; filled by `assemble`.
        S: factor of the coupling system in s, (s, s); filled by `assemble`.
        phi: −L⁻¹ g of each subsystem, then the forward solution in s; filled by `assemble`.
        Phi: active rows after forward substitution, (rows + 1, len(phi)); workspace of `search`.
        T: their products, (rows + 1, rows + 1); workspace of `search`.
        R: Cholesky factor of T; workspace of `search`.
        limited: entries of q̈ with bounds.
        facets: stacked facets of the wrench cones of all contacts, (f, 6).
        facet_rows: first row of J, and number of rows, of the contact of each facet, (f, 2).
        least: lower bounds of q̈, (nv,).
        most: upper bounds of q̈, (nv,).
        least_torque: lower bounds of τ, (na,).
        most_torque: upper bounds of τ, (na,).
        D_all: rows on q̈ of collisions and balance, of which the first `count` are valid, (p, nv).
        d_all: their lower bounds, (p,).
        low_all: lower bound of each inequality row; those of q̈, τ and D are filled by `search`.
        high_all: upper bound of each inequality row; those of q̈ and τ are filled by `search`.
        length: length of each row in the metric of the cost, 0 if it was not computed in this tick.
        counts: number of active rows, of iterations, and the row of an unsuccessful end, (3,); filled by `search`.
    """

    nodes: IndexMatrix
    lists: IndexVector
    links: IndexMatrix
    crossing: IndexMatrix
    last: IndexVector
    border: int
    places: IndexMatrix
    motor_order: IndexVector
    J: Matrix
    rhs: Vector
    task_J: Matrix
    task_b: Vector
    scale: Vector
    selects: IndexVector
    force_root: Vector
    costs: Vector
    E_all: Vector
    e_all: Vector
    L_all: Vector
    U_all: Vector
    S: Matrix
    phi: Vector
    Phi: Matrix
    T: Matrix
    R: Matrix
    limited: IndexVector
    facets: Matrix
    facet_rows: IndexMatrix
    least: Vector
    most: Vector
    least_torque: Vector
    most_torque: Vector
    D_all: Matrix
    d_all: Vector
    low_all: Vector
    high_all: Vector
    length: Vector
    counts: IndexVector
