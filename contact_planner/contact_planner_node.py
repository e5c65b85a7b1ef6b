"""The node `contact_planner`: a goal pose in, contacts and postures out."""

from __future__ import annotations

import json
import sys
from time import monotonic, time_ns

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from contact_planner.problem import Goal
from multi_qp_controller.plan_errand import Errand, Todo
from multi_qp_controller.plan_following import PlanStatus
from multi_qp_controller.plan_worker import PlanAnswer, PlanWorker
from multi_qp_controller.planning import goal_of, goals_of
from multi_qp_controller.ros import conversions, parameters, process, topics
from multi_qp_controller.ros.diagnostics import Level
from multi_qp_controller.ros.health import Health
from multi_qp_controller.ros.parameters import SCENARIO_PARAMETERS, ParameterSpec
from multi_qp_controller.ros.plan_messages import sequence_message
from multi_qp_controller.ros.posture_messages import postures_message
from multi_qp_controller.ros.robot_states import RobotStates
from multi_qp_controller.state_parts import HALT
from multi_qp_scene.errors import MultiQpError

Array = NDArray[np.float64]

OWN, NONE = "scenario", "none"
PARAMETERS = (
    *(spec for spec in SCENARIO_PARAMETERS if spec.name in ("scenario", "set", "seed")),
    ParameterSpec(
        "goal", OWN, "of the base at first: 'scenario', as its file says; 'none'; 'x y z' [m] or 'x y z yaw' [m, rad]"
    ),
    ParameterSpec("budget", 0.0, "longest time for a plan [s]; 0: the scenario's", 0.0, 600.0),
    ParameterSpec("exit_on_failure", False, "end the process with status 1 where there is no plan for a goal"),
)
_PERIOD = 0.05  # [s] between looks at what there is to do
_SILENCE = 2.0  # [s] from when on the state of a robot is old


class ContactPlannerNode(Node):
    """Plans for the newest goal, from where the robots are, whenever a controller stands ready for a plan.

    Attributes:
        exit_status: set when the process shall end.
    """

    def __init__(self) -> None:
        super().__init__("contact_planner", automatically_declare_parameters_from_overrides=True)
        parameters.declare(self, PARAMETERS, read_only=True)
        self._settings = settings = parameters.values(self, PARAMETERS)
        self.exit_status: int | None = None
        self._scenario = scenario = parameters.load(settings)
        if scenario.spec.plan is None:
            raise MultiQpError(f"{scenario.name} has no `plan`: there is nothing to plan")
        self._body = scenario.scene.subsystems[scenario.spec.plan.character]
        self._errand = Errand(self._first_goal(settings["goal"]))
        self._worker = PlanWorker(scenario, budget=settings["budget"] or None)
        self._health = Health(self, dt=_PERIOD)
        self._robots = RobotStates(self, scenario.scene, max_age=_SILENCE, period=_PERIOD)
        latched = topics.LATCHED_QOS
        self._sequence = self.create_publisher(MultiDOFJointTrajectory, topics.CONTACT_SEQUENCE, latched)
        self._postures = self.create_publisher(JointTrajectory, topics.PLANNED_POSTURES, latched)
        self._command = self.create_publisher(String, topics.user_command(scenario.name), topics.EVENT_QOS)
        self.create_subscription(PoseStamped, topics.goal(scenario.name), self._take_goal, topics.EVENT_QOS)
        self.create_subscription(String, topics.PLAN_STATUS, self._take_status, latched)
        self._asked_for, self._summary = 0, ""

    def _first_goal(self, text: str) -> list[Goal] | None:
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
        return [Goal(pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, float(yaw)), numbers[:3]))]

    # -- what is heard

    def _take_goal(self, message: PoseStamped) -> None:
        try:
            position, rotation = conversions.read_target(message)
        except ValueError as error:
            self._health.statistics.count("refused_goals")
            self._health.warn(f"the goal was refused: {error}")
            return
        if rotation is None:  # the heading stays
            yaw = pin.rpy.matrixToRpy(self._base().rotation)[2]
            rotation = pin.rpy.rpyToMatrix(0.0, 0.0, float(yaw))
        self._health.statistics.count("goals")
        self._errand.give([Goal(pin.SE3(rotation, position))])

    def _base(self) -> pin.SE3:
        """Return where the base is, as far as that is known."""
        state, _ = self._robots.state()
        q = state.q[self._body.q_slice][:7]
        return pin.XYZQUATToSE3(q) if np.isfinite(q).all() else pin.SE3.Identity()

    def _take_status(self, message: String) -> None:
        try:
            told = json.loads(message.data)
            active = bool(told.pop("active"))
            status = PlanStatus(**told)
        except (ValueError, KeyError, TypeError) as error:
            self._health.warn(f"{topics.PLAN_STATUS} was not understood: {error!r}")
            return
        self._errand.heard(status, active=active)

    # -- what is done

    def work(self) -> float:
        """Do what is next for the goal; return for how long nothing will be due [s]."""
        answer = self._worker.answer()
        if answer is not None and self._errand.number == self._asked_for and self._errand.todo is Todo.PLAN:
            self._send(answer)
        if self._errand.todo is Todo.HALT:
            self._command.publish(String(data=HALT))
        elif self._errand.todo is Todo.PLAN and not self._worker.busy:
            self._ask()
        self._health.tell(*self._status())
        self._health.publish_if_due(monotonic())
        if self._settings["exit_on_failure"] and self._errand.outcome and not self._errand.reached:
            print(f"multi-qp: no plan: {self._errand.outcome}", file=sys.stderr)
            self.exit_status = process.GOALS_MISSED
        return _PERIOD

    def _ask(self) -> None:
        state, faults = self._robots.state()
        if self._robots.assembler.missing or faults or not np.isfinite(state.q).all() or self._errand.goal is None:
            return
        self._summary = ""
        self._asked_for = self._errand.number
        self._worker.ask(self._errand.goal, state.q)

    def _send(self, answer: PlanAnswer) -> None:
        plan = answer.plan
        if plan is None or answer.failure:
            self._errand.conclude(answer.failure)
            return
        if plan.moves == 0:
            self._errand.conclude("it is there already", reached=True)
            return
        stamp = time_ns()
        scene, name = self._scenario.scene, self._body.name
        self._postures.publish(postures_message(plan.postures, scene, name, stamp))
        self._sequence.publish(sequence_message(plan.sequence, stamp, self._scenario))
        self._errand.planned(stamp)
        self._health.statistics.count("plans")
        self._summary = f"{plan.moves} contacts in {sum(plan.seconds.values()):.2f} s"

    def _status(self) -> tuple[Level, str]:
        errand = self._errand
        if errand.outcome:
            return (Level.OK, errand.outcome) if errand.reached else (Level.WARN, f"no plan: {errand.outcome}")
        if errand.waits_for_controller:
            return Level.STALE, "waits for a controller"
        if errand.goal is None:
            return Level.OK, "waits for a goal"
        if errand.todo is Todo.HALT:
            return Level.OK, "waits until the character stands"
        if self._worker.busy:
            return Level.OK, "plans"
        if errand.sent:
            return Level.OK, self._summary
        missing = self._robots.assembler.missing or self._robots.state()[1]
        return Level.WARN, f"waits for the state: {', '.join(missing)}"

    def close(self) -> None:
        """Leave the last plan as it is."""


def main() -> int:
    """Run the node."""
    return process.run(ContactPlannerNode)


if __name__ == "__main__":
    sys.exit(main())
