"""`mujoco` backend: an independent physics engine, driven by torques only."""

from multi_qp_simulator.mujoco_world.backend import MujocoBackend

__all__ = ["MujocoBackend"]
