"""Node `contact_planner`: subscribes to a goal pose, publishes a contact sequence and postures."""

from __future__ import annotations

import sys
from dataclasses import asdict
from time import monotonic, time_ns
from typing import NoReturn

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PoseStamped
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from contact_planner.problem import PlanningGoal
from motion_generation.goal_request import GoalRequest, NextStep
from motion_generation.plan_following import PlanStatus
from motion_generation.plan_worker import PlanResult, PlanWorker
from motion_generation.planning import goal_of, goals_of
from motion_generation.state_parts import HALT
from multi_qp_ros import conversions, process, topics
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.health import Health
from multi_qp_ros.parameters import SCENARIO_PARAMETERS, NodeParameter
from multi_qp_ros.plan_messages import sequence_message
from multi_qp_ros.posture_messages import postures_message
from multi_qp_ros.qos import EVENT_QOS, LATCHED_QOS
from multi_qp_ros.robot_states import RobotStates
from multi_qp_ros.scenario_node import ScenarioNode
from multi_qp_ros.subscriptions import read_json, subscribe
from multi_qp_scene.errors import MultiQpError

OWN, NONE = "scenario", "none"
PARAMETERS = (
    *(spec for spec in SCENARIO_PARAMETERS if spec.name in ("scenario", "set", "seed")),
    NodeParameter(
        "goal", OWN, "first goal of the base: 'scenario', as in its file; 'none'; 'x y z' [m] or 'x y z yaw' [m, rad]"
    ),
    NodeParameter("budget", 0.0, "longest time for a plan [s]; 0: the scenario's", 0.0, 600.0),
    NodeParameter("exit_on_failure", False, "end the process with status 1 where there is no plan for a goal"),
)
_PERIOD = 0.05  # [s] of `work`
_SILENCE = 2.0  # [s] age from which on the state of a robot is outdated


