"""Kinematic polytopes: positions of the centre of mass reachable from a fixed effector, K of [Tonneau2018] (3).

`generate_polytopes` computes them from sampled configurations, `load_polytopes` reads those shipped with a robot.
"""

from com_trajectory.kinematics.generate import generate_polytopes
from com_trajectory.kinematics.store import EffectorPolytope, RobotPolytopes, load_polytopes, save_polytopes

__all__ = ["EffectorPolytope", "RobotPolytopes", "generate_polytopes", "load_polytopes", "save_polytopes"]
