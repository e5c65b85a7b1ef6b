"""How a controller hears of plans: contacts with their times, curves and postures, put together by their stamp."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from multi_qp_controller.controller import Controller
from multi_qp_controller.plan_following import Compiled, PlanFollower, PlanStatus
from multi_qp_controller.planning import along, joined
from multi_qp_controller.ros import topics
from multi_qp_controller.ros.conversions import from_stamp
from multi_qp_controller.ros.plan_messages import begins_of, curves_of, sequence_of
from multi_qp_controller.ros.posture_messages import postures_of
from multi_qp_controller.sampled_curve import curve_through
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: Longest time that a tick waits for the thread that makes a plan ready, in the same interpreter [s]; Python's is 5 ms.
_SWITCH_INTERVAL = 2e-4


class PlanInputs:
    """The subscriptions of a controller that follows plans, and what it says of them.

    Attributes:
        follower: decides which plan is followed.
    """

    def __init__(
        self,
        node: Any,
        scenario: Scenario,
        make_controller: Callable[[Scenario], Controller],
        warn: Callable[[str], None],
    ) -> None:
        """Listen.

        Args:
            node: that listens.
            scenario: with a `plan`, ready for plans.
            make_controller: makes the controller of a scenario.
            warn: tells of a plan that is refused.
        """
        self._node, self._scenario, self._warn = node, scenario, warn
        self.follower = PlanFollower(scenario, make_controller)
        self._heard: dict[str, Any] = {}
        self._offered = 0
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL))
        self._told: PlanStatus | None = None
        self._status = node.create_publisher(String, topics.PLAN_STATUS, topics.LATCHED_QOS)
        trajectory = MultiDOFJointTrajectory
        self._subscriptions = [
            node.create_subscription(message, topic, partial(self._take, topic), topics.LATCHED_QOS)
            for message, topic in (
                (trajectory, topics.CONTACT_SEQUENCE),
                (trajectory, topics.CONTACT_SCHEDULE),
                (trajectory, topics.COM_TRAJECTORY),
                (JointTrajectory, topics.PLANNED_POSTURES),
            )
        ]

    def _take(self, topic: str, message: Any) -> None:
        self._heard[topic] = message
        stamps = {from_stamp(heard.header.stamp) for heard in self._heard.values()}
        if len(self._heard) < len(self._subscriptions) or len(stamps) > 1:
            return
        stamp = stamps.pop()
        if stamp != self._offered:
            self._offered = stamp
            self.follower.offer(stamp, partial(compiled_plan, self._scenario, dict(self._heard)))

    def controller_for(self, state: State, controller: Controller) -> Controller | None:
        """Return the controller to go on with after a state was answered, or None; say what has changed."""
        following = self.follower.controller_for(state, controller)
        self.tell()
        return following

    def tell(self, *, active: bool = True) -> None:
        """Say how things are, if that has changed."""
        status = self.follower.status if active else PlanStatus()
        if status != self._told:
            if status.refused and (self._told is None or status.refused != self._told.refused):
                self._warn(f"a plan was refused: {status.reason}")
            self._told = status
            self._status.publish(String(data=json.dumps({"active": active, **asdict(status)})))

    def destroy(self) -> None:
        """Take subscriptions and publisher back."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._node.destroy_publisher(self._status)


def compiled_plan(scenario: Scenario, heard: dict[str, Any]) -> Compiled:
    """Return a plan as states.

    Args:
        scenario: with a `plan`, ready for plans.
        heard: the messages of one plan by topic.

    Raises:
        MultiQpError: they do not fit each other or the scenario.
    """
    plan = scenario.spec.plan
    if plan is None:
        raise MultiQpError(f"{scenario.name} has no `plan`")
    sequence = sequence_of(heard[topics.CONTACT_SEQUENCE], scenario, friction=plan.friction)
    if sequence.subsystems != (plan.character,):
        raise MultiQpError(f"the plan is of {', '.join(sequence.subsystems)}, not of {plan.character}")
    phases = joined(sequence)
    begins = begins_of(heard[topics.CONTACT_SCHEDULE])
    if len(begins) != len(phases.phases):
        raise MultiQpError(f"the contacts have {len(phases.phases)} phases, their schedule has {len(begins)}")
    samples = curves_of(heard[topics.COM_TRAJECTORY], plan.character)
    trajectory = curve_through(*samples, phases, np.append(begins[1:], samples[0][-1:]))
    postures = postures_of(heard[topics.PLANNED_POSTURES], scenario, plan.character)
    if len(postures) != len(sequence.phases):
        raise MultiQpError(f"the contacts have {len(sequence.phases)} phases, there are {len(postures)} postures")
    return Compiled(along(scenario, sequence, postures, trajectory), sequence, samples[1][0])
