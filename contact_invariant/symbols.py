"""CasADi, imported with a clear message if it is missing, and rotations as its expressions."""

from __future__ import annotations

from typing import Any

from multi_qp_scene.errors import MultiQpError

try:
    import casadi as ca
except ImportError as error:  # an optional dependency, of 280 MB
    raise MultiQpError("the synthesis of motions needs CasADi: pip install 'multi_qp_controller[synthesis]'") from error

__all__ = ["angular_acceleration", "angular_velocity", "ca", "exponential_map", "rotation"]


def exponential_map(r: Any) -> Any:
    """Return the rotation matrix of a rotation vector, (3, 3)."""
    squared = ca.sumsqr(r) + 1e-8
    angle, K = ca.sqrt(squared), ca.skew(r)
    return ca.SX.eye(3) + ca.sin(angle) / angle * K + (1 - ca.cos(angle)) / squared * (K @ K)


def rotation(axis: Any, angle: Any) -> Any:
    """Return the rotation about a constant unit axis, (3,), by a symbolic angle [rad], (3, 3)."""
    K = ca.skew(ca.DM(axis))
    return ca.SX.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


def angular_velocity(r: Any, rate: Any) -> Any:
    """Return the angular velocity in the world of a rotation vector and its rate, (3, 1)."""
    squared = ca.sumsqr(r) + 1e-8
    angle, K = ca.sqrt(squared), ca.skew(r)
    left = ca.SX.eye(3) + (1 - ca.cos(angle)) / squared * K + (angle - ca.sin(angle)) / (squared * angle) * (K @ K)
    return left @ rate


def angular_acceleration(r: Any, rate: Any, second: Any) -> Any:
    """Return the angular acceleration in the world of a rotation vector and its two rates, (3, 1)."""
    a, b, c = (ca.SX.sym(name, 3) for name in ("r", "rate", "second"))
    omega = angular_velocity(a, b)
    change = ca.jacobian(omega, a) @ b + ca.jacobian(omega, b) @ c
    return ca.Function("angular_acceleration", [a, b, c], [change])(r, rate, second)
