"""What the QP of a tick decided, in physical quantities, however it was solved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.solution import Solution

Array = NDArray[np.float64]


class PhysicalSolution(NamedTuple):
    """What the QP decided.

    Attributes:
        acceleration: q̈, (nv,).
        torque: τ, (na,) [N m].
        reactions: force along each no-slip row: wrenches of the contacts, then forces of couplings, (m,) [N, N m].
    """

    acceleration: Array
    torque: Array
    reactions: Array


class Solved(NamedTuple):
    """How a formulation solved a tick by itself.

    Attributes:
        solution: its x is q̈, its z_ineq has the rows of the formulation.
        physical: what was decided; None where nothing was found.
    """

    solution: Solution
    physical: PhysicalSolution | None
