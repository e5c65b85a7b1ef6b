"""Goals on the positions of frames, centres of mass and bodies."""

from __future__ import annotations

import math
from fnmatch import fnmatch

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.support_polygon import margin_inside
from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_scene.surfaces import Surface
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal


class Pose(MonitoredGoal):
    """Pose of a frame at the end."""

    def __init__(self, goal: goals.PoseGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._scene = scenario.scene

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate the pose."""
        goal = self._goal
        place = self._place(state.q)
        wanted = self._place(self._scene.q0) if goal.target == "initial" else np.array(goal.target)
        error = float(np.linalg.norm(place - wanted))
        return {"": GoalResult(place.tolist(), wanted.tolist(), error, goal.tolerance, error <= goal.tolerance)}

    def _place(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        data = place_frames(self._scene.model, q)
        return np.array(data.oMf[self._scene.frame_id(self._goal.frame)].translation)


class Passed(MonitoredGoal):
    """Least distance of a frame from a position."""

    def __init__(self, goal: goals.PassGoal, scenario: Scenario) -> None:
        self._goal, self._model = goal, scenario.scene.model
        self._frame, self._target = scenario.scene.frame_id(goal.frame), np.array(goal.target)
        self._least, self._place = math.inf, np.full(3, math.nan)

    def observe(self, moment: Moment) -> None:
        """Record the least distance."""
        between = self._goal.between
        if between is not None and not between[0] <= moment.time <= between[1]:
            return
        place = np.array(place_frames(self._model, moment.state.q).oMf[self._frame].translation)
        distance = float(np.linalg.norm(place - self._target))
        if distance < self._least:
            self._least, self._place = distance, place

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate it."""
        goal, value = self._goal, self._place.tolist() if math.isfinite(self._least) else None
        return {"": GoalResult(value, list(goal.target), self._least, goal.tolerance, self._least <= goal.tolerance)}


class Tilt(MonitoredGoal):
    """Largest angle of a frame's z axis from the vertical."""

    def __init__(self, goal: goals.TiltGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._frame = scenario.scene.frame_id(goal.frame)
        self._worst: float | None = None

    def observe(self, moment: Moment) -> None:
        """Record the largest angle."""
        if self._goal.states is not None and moment.phase not in self._goal.states:
            return
        up = moment.controller.kinematics.pose(self._frame).rotation[:, 2]
        tilt = math.atan2(math.hypot(up[0], up[1]), up[2])
        self._worst = tilt if self._worst is None else max(self._worst, tilt)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate it."""
        error = math.inf if self._worst is None else self._worst
        return {"": GoalResult(self._worst, 0.0, error, self._goal.tolerance, error <= self._goal.tolerance)}


class Balance(MonitoredGoal):
    """Smallest margin of a centre of mass in the support polygon; the error is the deficit."""

    def __init__(self, goal: goals.BalanceGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._group = Group.of(scenario.scene, goal.subsystems)
        self._least = math.inf
        self._contacts: dict[str, ActiveContact] = {}
        self._carrying: list[Surface] = []

    def observe(self, moment: Moment) -> None:
        """Record the smallest distance."""
        if self._goal.states is not None and moment.phase not in self._goal.states:
            return
        controller = moment.controller
        if controller.contacts != self._contacts:
            self._contacts = dict(controller.contacts)
            self._carrying = [made.first for name, made in self._contacts.items() if self._is_carried_by(name, made)]
        if self._carrying:
            com = self._group.com(controller.kinematics)
            self._least = min(self._least, margin_inside(controller.kinematics, self._carrying, com))

    def _is_carried_by(self, name: str, contact: ActiveContact) -> bool:
        """Return whether a contact supports the group on the environment, rather than another group."""
        if self._goal.contacts is not None:
            return name in self._goal.contacts
        member = contact.first.name.split("/")[0] in self._goal.subsystems
        return member and contact.second.joint_id == 0 and contact.first.joint_id != 0

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate the margin."""
        missing = max(0.0, self._goal.margin - self._least)
        observed = math.isfinite(self._least)
        return {"": GoalResult(self._least, self._goal.margin, missing, 0.0, observed and missing == 0.0)}


class MinimumDistance(MonitoredGoal):
    """Smallest distance of monitored pairs; pairs that never came within their influence distance count as far."""

    def __init__(self, goal: goals.ClearanceGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._least = math.inf
        self._concerned: NDArray[np.bool_] | None = None

    def observe(self, moment: Moment) -> None:
        """Record the smallest distance."""
        controller = moment.controller
        if self._concerned is None:
            links = [pair.pair.links for pair in controller.collisions.pairs]
            self._concerned = np.array([self._concerns(both) for both in links], dtype=bool)
        self._least = min(self._least, controller.collisions.least(self._concerned))

    def _concerns(self, links: tuple[str, str]) -> bool:
        first, second = self._goal.bodies
        return any(fnmatch(a, first) and fnmatch(b, second) for a, b in (links, links[::-1]))

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate it."""
        missing = max(0.0, self._goal.at_least - self._least)
        good = self._concerned is not None and bool(self._concerned.any()) and self._least > self._goal.at_least
        return {"": GoalResult(self._least, self._goal.at_least, missing, 0.0, good)}
