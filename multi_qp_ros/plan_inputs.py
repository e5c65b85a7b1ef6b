"""Subscriptions for plans: contact sequence, schedule, curves and postures, matched by their stamps."""

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

from motion_generation.plan_following import CompiledPlan, PlanFollower, PlanStatus
from motion_generation.planning import along_trajectory, joined
from motion_generation.sampled_curve import curve_through
from multi_qp_controller.controller import Controller
from multi_qp_ros import topics
from multi_qp_ros.conversions import from_stamp
from multi_qp_ros.health import Health
from multi_qp_ros.plan_messages import begins_of, curves_of, sequence_of
from multi_qp_ros.posture_messages import postures_of
from multi_qp_ros.qos import LATCHED_QOS
from multi_qp_ros.subscriptions import subscribe
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: Switch interval of the interpreter [s] (default 5 ms): longest delay of a tick by the thread that compiles a plan.
_SWITCH_INTERVAL = 2e-4


class PlanInputs:
    """Subscriptions of a controller for plans, and the publisher of the plan status.

    Attributes:
        follower: selects the plan to follow.
    """

    def __init__(
        self,
        node: Any,
        health: Health,
        scenario: Scenario,
        make_controller: Callable[[Scenario], Controller],
    ) -> None:
        """Create the subscriptions.

        Args:
            node: node of the subscriptions.
            health: health of the node.
            scenario: scenario with a `plan`, prepared for plans.
            make_controller: returns the controller of a scenario.
        """
        self._scenario, self._health = scenario, health
        self.follower = PlanFollower(scenario, make_controller)
        self._received: dict[str, Any] = {}
        self._offered = 0
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL))
        self._published: PlanStatus | None = None
        self._status = node.create_publisher(String, topics.PLAN_STATUS, LATCHED_QOS)
        trajectory = MultiDOFJointTrajectory
        self._subscriptions = [
            subscribe(node, health, message, topic, partial(self._receive, topic), LATCHED_QOS)
            for message, topic in (
                (trajectory, topics.CONTACT_SEQUENCE),
                (trajectory, topics.CONTACT_SCHEDULE),
                (trajectory, topics.COM_TRAJECTORY),
                (JointTrajectory, topics.PLANNED_POSTURES),
            )
        ]

    def _receive(self, topic: str, message: Any) -> None:
        self._received[topic] = message
        stamps = {from_stamp(received.header.stamp) for received in self._received.values()}
        if len(self._received) < len(self._subscriptions) or len(stamps) > 1:
            return
        stamp = stamps.pop()
        if stamp != self._offered:
            self._offered = stamp
            self.follower.offer(stamp, partial(compiled_plan, self._scenario, dict(self._received)))

    def controller_for(self, state: State, controller: Controller) -> Controller | None:
        """Return the controller to switch to after a tick, or None; publish changes of the status."""
        following = self.follower.controller_for(state, controller)
        self.publish_status()
        return following

    def publish_status(self, *, active: bool = True) -> None:
        """Publish the status if it has changed."""
        status = self.follower.status if active else PlanStatus()
        if status != self._published:
            if status.refused and (self._published is None or status.refused != self._published.refused):
                self._health.warn(f"a plan was refused: {status.reason}")
            self._published = status
            self._status.publish(String(data=json.dumps({"active": active, **asdict(status)})))


def compiled_plan(scenario: Scenario, received: dict[str, Any]) -> CompiledPlan:
    """Return a plan compiled to states.

    Args:
        scenario: scenario with a `plan`, prepared for plans.
        received: messages of one plan by topic.

    Raises:
        MultiQpError: when the messages are inconsistent with each other or with the scenario.
    """
    plan = scenario.spec.plan
    if plan is None:
        raise MultiQpError(f"{scenario.name} has no `plan`")
    sequence = sequence_of(received[topics.CONTACT_SEQUENCE], scenario, friction=plan.friction)
    if sequence.subsystems != (plan.character,):
        raise MultiQpError(f"the plan is of {', '.join(sequence.subsystems)}, not of {plan.character}")
    phases = joined(sequence)
    begins = begins_of(received[topics.CONTACT_SCHEDULE])
    if len(begins) != len(phases.phases):
        raise MultiQpError(f"the contacts have {len(phases.phases)} phases, their schedule has {len(begins)}")
    samples = curves_of(received[topics.COM_TRAJECTORY], plan.character)
    trajectory = curve_through(*samples, phases, np.append(begins[1:], samples[0][-1:]))
    postures = postures_of(received[topics.PLANNED_POSTURES], scenario, plan.character)
    if len(postures) != len(sequence.phases):
        raise MultiQpError(f"the contacts have {len(sequence.phases)} phases, there are {len(postures)} postures")
    return CompiledPlan(along_trajectory(scenario, sequence, postures, trajectory), sequence, samples[1][0])
