"""Footprints of walking robots, the frames by which they are navigated; independent of ROS."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pinocchio as pin

from multi_qp_ros.cdr import Template
from multi_qp_ros.scene_templates import odometry
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.walking import WalkingSpec


def walking_robots(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Return the subsystems that walk by a velocity command in some state, with their feet (surfaces)."""
    found: dict[str, tuple[str, ...]] = {}
    for state in scenario.spec.states.values():
        for spec in state.generators.values():
            if isinstance(spec, WalkingSpec):
                found[spec.subsystem] = tuple(scenario.spec.contacts[foot].surfaces[0] for foot in spec.feet)
    return found


class Footprint:
    """Frame `<subsystem>/base_footprint` of a walking robot (REP 120).

    The root link, projected to the height of the lowest foot, with its heading. Its odometry has the pose in the world
    and the twist in the frame itself (REP 105).

    Attributes:
        frame: its name.
    """

    def __init__(self, scenario: Scenario, robot: str) -> None:
        scene = scenario.scene
        subsystem = scene.subsystems[robot]
        self.frame = f"{robot}/base_footprint"
        self._feet = [scene.surfaces[foot].frame_id for foot in walking_robots(scenario)[robot]]
        self._root, self._v = subsystem.root_joints[0], subsystem.v_slice.start
        self._template = Template("nav_msgs/Odometry", partial(odometry, self.frame), 13)

    def pose(self, data: pin.Data) -> pin.SE3:
        """Return the pose in the world, for placed joints and frames."""
        root = data.oMi[self._root]
        x, y, _ = root.translation
        z = min(data.oMf[foot].translation[2] for foot in self._feet)
        return pin.SE3(pin.utils.rotate("z", _heading(root)), np.array([x, y, z]))

    def fill(self, data: pin.Data, state: State, stamp: int) -> bytes:
        """Return the Odometry of a state, for joints and frames placed at it, at a time [ns]."""
        root, v = data.oMi[self._root].rotation, state.v[self._v : self._v + 6]
        pose = self.pose(data)
        linear = pose.rotation.T @ root @ v[:3]
        rate = float(root[2] @ v[3:])
        twist = np.array([linear[0], linear[1], 0.0, 0.0, 0.0, rate])
        return self._template.fill(stamp, np.concatenate([pin.SE3ToXYZQUAT(pose), twist]))


def footprints(scenario: Scenario) -> dict[str, Footprint]:
    """Return the footprints of the walking robots of a scenario."""
    return {robot: Footprint(scenario, robot) for robot in walking_robots(scenario)}


def _heading(pose: pin.SE3) -> float:
    return math.atan2(pose.rotation[1, 0], pose.rotation[0, 0])
