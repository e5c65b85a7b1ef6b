"""Position and velocity limits of joints, as bounds on q̈."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.scene import JointLimits

Array = NDArray[np.float64]

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
        limited: whether an entry of q̈ can ever be bounded, (nv,).
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
        self._limits = limits
        self._dt = dt
        span = limits.upper - limits.lower
        # a side without a limit is infinitely far away: any width will do
        span = np.where(np.isfinite(span), span, MAX_INFLUENCE / influence)
        self._influence = np.minimum(influence * span, MAX_INFLUENCE)
        self._security = self._influence * security / influence
        speed = np.where(np.isfinite(limits.velocity), limits.velocity, MAX_DAMPING / damping)
        self._damping = np.minimum(damping * speed, MAX_DAMPING)
        self._width = self._influence - self._security
        # a damper may not close more than the distance that is left in one step
        self._damping = np.minimum(self._damping, self._width / dt)
        self._recovery = np.minimum(RECOVERY_SPEED, limits.velocity)
        self.lower = np.full(nv, -np.inf)
        self.upper = np.full(nv, np.inf)
        self.limited = np.zeros(nv, dtype=bool)
        self.limited[limits.v_index] = np.isfinite(limits.lower) | np.isfinite(limits.upper)
        self.limited[limits.v_index] |= np.isfinite(limits.velocity)

    def update(self, q: Array, v: Array) -> None:
        """Compute the bounds at this state."""
        limits = self._limits
        angle, speed = q[limits.q_index], v[limits.v_index]
        above = self._least_acceleration(angle - limits.lower, speed)
        below = -self._least_acceleration(limits.upper - angle, -speed)
        lower = np.maximum(above, (-limits.velocity - speed) / self._dt)
        upper = np.minimum(below, (limits.velocity - speed) / self._dt)
        # both can only cross where a joint is outside one limit and the way back is bounded by another: meet halfway
        crossed = lower > upper
        if crossed.any():
            middle = 0.5 * (lower + upper)
            lower = np.where(crossed, middle, lower)
            upper = np.where(crossed, middle, upper)
        self.lower[limits.v_index] = lower
        self.upper[limits.v_index] = upper

    def _least_acceleration(self, distance: Array, speed: Array) -> Array:
        """Return the acceleration away from a limit that the damper asks for.

        Beyond δ_i it only keeps a fast joint from passing δ_s within the next step.

        Args:
            distance: to the limit; negative outside it.
            speed: away from the limit.
        """
        allowed = -self._damping * (distance - self._security) / self._width
        back = np.minimum(allowed, self._recovery)
        braking = (np.minimum(allowed, 0.0) - speed) / self._dt
        recovering = np.minimum((back - speed) / self._dt, np.maximum(braking, 0.0) + RECOVERY_ACCELERATION)
        demanded = np.where(allowed > 0.0, recovering, braking)
        beyond = ((self._security - distance) / self._dt - speed) / self._dt
        return np.where(distance <= self._influence, demanded, beyond)
