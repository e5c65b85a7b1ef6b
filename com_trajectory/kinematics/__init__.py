"""Where the centre of mass of a robot can be while an effector stays in place: polytopes K of [Tonneau2018] (3).

`generate_polytopes` makes them from sampled configurations, `load_polytopes` reads those that a robot ships with.
"""

from com_trajectory.kinematics.generate import generate_polytopes
from com_trajectory.kinematics.store import EffectorPolytope, RobotPolytopes, load_polytopes, save_polytopes

__all__ = ["EffectorPolytope", "RobotPolytopes", "generate_polytopes", "load_polytopes", "save_polytopes"]
