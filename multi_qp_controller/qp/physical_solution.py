"""Solution of the QP of a tick in physical quantities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.solution import Solution
from multi_qp_scene.arrays import Array


class PhysicalSolution(NamedTuple):
    """Accelerations, torques and forces of a solution.

    Attributes:
        acceleration: q̈, (nv,).
        torque: τ, (na,) [N m].
        reactions: force along each no-slip row: wrenches of the contacts, then forces of couplings, (m,) [N, N m].
    """

    acceleration: Array
    torque: Array
    reactions: Array


class Solved(NamedTuple):
    """Result of `BlockSolver.solve`.

    Attributes:
        solution: with x = q̈, and z_ineq over its inequality rows.
        physical: physical quantities; None without a solution.
        relaxed: step of the relaxation of the component of each entry of v, 0 where nothing has slack, (nv,).
    """

    solution: Solution
    physical: PhysicalSolution | None
    relaxed: NDArray[np.intp] | None = None
