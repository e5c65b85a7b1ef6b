"""Goals of a scenario: measured while it runs, judged at its end."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from typing import Any, assert_never

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.controller import Controller
from multi_qp_controller.kinematics import Group
from multi_qp_controller.references import RandomPoints
from multi_qp_controller.support import distance_inside, support_polygon
from multi_qp_controller.tasks import PoseTask
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema import states as st


@dataclass(frozen=True)
class GoalResult:
    """How a goal ended: `value` against `target`, `error` against `tolerance` [SI units]."""

    value: Any
    target: Any
    error: float | None
    tolerance: float | None
    reached: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; a number that is not finite becomes None, for JSON has none."""
        return {name: _finite(value) for name, value in asdict(self).items()}


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Moment:
    """What a goal looks at: one tick.

    Attributes:
        controller: after its step.
        state: the true state.
        time: [s].
        phase: name of the FSM state.
        since: how long it has lasted [s].
    """

    controller: Controller
    state: State
    time: float
    phase: str
    since: float


class GoalKeeper:
    """Watches the goals of one run."""

    def __init__(self, scenario: Scenario) -> None:
        self._goals = {name: _make(goal, scenario.scene) for name, goal in scenario.spec.goals.items()}

    def observe(self, controller: Controller, state: State, time: float) -> None:
        """Take in one tick."""
        machine = controller.machine
        moment = Moment(controller, state, time, machine.phase.name, time - machine.entered)
        for goal in self._goals.values():
            goal.observe(moment)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Judge every goal at the final state; a tracking goal gives one result for each quantity it bounds."""
        results: dict[str, GoalResult] = {}
        for name, goal in self._goals.items():
            for part, result in goal.results(state, visited).items():
                results[f"{name}_{part}" if part else name] = result
        return results


class _Goal(ABC):
    """One goal while it is watched."""

    def observe(self, moment: Moment) -> None:  # noqa: B027  (many goals only look at the end)
        """Take in one tick."""

    @abstractmethod
    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Return the verdicts, by part; "" for the goal as a whole."""


def _make(goal: st.GoalSpec, scene: Scene) -> _Goal:
    match goal:
        case st.TrackingGoal():
            return _Tracking(goal)
        case st.PoseGoal():
            return _Pose(goal, scene)
        case st.StateGoal():
            return _Visited(goal)
        case st.PointsGoal():
            return _Points(goal)
        case st.JointGoal():
            return _Joint(goal, scene)
        case st.JointVelocityGoal():
            return _JointVelocity(goal, scene)
        case st.TiltGoal():
            return _Tilt(goal, scene)
        case st.BalanceGoal():
            return _Balance(goal, scene)
        case st.ClearanceGoal():
            return _Clearance(goal)
        case _:
            assert_never(goal)


class _Tracking(_Goal):
    """Mean squares of a pose task's errors."""

    def __init__(self, goal: st.TrackingGoal) -> None:
        self._goal = goal
        self._count = 0
        self._squares = {"position": 0.0, "rotation": 0.0}

    def observe(self, moment: Moment) -> None:
        task = moment.controller.tasks.get(self._goal.task)
        if isinstance(task, PoseTask):
            self._count += 1
            self._squares["position"] += task.position_error**2
            self._squares["rotation"] += task.rotation_error**2

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        bounds = {"position": self._goal.position, "rotation": self._goal.rotation}
        results = {}
        for quantity, tolerance in bounds.items():
            if tolerance is None:
                continue
            rms = math.sqrt(self._squares[quantity] / self._count) if self._count else math.inf
            results[quantity] = GoalResult(rms, 0.0, rms, tolerance, rms <= tolerance)
        return results


