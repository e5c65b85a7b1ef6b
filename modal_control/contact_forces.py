"""Contact forces of a window: the quadratic program (14) to (16) of [Jain2011], solved as a dual of 12 variables.

The objective is of rank 12 plus a diagonal, and each force is projected on its cone in closed form:

    minimise ½ ‖y − ȳ‖²_W + ½ w ‖f − f₀‖²   subject to   y = A f + c,  f in the friction cones.

With the multipliers λ of y = A f + c, the optimal forces are f(λ) = P(f₀ − Aᵀλ / w), and λ is the root of
F(λ) = W⁻¹λ + (ȳ − c) − A f(λ), the gradient of a strongly convex function: semismooth Newton method with a line search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modal_control.contact_forces_kernel import solve_dual
from multi_qp_scene.arrays import Array

#: Largest number of Newton steps; norm of F, relative to that of ȳ − c, at which they end.
STEPS, TOLERANCE = 60, 1e-9


class ForcePlan(NamedTuple):
    """Contact forces of a window.

    Attributes:
        forces: (forces, 3) [N].
        multipliers: λ, a start for the next window, (12,).
        residual: norm of F.
    """

    forces: Array
    multipliers: Array
    residual: float


def plan_forces(
    A: Array,
    offset: Array,
    weights: Array,
    effort: float,
    *,
    friction: float | Array,
    nominal: Array,
    start: Array | None = None,
) -> ForcePlan:
    """Return the optimal contact forces.

    Args:
        A: maps all forces to the state of the rigid modes at the end of the window, (12, 3 k).
        offset: that state without forces minus its target, c − ȳ, (12,).
        weights: diagonal of W: W₁, then W₂, (12,).
        effort: w, the weight W₃ of each component of a force.
        friction: Coulomb coefficient μ of the circular cones around z, of all forces or of each, (k,); infinite for a
            force of any direction.
        nominal: forces f₀ whose deviation is penalised; zero in the paper, (k, 3) [N].
        start: first λ, (12,).
    """
    blocks = np.ascontiguousarray(A.reshape(12, -1, 3).transpose(1, 0, 2))
    multipliers = np.zeros(12) if start is None else start.copy()
    forces = np.empty_like(nominal)
    tolerance = TOLERANCE * max(1.0, float(np.linalg.norm(offset)))
    cones = np.full(len(nominal), friction)
    residual = solve_dual(blocks, offset, weights, effort, cones, nominal, multipliers, forces, STEPS, tolerance)
    return ForcePlan(forces, multipliers, residual)
