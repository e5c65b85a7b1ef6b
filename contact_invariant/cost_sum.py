"""Sum of costs of one node of a trajectory optimisation with crocoddyl."""

from __future__ import annotations

import numpy as np

from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene


class CostSum:
    """A sum of costs ½ Σ wᵢ rᵢ² of residuals r, and of barriers ½ Σ wᵢ max(0, lowᵢ - rᵢ, rᵢ - highᵢ)².

    Attributes:
        sum: as a model of crocoddyl.
    """

    def __init__(self, state: crocoddyl.StateMultibody, nu: int) -> None:
        self.sum, self._state, self._nu = crocoddyl.CostModelSum(state, nu), state, nu

    def add(self, name: str, residual: crocoddyl.ResidualModelAbstract, weight: float) -> None:
        """Add a residual."""
        self.sum.addCost(name, crocoddyl.CostModelResidual(self._state, residual), weight)

    def squares(self, name: str, residual: crocoddyl.ResidualModelAbstract, weights: Array) -> None:
        """Add a residual with a weight for each of its rows."""
        activation = crocoddyl.ActivationModelWeightedQuad(weights)
        self.sum.addCost(name, crocoddyl.CostModelResidual(self._state, activation, residual), 1.0)

    def barrier(
        self,
        name: str,
        residual: crocoddyl.ResidualModelAbstract,
        low: Array,
        high: Array,
        weights: Array | float,
    ) -> None:
        """Add a barrier, whose bounds may be infinite, with one weight or a weight for each row.

        It is a cost for each distinct weight: the Hessian of crocoddyl's weighted barrier is not that of its value.
        """
        weights = np.broadcast_to(weights, np.shape(low))
        for k, weight in enumerate(np.unique(weights)):
            own = weights == weight
            bounds = crocoddyl.ActivationBounds(np.where(own, low, -np.inf), np.where(own, high, np.inf))
            activation = crocoddyl.ActivationModelQuadraticBarrier(bounds)
            cost = crocoddyl.CostModelResidual(self._state, activation, residual)
            self.sum.addCost(f"{name} {k}", cost, float(weight))

    def cone(
        self,
        name: str,
        residual: crocoddyl.ResidualModelAbstract,
        cone: crocoddyl.FrictionCone | crocoddyl.WrenchCone,
        pull: Array,
        weight: float,
        *,
        normal: bool = True,
    ) -> None:
        """Add a barrier of a cone of forces.

        Args:
            name: of the cost.
            residual: of the cone.
            cone: the same.
            pull: force and moment by which its apex is moved the other way, (6,) [N], [N m].
            weight: of the squares [1/N²].
            normal: whether the normal force has its bounds.
        """
        shift, of_normal = cone.A @ pull[: cone.A.shape[1]], np.isfinite(cone.lb)
        low, high = cone.lb - shift, cone.ub - ~of_normal * shift
        if not normal:
            low[of_normal], high[of_normal] = -np.inf, np.inf
        self.barrier(name, residual, low, high, weight)

    def joint_limits(self, scene: Scene, margin: float, share: float, angles: float, speeds: float) -> None:
        """Add barriers of joint angles and joint speeds.

        Args:
            scene: with the limits; its model is that of the state.
            margin: distance of angles from their limits [rad].
            share: of the speed limits that is used.
            angles: weight [1/rad²].
            speeds: weight [s²/rad²].
        """
        limits, nv = scene.limits, scene.nv
        low, high = np.full((2, nv), -np.inf), np.full((2, nv), np.inf)
        low[0, limits.v_index], high[0, limits.v_index] = limits.lower + margin, limits.upper - margin
        low[1, limits.v_index], high[1, limits.v_index] = -share * limits.velocity, share * limits.velocity
        residual = crocoddyl.ResidualModelState(self._state, self._state.zero(), self._nu)
        self.barrier("joint limits", residual, low.ravel(), high.ravel(), np.repeat([angles, speeds], nv))

    def torques(self, limit: Array, effort: float, share: Array | float, weights: Array | float) -> None:
        """Add the squared torques relative to their limits, and a barrier.

        Args:
            limit: largest torques, (nu,) [N m].
            effort: weight of the squares.
            share: of the limits that is used, one or (nu,).
            weights: of the barrier [1/(N m)²].
        """
        control = crocoddyl.ResidualModelControl(self._state, self._nu)
        self.squares("effort", control, effort / limit**2)
        self.barrier("torques", control, -share * limit, share * limit, weights)
