"""Velocity-damper bounds on q̈ for the position and velocity limits of joints."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multi_qp_controller.constraints.base import Bound
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import IndexVector, KernelData, Vector, unpack
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import JointLimits

#: Largest speed at which a joint outside its limits returns [rad/s].
RECOVERY_SPEED = 0.5
#: Largest acceleration of that return [rad/s²], feasible for a motor at any time step.
RECOVERY_ACCELERATION = 10.0


class JointLimitConstraint(Bound):
    """Bounds lower <= q̈ <= upper that keep joints within their position and velocity limits.

    Position limits act as velocity dampers, [Vaillant2015] (31): with d the distance to the limit, the next velocity
    towards it is at most ξ (d − δ_s)/(δ_i − δ_s) for d < δ_i. Velocity limits are (29). δ_i and δ_s are fractions of
    the joint's range, ξ of its velocity limit: at d = δ_i the damper then begins near the velocity limit. Below δ_s the
    damper moves the joint back, with bounded speed and acceleration, so that a start outside the limits is feasible.
    """

    def __init__(
        self, limits: JointLimits, nv: int, *, dt: float, influence: float, security: float, damping: float
    ) -> None:
        """Compute the constants of the dampers.

        Args:
            limits: limits of the scene's joints.
            nv: size of v.
            dt: time in which a limit must not be passed: a control period, or the look-ahead time of limits [s].
            influence: δ_i as a fraction of the joint's range.
            security: δ_s as a fraction of the joint's range.
            damping: ξ as a fraction of the joint's velocity limit.
        """
        reach, keep, speed = limits.dampers(influence=influence, security=security, damping=damping)
        # a damper must not close more than the remaining distance in one step
        slope = np.minimum(speed, (reach - keep) / dt)
        back = np.minimum(RECOVERY_SPEED, limits.velocity)
        self.limited = np.zeros(nv, dtype=bool)
        self.limited[limits.v_index] = np.isfinite(limits.lower) | np.isfinite(limits.upper)
        self.limited[limits.v_index] |= np.isfinite(limits.velocity)
        self._data = KernelData(
            JointLimitData(
                q_index=limits.q_index,
                v_index=limits.v_index,
                low=limits.lower,
                high=limits.upper,
                limit=limits.velocity,
                influence=reach,
                security=keep,
                damping=slope,
                recovery=back,
                dt=dt,
            )
        )

    @classmethod
    def of(cls, scenario: Scenario, dt: float, horizon: float) -> JointLimitConstraint:
        """Create it for a scenario; see `make_constraints`."""
        scene, spec = scenario.scene, scenario.spec.joint_limits
        ranges = {"influence": spec.influence, "security": spec.security, "damping": spec.damping}
        return cls(scene.limits, scene.nv, dt=horizon, **ranges)

    def update(self, kinematics: Kinematics | None, lower: Array, upper: Array) -> None:
        """Narrow the bounds at this tick."""
        assert kinematics is not None
        damper_bounds(kinematics.q, kinematics.v, lower, upper, self._data.table)


class JointLimitData(NamedTuple):
    """Arrays of `damper_bounds`.

    Attributes:
        q_index: index of each joint in q, (k,).
        v_index: index of each joint in v, (k,).
        low: lower position limit, (k,).
        high: upper position limit, (k,).
        limit: velocity limit, (k,).
        influence: δ_i, (k,).
        security: δ_s, (k,).
        damping: ξ, (k,).
        recovery: largest recovery speed, (k,).
        dt: see `JointLimitConstraint` [s].
    """

    q_index: IndexVector
    v_index: IndexVector
    low: Vector
    high: Vector
    limit: Vector
    influence: Vector
    security: Vector
    damping: Vector
    recovery: Vector
    dt: float


@compiled
def damper_bounds(q: Array, v: Array, lower: Array, upper: Array, table: Any) -> None:
    """Narrow the bounds of all limited joints.

    Args:
        q: (nq,).
        v: (nv,).
        lower: to raise, (nv,).
        upper: to lower, (nv,).
        table: address table of `JointLimitData`.
    """
    data = unpack(table, JointLimitData)
    for k in range(len(data.v_index)):
        angle, speed = q[data.q_index[k]], v[data.v_index[k]]
        reach, keep, slope, back = data.influence[k], data.security[k], data.damping[k], data.recovery[k]
        above = least_acceleration(angle - data.low[k], speed, reach, keep, slope, back, data.dt)
        below = -least_acceleration(data.high[k] - angle, -speed, reach, keep, slope, back, data.dt)
        least = max(above, (-data.limit[k] - speed) / data.dt)
        most = min(below, (data.limit[k] - speed) / data.dt)
        if least > most:
            # only for a joint outside one limit whose return is bounded by another: use the mean
            least = most = 0.5 * (least + most)
        entry = data.v_index[k]
        lower[entry], upper[entry] = max(lower[entry], least), min(upper[entry], most)


@compiled_part
def least_acceleration(
    distance: float, speed: float, influence: float, security: float, damping: float, recovery: float, dt: float
) -> float:
    """Return the smallest acceleration away from a limit that satisfies the damper.

    Beyond δ_i the speed may be that from which the damper's deceleration at δ_i, ξ²/(δ_i − δ_s), leads to ξ there: a
    faster joint would need any deceleration when it comes within δ_i. Nor may it pass δ_s within the next step.

    Args:
        distance: distance to the limit; negative outside it.
        speed: speed away from the limit.
        influence: δ_i.
        security: δ_s.
        damping: ξ.
        recovery: largest recovery speed.
        dt: control period [s].
    """
    if distance > influence:
        fastest = damping * math.sqrt(1.0 + 2.0 * (distance - influence) / (influence - security))
        return (max((security - distance) / dt, -fastest) - speed) / dt
    allowed = -damping * (distance - security) / (influence - security)
    braking = (min(allowed, 0.0) - speed) / dt
    if allowed <= 0.0:
        return braking
    return min((min(allowed, recovery) - speed) / dt, max(braking, 0.0) + RECOVERY_ACCELERATION)
