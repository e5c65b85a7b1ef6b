"""Safety regions: balls around shoulders and other parts of the body that hands keep free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.upper_body import AnticipationSpec
from upper_body.arm_kinematics import ArmKinematics


class Region(NamedTuple):
    """A ball that moves with a link, [Alvarado2022] section 5.1.

    Attributes:
        frame: frame of the link.
        offset: of its centre in that frame, (3,) [m].
        hands: hands that keep it free, by index.
        radius: [m].
        hold: distance of a palm from the centre at which an obstacle is stopped [m].
        reach: largest distance of a palm from the centre [m].
        reaction: bounds of the reaction time [s].
        tension: least tension of a hand that meets an obstacle there, 0 to 1.
        approach: angles of all hinges from which the inverse kinematics of a hand starts, (n,) [rad].
        obstacles: names or patterns of what is kept out of it.
        shared: whether it is one of those that all hands keep free.
    """

    frame: int
    offset: Array
    hands: tuple[int, ...]
    radius: float
    hold: float
    reach: float
    reaction: tuple[float, float]
    tension: float
    approach: Array
    obstacles: Sequence[str] = ("*",)
    shared: bool = False

    def centre(self, kinematics: Kinematics) -> Array:
        """Return the centre, world frame, (3,) [m]."""
        return np.asarray(kinematics.pose(self.frame).act(self.offset))

    def velocity(self, scene: Scene, kinematics: Kinematics) -> Array:
        """Return the velocity of the centre, world frame, (3,) [m/s]."""
        twist = pin.getFrameVelocity(scene.model, kinematics.data, self.frame, pin.LOCAL_WORLD_ALIGNED)
        lever = kinematics.pose(self.frame).rotation @ self.offset
        return np.asarray(twist.linear + np.cross(twist.angular, lever))


def regions_of(rules: AnticipationSpec, scene: Scene, arms: Sequence[ArmKinematics], q_index: Indices) -> list[Region]:
    """Return the regions of the shoulders, one for each hand, and those that all hands keep free.

    Args:
        rules: the rules.
        scene: the scene.
        arms: the arm of each hand.
        q_index: the hinges, by index in q, (n,).
    """
    name, posture = rules.subsystem, rules.posture if rules.approach is None else rules.approach
    approach = posture_configuration(scene, name, posture)[q_index]
    found = [
        Region(arm.shoulder, np.zeros(3), (h,), rules.radius, rules.hold, rules.reach, rules.reaction, 0.0, approach)
        for h, arm in enumerate(arms)
    ]
    everyone = tuple(range(len(arms)))
    for one in rules.regions.values():
        raised = approach if one.approach is None else posture_configuration(scene, name, one.approach)[q_index]
        frame, reaction, xyz = scene.frame_id(f"{name}/{one.link}"), one.reaction or rules.reaction, np.array(one.xyz)
        bounds = one.radius, one.hold, one.reach, reaction, one.tension
        found.append(Region(frame, xyz, everyone, *bounds, raised, one.obstacles, shared=True))
    return found