class ContactPlannerNode(ScenarioNode):
    """Plans for the newest goal from the measured state, whenever a controller is ready for a plan."""

    def __init__(self) -> None:
        super().__init__("contact_planner", PARAMETERS)
        settings, scenario = self._settings, self._scenario
        if scenario.spec.plan is None:
            raise MultiQpError(f"{scenario.name} has no `plan`: there is nothing to plan")
        self._body = scenario.scene.subsystems[scenario.spec.plan.character]
        self._goal_request = GoalRequest(self._first_goal(settings["goal"]))
        self._worker = PlanWorker(scenario, budget=settings["budget"] or None)
        self._health = Health(self, dt=_PERIOD)
        self._robots = RobotStates(self, self._health, scenario.scene, max_age=_SILENCE, period=_PERIOD)
        latched = LATCHED_QOS
        self._sequence = self.create_publisher(MultiDOFJointTrajectory, topics.CONTACT_SEQUENCE, latched)
        self._postures = self.create_publisher(JointTrajectory, topics.PLANNED_POSTURES, latched)
        self._command = self.create_publisher(String, topics.user_command(scenario.name), EVENT_QOS)
        subscribe(self, self._health, PoseStamped, topics.goal(scenario.name), self._take_goal, EVENT_QOS)
        subscribe(self, self._health, String, topics.PLAN_STATUS, self._take_status, latched)
        self._requested, self._summary = 0, ""

    def _first_goal(self, text: str) -> list[PlanningGoal] | None:
        if text == OWN:
            return goals_of(self._scenario)
        if text == NONE:
            return None
        try:
            numbers = np.array([float(part) for part in text.split()])
        except ValueError:
            numbers = np.empty(0)
        if len(numbers) not in (3, 4) or not np.isfinite(numbers).all():
            raise MultiQpError(f"parameter 'goal': expected '{OWN}', '{NONE}', 'x y z' or 'x y z yaw', got '{text}'")
        yaw = numbers[3] if len(numbers) == 4 else pin.rpy.matrixToRpy(goal_of(self._scenario).rotation)[2]
        return [PlanningGoal(pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, float(yaw)), numbers[:3]))]

    # -- received messages

    def _take_goal(self, message: PoseStamped) -> None:
        try:
            position, rotation = conversions.read_target(message)
        except ValueError as error:
            self._health.statistics.count("refused_goals")
            self._health.warn(f"the goal was refused: {error}")
            return
        if rotation is None:  # keep the present heading
            yaw = pin.rpy.matrixToRpy(self._base().rotation)[2]
            rotation = pin.rpy.rpyToMatrix(0.0, 0.0, float(yaw))
        self._health.statistics.count("goals")
        self._goal_request.set_goal([PlanningGoal(pin.SE3(rotation, position))])

    def _base(self) -> pin.SE3:
        """Return the pose of the base; the identity if it is unknown."""
        state, _ = self._robots.state()
        q = state.q[self._body.q_slice][:7]
        return pin.XYZQUATToSE3(q) if np.isfinite(q).all() else pin.SE3.Identity()

    def _take_status(self, message: String) -> None:
        content = read_json(message.data)
        active = content.pop("active", None)
        expected = {**asdict(PlanStatus()), "active": True}
        if any(type(value) is not type(expected.get(name)) for name, value in {**content, "active": active}.items()):
            kinds = ", ".join(f"{name} ({type(value).__name__})" for name, value in expected.items())
            raise ValueError(f"expected {kinds}")
        self._goal_request.update(PlanStatus(**content), active=active)

    # -- planning

    def work(self) -> float:
        """Do the next step for the goal; return the time until the next call [s]."""
        answer = self._worker.result()
        if (
            answer is not None
            and self._goal_request.number == self._requested
            and self._goal_request.next_step is NextStep.PLAN
        ):
            self._send(answer)
        if self._goal_request.next_step is NextStep.HALT:
            self._command.publish(String(data=HALT))
        elif self._goal_request.next_step is NextStep.PLAN and not self._worker.busy:
            self._request_plan()
        self._health.set_status(*self._status())
        self._health.publish_if_due(monotonic())
        if self._settings["exit_on_failure"] and self._goal_request.outcome and not self._goal_request.reached:
            print(f"multi-qp: no plan: {self._goal_request.outcome}", file=sys.stderr)
            self.exit_status = process.GOALS_MISSED
        return _PERIOD

    def _request_plan(self) -> None:
        state, faults = self._robots.state()
        if (
            self._robots.assembler.missing
            or faults
            or not np.isfinite(state.q).all()
            or self._goal_request.goal is None
        ):
            return
        self._summary = ""
        self._requested = self._goal_request.number
        self._worker.request(self._goal_request.goal, state.q)

    def _send(self, answer: PlanResult) -> None:
        plan = answer.plan
        if plan is None or answer.failure:
            self._goal_request.conclude(answer.failure)
            return
        if plan.moves == 0:
            self._goal_request.conclude("it is there already", reached=True)
            return
        stamp = time_ns()
        scene, name = self._scenario.scene, self._body.name
        self._postures.publish(postures_message(plan.postures, scene, name, stamp))
        self._sequence.publish(sequence_message(plan.sequence, stamp, self._scenario))
        self._goal_request.plan_sent(stamp)
        self._health.statistics.count("plans")
        self._summary = f"{plan.moves} contacts in {sum(plan.seconds.values()):.2f} s"

    def _status(self) -> tuple[Level, str]:
        goal_request = self._goal_request
        if goal_request.outcome:
            return (
                (Level.OK, goal_request.outcome)
                if goal_request.reached
                else (Level.WARN, f"no plan: {goal_request.outcome}")
            )
        if goal_request.waits_for_controller:
            return Level.STALE, "waits for a controller"
        if goal_request.goal is None:
            return Level.OK, "waits for a goal"
        if goal_request.next_step is NextStep.HALT:
            return Level.OK, "waits until the character stands"
        if self._worker.busy:
            return Level.OK, "plans"
        if goal_request.sent:
            return Level.OK, self._summary
        missing = self._robots.assembler.missing or self._robots.state()[1]
        return Level.WARN, f"waits for the state: {', '.join(missing)}"


def main() -> NoReturn:
    """Run the node."""
    process.run(ContactPlannerNode)


if __name__ == "__main__":
    main()
