"""Constraints of (35) besides the dynamics and contacts: limits, collision avoidance, balance."""

from __future__ import annotations

from multi_qp_controller.constraints.balance import BalanceConstraint
from multi_qp_controller.constraints.base import Bound, RowConstraint
from multi_qp_controller.constraints.collisions import CollisionConstraint, PairDistance
from multi_qp_controller.constraints.joint_limits import JointLimitConstraint
from multi_qp_controller.constraints.stretch import StretchConstraint
from multi_qp_controller.constraints.torque_limits import TorqueLimitConstraint
from multi_qp_scene.scenario import Scenario

#: All classes of constraints, in the order of their rows in D.
CONSTRAINTS = (CollisionConstraint, BalanceConstraint, StretchConstraint, JointLimitConstraint, TorqueLimitConstraint)


def make_constraints(scenario: Scenario, dt: float, horizon: float) -> tuple[RowConstraint | Bound, ...]:
    """Create the constraints of a scenario.

    Args:
        scenario: the scenario.
        dt: control period [s].
        horizon: look-ahead time of limits [s], at least dt.
    """
    made = (kind.of(scenario, dt, horizon) for kind in CONSTRAINTS)
    return tuple(constraint for constraint in made if constraint is not None)


__all__ = [
    "BalanceConstraint",
    "Bound",
    "CollisionConstraint",
    "JointLimitConstraint",
    "PairDistance",
    "RowConstraint",
    "StretchConstraint",
    "TorqueLimitConstraint",
    "make_constraints",
]
