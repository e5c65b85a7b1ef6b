"""Kinematics and dynamics of the scene: relative motions, mass matrix, bias forces."""
