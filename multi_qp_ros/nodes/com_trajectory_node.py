"""Node `com_trajectory`: subscribes to a contact sequence, publishes the trajectory of each centre of mass."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, perf_counter
from typing import NoReturn

import numpy as np
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from com_trajectory.costs import COSTS
from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import ComTrajectory
from motion_generation.planned_tasks import com_of
from motion_generation.planning import pace_of, schedule, trajectory_through, with_postures
from motion_generation.sequences import repaired, towards_the_smaller, with_centres
from motion_generation.whole_body_check import WholeBodyCheck
from multi_qp_ros import process, topics
from multi_qp_ros.com_markers import ComMarkers
from multi_qp_ros.conversions import from_stamp
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.health import Health
from multi_qp_ros.parameters import SCENARIO_PARAMETERS, NodeParameter
from multi_qp_ros.plan_messages import sequence_message, sequence_of, trajectory_message
from multi_qp_ros.posture_messages import postures_of
from multi_qp_ros.qos import LATCHED_QOS
from multi_qp_ros.scenario_node import ScenarioNode
from multi_qp_ros.subscriptions import subscribe
from multi_qp_scene import former_names
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import model_path

#: Cost of transition points by the distance to the centre of the polytope of the phase with fewer contacts.
SMALLER_REGION_CENTRE = "smaller_region_centre"
PARAMETERS = (
    *(spec for spec in SCENARIO_PARAMETERS if spec.name in ("scenario", "set", "seed")),
    NodeParameter("curve", "2pac", "type of the curve through the phases", choices=("2pac", "polyline", "smooth")),
    NodeParameter(
        "cost",
        SMALLER_REGION_CENTRE,
        "cost of the transition points",
        choices=(SMALLER_REGION_CENTRE, *COSTS),
        former=former_names.COSTS,
    ),
    NodeParameter("friction", 0.6, "of contacts that the scenario does not name", 0.0, 10.0),
    NodeParameter("budget", 5.0, "time for the whole-body repair of transition points [s]; 0: none", 0.0, 600.0),
    NodeParameter("step", 0.02, "time between the points of the trajectory [s]", 0.001, 1.0),
    NodeParameter("markers", True, "publish polytopes, transition points and curves for RViz"),
)
_PERIOD = 0.1  # [s] of `work`
_PLACED = 0.005  # [m, rad] largest error of a posture on the contacts


class ComTrajectoryNode(ScenarioNode):
    """Computes a trajectory for each new contact sequence; an invalid one is reported in the diagnostics only.

    The trajectory has the stamp of the sequence. In a scenario with a `plan`, sequences come with postures of that
    stamp.
    """

    def __init__(self) -> None:
        super().__init__("com_trajectory", PARAMETERS)
        self._health = Health(self, dt=_PERIOD)
        self._polytopes: dict[str, dict[str, Polytope]] = {}
        self._last = ""
        self._sequence: MultiDOFJointTrajectory | None = None
        self._postures: JointTrajectory | None = None
        self._markers = ComMarkers()
        trajectory, latched = MultiDOFJointTrajectory, LATCHED_QOS
        self._output = self.create_publisher(trajectory, topics.COM_TRAJECTORY, latched)
        self._schedule = self.create_publisher(trajectory, topics.CONTACT_SCHEDULE, latched)
        self._drawing = self.create_publisher(MarkerArray, topics.COM_MARKERS, latched)
        subscribe(self, self._health, trajectory, topics.CONTACT_SEQUENCE, self._take, latched)
        if self._scenario.spec.plan is not None:
            subscribe(self, self._health, JointTrajectory, topics.PLANNED_POSTURES, self._take_postures, latched)
        process.post_update()
        self._health.set_status(Level.OK, "waiting for a contact sequence")

    def _take(self, message: MultiDOFJointTrajectory) -> None:
        self._sequence = message
        self._follow(message)

    def _take_postures(self, message: JointTrajectory) -> None:
        self._postures = message
        if self._sequence is not None:
            self._follow(self._sequence)

    def _follow(self, message: MultiDOFJointTrajectory) -> None:
        content = repr((message.joint_names, message.points))  # as text, since NaN != NaN
        postures, stamp = None, from_stamp(message.header.stamp)
        if self._scenario.spec.plan is not None:
            postures = self._postures
            if postures is None or from_stamp(postures.header.stamp) != stamp:
                self._health.set_status(Level.OK, "waiting for the postures of a contact sequence")
                return
            content += str(stamp)  # a new plan may have the same contacts
        if content == self._last:
            return
        started = perf_counter()
        try:
            sequence = sequence_of(message, self._scenario, friction=self._settings["friction"])
            if postures is None:
                trajectories = {name: self._followed(sequence, name) for name in sequence.subsystems}
            else:
                trajectories = self._through(sequence, postures)
        except (MultiQpError, ValueError, np.linalg.LinAlgError) as error:
            self._health.set_status(Level.WARN, f"the contact sequence cannot be followed: {error}")
            return
        except Exception as error:
            self._health.failed("contact sequence", error)
            self._health.set_status(
                Level.WARN, f"the contact sequence cannot be followed: {type(error).__name__}: {error}"
            )
            return
        self._last = content
        took = 1e3 * (perf_counter() - started)
        self._publish(trajectories, stamp or int(self.get_clock().now().nanoseconds))
        self._publish_health(trajectories, took)

    def _publish(self, trajectories: dict[str, ComTrajectory], stamp: int) -> None:
        if len(trajectories) == 1:
            timed = schedule(next(iter(trajectories.values())))
            self._schedule.publish(sequence_message(timed, stamp, self._scenario))
        self._output.publish(trajectory_message(trajectories, step=self._settings["step"], stamp=stamp))
        if self._settings["markers"]:
            self._drawing.publish(self._markers.of(trajectories, stamp))

    def _publish_health(self, trajectories: dict[str, ComTrajectory], took: float) -> None:
        notes = [f"{name}: {note}" for name, trajectory in trajectories.items() for note in trajectory.notes]
        phases = sum(len(trajectory.phases) for trajectory in trajectories.values())
        summary = f"{phases} phases in {took:.0f} ms"
        self._health.set_status(Level.WARN if notes else Level.OK, "; ".join([summary, *notes]))
        self._health.publish()

    def _through(self, sequence: ContactSequence, message: JointTrajectory) -> dict[str, ComTrajectory]:
        """Return the curve through the centres of mass of a plan's postures."""
        name = sequence.subsystems[0]
        postures = postures_of(message, self._scenario, name)
        planned = with_postures(sequence, postures, self._scenario)
        return {name: trajectory_through(planned, postures, self._reach(name), pace=pace_of(self._scenario))}

    def _followed(self, sequence: ContactSequence, name: str) -> ComTrajectory:
        """Return a curve for contacts without postures, after computing the centre of mass and the postures."""
        own, scene = sequence.of(name), self._scenario.scene
        check = WholeBodyCheck(scene, name)
        q, missed = check.reach(own.phases[0].contacts, scene.q0)
        if missed > _PLACED:
            raise MultiQpError(
                f"{name} cannot stand on the contacts of the first phase: it misses them by {missed:.3f} m"
            )
        own = with_centres(own, name, com_of(scene, name, q), check, q)
        cost = self._settings["cost"]
        options = PlanOptions(
            curve=self._settings["curve"], cost=towards_the_smaller(name) if cost == SMALLER_REGION_CENTRE else cost
        )
        found, _, repairs = repaired(own, self._reach(name), options, check, q, budget=self._settings["budget"])
        return replace(found, notes=(*found.notes, *repairs))

    def _reach(self, name: str) -> dict[str, Polytope]:
        """Return the kinematic polytopes of a subsystem's surfaces that have one, by surface."""
        if name not in self._polytopes:
            spec = self._scenario.spec.subsystems[name]
            path = model_path(spec.model, relative_to=self._scenario.path.parent)
            effectors = load_polytopes(path).effectors
            self._polytopes[name] = {surface: effector.polytope for surface, effector in effectors.items()}
        return self._polytopes[name]

    def work(self) -> float:
        """Publish diagnostics if they are due; return the time until the next call [s]."""
        self._health.publish_if_due(monotonic())
        return _PERIOD


def main() -> NoReturn:
    """Run the node."""
    process.run(ComTrajectoryNode)


if __name__ == "__main__":
    main()
