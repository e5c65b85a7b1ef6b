"""Velocity commands of walking robots on ROS."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Twist, TwistStamped

from multi_qp_controller.controller import Controller
from multi_qp_ros import conversions
from walking.generator import WalkingGenerator

#: Largest advance of the stamp of a command over the node's clock [s].
CLOCK_LAG = 1.0


def message_type(*, stamped: bool) -> Any:
    """Return the type of `cmd_vel`."""
    return TwistStamped if stamped else Twist


def read_command(message: Any, robot: str, now: int) -> tuple[tuple[float, float, float], float]:
    """Return vx, vy [m/s] and wz [rad/s] of a TwistStamped or Twist, and its age [s]; 0 without a stamp.

    Args:
        message: the command.
        robot: the subsystem that it is for.
        now: time of the node's clock [ns].

    Raises:
        ValueError: when it is in another frame than that of the robot's base, or its stamp is ahead of the clock.
    """
    twist, age = message, 0.0
    if isinstance(message, TwistStamped):
        twist, frame = message.twist, message.header.frame_id
        own = [f"{space}{name}" for space in ("", f"{robot}/") for name in ("base_footprint", "base_link")]
        if frame not in ("", *own):
            raise ValueError(f"it is in the frame {frame[:60]!r}, expected '{own[0]}' or none")
        stamp = conversions.from_stamp(message.header.stamp)
        age = (now - stamp) * 1e-9 if stamp else 0.0
        if age < -CLOCK_LAG:
            raise ValueError(f"its stamp is {-age:.3f} s ahead of the node's clock")
    return (twist.linear.x, twist.linear.y, twist.angular.z), max(age, 0.0)


def walkers(controller: Controller) -> dict[str, WalkingGenerator]:
    """Return the walking generators of the present state by robot."""
    generators = controller.generators.values()
    return {one.subsystem: one for one in generators if isinstance(one, WalkingGenerator)}


def command_warnings(controller: Controller) -> str:
    """Return which robots have no velocity commands any more, or slower ones than were asked for; "" if none has."""
    found = []
    for robot, walker in walkers(controller).items():
        if walker.velocity.silence:
            found.append(f"no velocity command for '{robot}' for {walker.velocity.silence:.1f} s")
        if walker.velocity.reduced is not None:
            asked, allowed = (", ".join(f"{x:.2f}" for x in v) for v in walker.velocity.reduced)
            found.append(f"velocity command for '{robot}' reduced from ({asked}) to ({allowed})")
    return "; ".join(found)
