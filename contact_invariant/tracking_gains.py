"""Gains that bring a character back to a motion of its full model: Riccati recursion along the motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contact_invariant.link_forces import LinkForces
from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.arrays import Array

#: Weights of squared deviations per second: configuration [m], [rad], velocity [m/s], [rad/s], torques relative to
#: their limits, ...
POSITION, VELOCITY, TORQUE = 1.0, 0.02, 0.05
#: ... contact forces relative to the normal force of the motion: without it, gains rely on contacts that bear nothing,
#: which cannot pull. To that force, `RESERVE` body weights are added; moments are divided by `ARM` [m] as well.
FORCE, RESERVE, ARM = 0.03, 0.05, 0.05
#: Number of steps of the recursion at the last node, after which gains are those of standing there.
STANDING = 300

Linear = tuple[Array, Array, Array, Array]
"""Derivatives of the next state and of scaled contact forces with respect to state and torques: A, B, C, D."""


def tracking_gains(
    models: Sequence[crocoddyl.IntegratedActionModelEuler],
    xs: Sequence[Array],
    us: Sequence[Array],
    *,
    limits: Array,
    weight: float,
) -> Array:
    """Return the change of accelerations by a deviation of the state at each node, (M + 1, nv, 2 nv).

    The deviation is that of crocoddyl's state: of the configuration in the tangent space of the motion's, then of the
    velocity; velocities of the root are in its own axes. The gains minimise the sum of weighted squares of deviations
    along the rest of the motion, whose contact changes they thus know, with standing in the last posture after it.

    Args:
        models: of the nodes, the last one with a step as well.
        xs: states at the nodes.
        us: torques between them.
        limits: of the torques [N m].
        weight: of the character [N].
    """
    found, nv, ndx = [], models[0].state.nv, models[0].state.ndx
    last = models[-1].quasiStatic(models[-1].createData(), xs[-1])
    linear = [linearised(m, x, u, weight) for m, x, u in zip(models, xs, [*us, last], strict=True)]
    squares = np.diag(np.repeat([POSITION, VELOCITY], nv))
    P = squares
    for k in [*[len(models) - 1] * STANDING, *range(len(models) - 1, -1, -1)]:
        (A, B, C, D), dt = linear[k], models[k].dt
        Q = dt * (squares + FORCE * C.T @ C)
        R = dt * (np.diag(TORQUE / limits**2) + FORCE * D.T @ D)
        BP = B.T @ P
        S = BP @ A + dt * FORCE * D.T @ C
        K = -np.linalg.solve(R + BP @ B, S)
        P = Q + A.T @ P @ A + S.T @ K
        P = 0.5 * (P + P.T)
        found.append((A + B @ K - np.eye(ndx))[nv:] / dt)
    return np.array(found[: STANDING - 1 : -1])


def linearised(model: crocoddyl.IntegratedActionModelEuler, x: Array, u: Array, weight: float) -> Linear:
    """Return the linear dynamics of a node."""
    data, contacts = model.createData(), model.differential.contacts
    model.calc(data, x, u)
    LinkForces(model, data).add()
    model.calcDiff(data, x, u)
    C, D = (np.array(df)[: contacts.nc] for df in (data.differential.df_dx, data.differential.df_du))
    forces, scale = np.array(data.differential.pinocchio.lambda_c), np.ones(contacts.nc)
    at = 0
    for _, item in sorted(contacts.contacts.todict().items()):
        end = at + item.contact.nc
        scale[at:end] /= abs(forces[at + 2]) + RESERVE * weight
        scale[at + 3 : end] /= ARM
        at = end
    return np.array(data.Fx), np.array(data.Fu), scale[:, None] * C, scale[:, None] * D
