"""Schema of `health`: bounds of a healthy run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Distance, Positive, Spread


class HealthSpec(StrictModel):
    """Bounds of a healthy run. A run beyond one of them fails and says why, even if it reaches its goals.

    So does one that makes a contact beyond its `contact_tolerance`, without a measured force.

    Attributes:
        qp_failures: number of ticks whose QP had no solution without slack; not applied on a ROS graph.
        slip: linear slip of a contact [m].
        twist: angular slip of a contact [rad].
        overlap: overlap of two bodies that no contact of the scenario connects [m].
        touch_force: force on a body of a character from another body, without a contact of the scenario, relative to
            the weight of the character; of two characters, the lighter one.
        lost_impulse: impulse that the QP expects of an active contact without a break in which it bears nothing in the
            simulation, relative to the weight of the character; of two characters, the lighter one [s].
        torque: torque relative to its limit.
        velocity: joint velocity relative to its limit.
        joint_limits: joint position beyond its limits [rad], [m]; beyond the initial violation, if that is larger.
        drop: fast drop of the centre of mass, in the world and relative to the contacts, that is a fall for
            `multi-qp robustness` [m].
        untouched: pairs of links, each a name or a pattern with `*`, that must not touch each other.
    """

    qp_failures: Annotated[int, Field(ge=0)] = 0
    slip: Distance = 0.01
    twist: Spread = 0.1
    overlap: Distance = 0.005
    touch_force: Positive = 2.0
    lost_impulse: Positive = 0.01
    torque: Positive = 1.001
    velocity: Positive = 1.05
    joint_limits: Spread = 0.01
    drop: Distance = 0.15
    untouched: list[tuple[str, str]] = []