class _Pose(_Goal):
    """Where a frame is at the end."""

    def __init__(self, goal: st.PoseGoal, scene: Scene) -> None:
        self._goal = goal
        self._scene = scene

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        goal = self._goal
        place = self._place(state.q)
        wanted = self._place(self._scene.q0) if goal.target == "initial" else np.array(goal.target)
        error = float(np.linalg.norm(place - wanted))
        return {"": GoalResult(place.tolist(), wanted.tolist(), error, goal.tolerance, error <= goal.tolerance)}

    def _place(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        data = self._scene.model.createData()
        pin.framesForwardKinematics(self._scene.model, data, q)
        return np.array(data.oMf[self._scene.frame_id(self._goal.frame)].translation)


class _Visited(_Goal):
    """Whether a state was entered often enough."""

    def __init__(self, goal: st.StateGoal) -> None:
        self._goal = goal

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        count = visited.count(self._goal.state)
        if self._goal.visits == 1:
            return {"": GoalResult(visited[-1], self._goal.state, None, None, count >= 1)}
        missing = float(max(0, self._goal.visits - count))
        return {"": GoalResult(count, self._goal.visits, missing, 0.0, missing == 0)}


class _Points(_Goal):
    """How many random points were missed; the error is the largest distance at which one was left."""

    def __init__(self, goal: st.PointsGoal) -> None:
        self._goal = goal
        self._reference: RandomPoints | None = None

    def observe(self, moment: Moment) -> None:
        task = moment.controller.tasks.get(self._goal.task)
        if isinstance(task, PoseTask) and isinstance(task.reference, RandomPoints):
            self._reference = task.reference

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        points = self._reference
        if points is None:
            return {"": GoalResult(0, None, None, None, False)}
        reached, worst = sum(points.reached), max(points.misses, default=math.inf)
        good = points.finished and len(points.reached) - reached <= self._goal.misses
        return {"": GoalResult(reached, points.count, worst, points.tolerance, good)}


class _Joint(_Goal):
    """The angle of a joint when a state was last left."""

    def __init__(self, goal: st.JointGoal, scene: Scene) -> None:
        self._goal = goal
        self._q_index = scene.model.joints[scene.model.getJointId(goal.joint)].idx_q
        self._angle = math.inf

    def observe(self, moment: Moment) -> None:
        if self._goal.state in (None, moment.phase):
            self._angle = float(moment.state.q[self._q_index])

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        goal = self._goal
        angle = float(state.q[self._q_index]) if goal.state in (None, visited[-1]) else self._angle
        error = abs(angle - goal.target)
        return {"": GoalResult(angle, goal.target, error, goal.tolerance, error <= goal.tolerance)}


class _JointVelocity(_Goal):
    """The worst velocity of a joint in a state; the error is relative."""

    def __init__(self, goal: st.JointVelocityGoal, scene: Scene) -> None:
        self._goal = goal
        self._v_index = scene.model.joints[scene.model.getJointId(goal.joint)].idx_v
        self._worst: float | None = None

    def observe(self, moment: Moment) -> None:
        if moment.phase != self._goal.state or moment.since < self._goal.after:
            return
        speed, target = float(moment.state.v[self._v_index]), self._goal.target
        if self._worst is None or abs(speed - target) > abs(self._worst - target):
            self._worst = speed

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        goal = self._goal
        error = math.inf if self._worst is None else abs(self._worst - goal.target) / abs(goal.target)
        return {"": GoalResult(self._worst, goal.target, error, goal.tolerance, error <= goal.tolerance)}


class _Tilt(_Goal):
    """The largest angle of a frame's z axis from the vertical."""

    def __init__(self, goal: st.TiltGoal, scene: Scene) -> None:
        self._goal = goal
        self._frame = scene.frame_id(goal.frame)
        self._worst: float | None = None

    def observe(self, moment: Moment) -> None:
        if self._goal.states is not None and moment.phase not in self._goal.states:
            return
        up = moment.controller.kinematics.pose(self._frame).rotation[:, 2]
        tilt = math.atan2(math.hypot(up[0], up[1]), up[2])
        self._worst = tilt if self._worst is None else max(self._worst, tilt)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        error = math.inf if self._worst is None else self._worst
        return {"": GoalResult(self._worst, 0.0, error, self._goal.tolerance, error <= self._goal.tolerance)}


class _Balance(_Goal):
    """The least distance of a centre of mass inside the support polygon; the error is what is missing."""

    def __init__(self, goal: st.BalanceGoal, scene: Scene) -> None:
        self._goal = goal
        self._group = Group.of(scene, goal.subsystems)
        self._least = math.inf

    def observe(self, moment: Moment) -> None:
        if self._goal.states is not None and moment.phase not in self._goal.states:
            return
        controller = moment.controller
        carrying = [contact.first for name, contact in controller.contacts.items() if self._is_carried_by(name, contact)]
        if carrying:
            polygon = support_polygon(controller.kinematics, carrying)
            com = self._group.com(controller.kinematics)
            self._least = min(self._least, distance_inside(polygon, com))

    def _is_carried_by(self, name: str, contact: ActiveContact) -> bool:
        """Return whether a contact rests a member of the group on the environment: other characters' feet carry them."""
        if self._goal.contacts is not None:
            return name in self._goal.contacts
        member = contact.first.name.split("/")[0] in self._goal.subsystems
        return member and contact.second.joint_id == 0 and contact.first.joint_id != 0

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        missing = max(0.0, self._goal.margin - self._least)
        observed = math.isfinite(self._least)
        return {"": GoalResult(self._least, self._goal.margin, missing, 0.0, observed and missing == 0.0)}


class _Clearance(_Goal):
    """The least distance of watched pairs; one that never came within its influence distance counts as far."""

    def __init__(self, goal: st.ClearanceGoal) -> None:
        self._goal = goal
        self._least = math.inf
        self._indices: list[int] | None = None

    def observe(self, moment: Moment) -> None:
        pairs = moment.controller.pair_distances
        if self._indices is None:
            self._indices = [k for k, pair in enumerate(pairs) if self._concerns(pair.pair.links)]
        for k in self._indices:
            self._least = min(self._least, pairs[k].distance)

    def _concerns(self, links: tuple[str, str]) -> bool:
        first, second = self._goal.bodies
        return any(fnmatch(a, first) and fnmatch(b, second) for a, b in (links, links[::-1]))

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        missing = max(0.0, self._goal.at_least - self._least)
        good = bool(self._indices) and self._least > self._goal.at_least
        return {"": GoalResult(self._least, self._goal.at_least, missing, 0.0, good)}
