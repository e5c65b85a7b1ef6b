"""Position and velocity limits of joints, as bounds on q̈."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.bundles import Bundle, unbundled
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.scene import JointLimits

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: The influence distance is at most this [rad], whatever a joint's range.
MAX_INFLUENCE = 0.3
#: ξ is at most this [rad/s], so that fast joints do not brake too hard.
MAX_DAMPING = 4.0
#: A joint outside its limits comes back no faster than this [rad/s] ...
RECOVERY_SPEED = 0.5
#: ... and is pulled back no harder than this [rad/s²], which a motor can give at any time step.
RECOVERY_ACCELERATION = 10.0


class JointLimitConstraint:
    """Bounds lower <= q̈ <= upper that keep joints within their position and velocity limits.

    Position limits act as velocity dampers, [Vaillant2015] (31): with d the distance to the limit, the next velocity
    towards it may be ξ (d − δ_s)/(δ_i − δ_s) at most, once d < δ_i. Velocity limits are (29). δ_i and δ_s are fractions
    of the joint's range, ξ of its velocity limit: at d = δ_i the damper then begins near the velocity limit. Below δ_s
    the damper asks for a way back; it asks gently, because a start outside the limits must not be infeasible.

    Attributes:
        lower: (nv,); -inf where nothing is limited.
        upper: (nv,); inf where nothing is limited.
        limited: whether an entry of q̈ is bounded, (nv,).
        count: number of those.
    """

    def __init__(
        self, limits: JointLimits, nv: int, *, dt: float, influence: float, security: float, damping: float
    ) -> None:
        """Prepare.

        Args:
            limits: of the scene.
            nv: size of v.
            dt: control period [s].
            influence: δ_i as a fraction of the joint's range.
            security: δ_s as a fraction of the joint's range.
            damping: ξ as a fraction of the joint's velocity limit.
        """
        span = limits.upper - limits.lower
        # a side without a limit is infinitely far away: any width will do
        span = np.where(np.isfinite(span), span, MAX_INFLUENCE / influence)
        reach = np.minimum(influence * span, MAX_INFLUENCE)
        keep = reach * security / influence
        speed = np.where(np.isfinite(limits.velocity), limits.velocity, MAX_DAMPING / damping)
        # a damper may not close more than the distance that is left in one step
        slope = np.minimum(np.minimum(damping * speed, MAX_DAMPING), (reach - keep) / dt)
        back = np.minimum(RECOVERY_SPEED, limits.velocity)
        self.lower = np.full(nv, -np.inf)
        self.upper = np.full(nv, np.inf)
        self.limited = np.zeros(nv, dtype=bool)
        self.limited[limits.v_index] = np.isfinite(limits.lower) | np.isfinite(limits.upper)
        self.limited[limits.v_index] |= np.isfinite(limits.velocity)
        self.count = int(self.limited.sum())
        self._given = Bundle(
            LIMIT_KINDS, limits.q_index, limits.v_index, limits.lower, limits.upper, limits.velocity, reach, keep,
            slope, back, dt, self.lower, self.upper,
        )  # fmt: skip

    def update(self, q: Array, v: Array) -> None:
        """Compute the bounds at this state."""
        damper_bounds(q, v, self._given.table)


#: What `damper_bounds` is given as a bundle.
LIMIT_KINDS = "iivvvvvvvxvv"


@compiled
def damper_bounds(q: Array, v: Array, bundle: Any) -> None:
    """Write the bounds of all limited joints.

    Args:
        q: (nq,).
        v: (nv,).
        bundle: of `LIMIT_KINDS`: all that follows.
        q_index: of each joint in q, (k,).
        v_index: of each joint in v, (k,).
        low: lower position limit, (k,).
        high: upper position limit, (k,).
        limit: of velocity, (k,).
        influence: δ_i, (k,).
        security: δ_s, (k,).
        damping: ξ, (k,).
        recovery: fastest way back from outside, (k,).
        dt: control period [s].
        lower: to fill, (nv,).
        upper: to fill, (nv,).
    """
    (
        q_index, v_index, low, high, limit, influence, security, damping, recovery, dt, lower, upper,
    ) = unbundled(bundle, LIMIT_KINDS)  # fmt: skip
    for k in range(len(v_index)):
        angle, speed = q[q_index[k]], v[v_index[k]]
        reach, keep, slope, back = influence[k], security[k], damping[k], recovery[k]
        above = least_acceleration(angle - low[k], speed, reach, keep, slope, back, dt)
        below = -least_acceleration(high[k] - angle, -speed, reach, keep, slope, back, dt)
        least = max(above, (-limit[k] - speed) / dt)
        most = min(below, (limit[k] - speed) / dt)
        if least > most:
            # only where a joint is outside one limit and the way back is bounded by another: meet halfway
            least = most = 0.5 * (least + most)
        lower[v_index[k]] = least
        upper[v_index[k]] = most


@compiled_part
def least_acceleration(
    distance: float, speed: float, influence: float, security: float, damping: float, recovery: float, dt: float
) -> float:
    """Return the acceleration away from a limit that the damper asks for.

    Beyond δ_i it only keeps a fast joint from passing δ_s within the next step.

    Args:
        distance: to the limit; negative outside it.
        speed: away from the limit.
        influence: δ_i.
        security: δ_s.
        damping: ξ.
        recovery: fastest way back from outside.
        dt: control period [s].
    """
    if distance > influence:
        return ((security - distance) / dt - speed) / dt
    allowed = -damping * (distance - security) / (influence - security)
    braking = (min(allowed, 0.0) - speed) / dt
    if allowed <= 0.0:
        return braking
    return min((min(allowed, recovery) - speed) / dt, max(braking, 0.0) + RECOVERY_ACCELERATION)
