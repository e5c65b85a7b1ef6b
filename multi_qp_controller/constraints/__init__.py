"""Constraints of (35) that are not the dynamics: joint limits and collision avoidance."""

from multi_qp_controller.constraints.balance import BalanceConstraint
from multi_qp_controller.constraints.collisions import CollisionConstraint, PairDistance
from multi_qp_controller.constraints.joint_limits import JointLimitConstraint

__all__ = ["BalanceConstraint", "CollisionConstraint", "JointLimitConstraint", "PairDistance"]
