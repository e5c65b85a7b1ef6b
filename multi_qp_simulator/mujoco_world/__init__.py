"""`mujoco`: an independent physics engine plays the world; nothing but torques acts on the robots."""

from multi_qp_simulator.mujoco_world.backend import MujocoBackend

__all__ = ["MujocoBackend"]
