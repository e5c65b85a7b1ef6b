"""Node `viewer`: display of the graph in a browser and through TF, and publication of the user's inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from std_msgs.msg import Float64, String
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from multi_qp_ros import com_markers, markers, plan_markers, process, topics
from multi_qp_ros.com_output import CoMOutput
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.generator_parameters import parameter_name, settings_of
from multi_qp_ros.health import Health
from multi_qp_ros.interactive_targets import InteractiveTargets, has_interactive_markers
from multi_qp_ros.parameters import SCENARIO_PARAMETERS, NodeParameter
from multi_qp_ros.plan_markers import PlanMarkers
from multi_qp_ros.qos import EVENT_QOS, LATCHED_QOS, OFFERED_STATE_QOS
from multi_qp_ros.robot_states import RobotStates
from multi_qp_ros.scenario_node import ScenarioNode
from multi_qp_ros.subscriptions import read_json, subscribe
from multi_qp_ros.transforms import TransformOutput, has_tf
from multi_qp_ros.user_output import UserInputs, UserOutput, user_inputs
from multi_qp_viewer.drawings import DrawnSnapshot
from multi_qp_viewer.graph_controls import GraphControls
from multi_qp_viewer.marker_board import MarkerBoard

if TYPE_CHECKING:
    from multi_qp_viewer.browser import BrowserViewer


PARAMETERS = (
    *(spec for spec in SCENARIO_PARAMETERS if spec.name in ("scenario", "set", "seed")),
    NodeParameter("rate", 30.0, "rate of the display and of TF [Hz]", 0.1, 200.0),
    NodeParameter("page", True, "serve the page for a browser"),
    NodeParameter("host", "127.0.0.1", "address that the page is served at; 0.0.0.0: to other machines too"),
    NodeParameter("port", 8080, "of the page, or the next free one", 1, 65535),
    NodeParameter("publish_tf", True, "publish all frames of the scene, where tf2_msgs is installed"),
    NodeParameter("interactive_markers", True, "offer handles in RViz, where interactive_markers is installed"),
)
#: Age from which on the state of a robot or of the controller is outdated [s].
SILENCE = 2.0
_NOTHING = UserInputs({}, ())


class ViewerNode(ScenarioNode):
    """Displays the measured state of the robots, and the controller's state, markers and plans."""

    def __init__(self) -> None:
        super().__init__("viewer", PARAMETERS)
        settings, scenario = self._settings, self._scenario
        self._period, self._due = 1.0 / settings["rate"], 0.0
        self._health = Health(self, dt=self._period)
        self._q = scenario.scene.q0.copy()
        self._first: int | None = None
        self._controller_state: dict[str, Any] = {}
        self._received_at, self._offered = -np.inf, False
        self._board, self._plan_markers = MarkerBoard(), PlanMarkers(scenario)
        self._plans = self.create_publisher(MarkerArray, topics.PLAN_MARKERS, LATCHED_QOS)
        self._offers, user = user_inputs(scenario), UserOutput(self, scenario)
        self._com = CoMOutput(self, scenario.scene)
        self._tick_time = self.create_publisher(Float64, topics.TICK_TIME, OFFERED_STATE_QOS)
        self._tf = TransformOutput(self, scenario) if settings["publish_tf"] and has_tf() else None
        self._handles: InteractiveTargets | None = None
        if settings["interactive_markers"] and has_interactive_markers():
            self._handles = InteractiveTargets(self, user.pose)
        self._page: BrowserViewer | None = None
        if settings["page"]:
            self._open_page(settings, user)
        self._listen()

    def _open_page(self, settings: dict[str, Any], user: UserOutput) -> None:
        try:  # viser has no rosdep key: without it the node still publishes TF
            from multi_qp_viewer.browser import BrowserViewer
        except ImportError as error:
            self.get_logger().error(f"no page: {error}; pip install viser trimesh, or set page to false")
            return
        groups = (*markers.NAMESPACES, *plan_markers.NAMESPACES, *com_markers.NAMESPACES)
        self._page = BrowserViewer(
            self._scenario.scene,
            title=f"multi-qp · {self._scenario.name}",
            host=settings["host"],
            port=settings["port"],
            groups=groups,
        )
        loads = self._scenario.scene.loads
        ranges = {name: (*loads.limits[name], mass) for name, mass in loads.masses.items()}
        settings = {
            parameter_name(generator, name): (one.label(generator, name), one)
            for (generator, name), one in settings_of(self._scenario).items()
        }
        self._controls = GraphControls(self._page.controls, user, ranges, settings)
        print(f"{self._scenario.name} in the viewer at {self._page.url}", file=sys.stderr, flush=True)

    def _begin(self) -> None:
        """Reset the display: the robots' time has jumped back."""
        self._first = None
        self._board.clear()

    def _listen(self) -> None:
        scene, health = self._scenario.scene, self._health
        self._robots = RobotStates(self, health, scene, max_age=SILENCE, period=self._period, on_new_run=self._begin)
        subscribe(self, health, String, topics.CONTROLLER_STATE, self._take_controller, LATCHED_QOS)
        subscribe(self, health, MarkerArray, topics.MARKERS, self._board.update, EVENT_QOS)
        subscribe(self, health, MarkerArray, topics.COM_MARKERS, self._board.update, LATCHED_QOS)
        plan = MultiDOFJointTrajectory
        for topic, make in (
            (topics.CONTACT_SEQUENCE, self._plan_markers.contacts),
            (topics.COM_TRAJECTORY, self._plan_markers.paths),
        ):
            subscribe(self, health, plan, topic, partial(self._take_plan, make), LATCHED_QOS)

    # -- received messages

    def _take_controller(self, message: String) -> None:
        content = read_json(message.data)
        content = {key: content[key] for key in ("state", "status", "tick_ms") if key in content}
        if not all(isinstance(value, int | float if key == "tick_ms" else str) for key, value in content.items()):
            raise ValueError("expected `state` and `status`, texts, and `tick_ms`, a number")
        self._controller_state, self._received_at = content, monotonic()
        if "tick_ms" in content:
            self._tick_time.publish(Float64(data=float(content["tick_ms"])))

    def _take_plan(self, make: Callable[[Any, int], MarkerArray], message: MultiDOFJointTrajectory) -> None:
        drawn = make(message, int(self.get_clock().now().nanoseconds))
        self._board.update(drawn)
        self._plans.publish(drawn)

    # -- display

    def work(self) -> float:
        """Update the display if it is due; return the time until the next update [s]."""
        now = monotonic()
        if now >= self._due:
            self._due = max(self._due + self._period, now)
            self._show(now)
            self._health.statistics.tick(now, monotonic())
        self._health.publish_if_due(now)
        return self._due - monotonic()

    def _show(self, now: float) -> None:
        if self._page is not None:
            self._controls.send_pending()
        state, faults = self._robots.state()
        missing = self._robots.assembler.missing
        if missing:
            self._health.set_status(Level.WARN, f"waiting for {', '.join(missing)}")
        elif faults:
            self._health.set_status(Level.WARN, "; ".join(faults))
        else:
            self._health.set_status(Level.OK, "")
        if np.isfinite(state.q).all():
            self._q = state.q
        if now - self._received_at > SILENCE:
            self._controller_state = {"status": "silent"}
            self._board.clear()
        stamp = self._robots.assembler.newest
        if self._tf is not None and stamp:
            self._tf.send(self._q, stamp)
        if stamp:
            self._com.publish(state, stamp)
        self._offer()
        if self._page is not None:
            self._page.show(self._snapshot(stamp))

    def _snapshot(self, stamp: int) -> DrawnSnapshot:
        if self._first is None and stamp:
            self._first = stamp
        return DrawnSnapshot(
            time=(stamp - (self._first or stamp)) * 1e-9,
            q=self._q.copy(),
            state=self._controller_state.get("state", "no controller"),
            status=self._controller_state.get("status", "silent"),
            tick_ms=float(self._controller_state.get("tick_ms", 0.0)),
            drawings=self._board.drawings,
        )

    def _offer(self) -> None:
        offer = self._offers.get(self._controller_state.get("state", ""), _NOTHING)
        if not offer.targets and not offer.commands and not self._offered:
            return
        places = {d.text: d.points[0] for d in self._board.drawings if d.group == "targets" and len(d.points) == 1}
        targets = {name: places[task] for name, task in offer.targets.items() if task in places}
        self._offered = bool(targets or offer.commands)
        if self._page is not None:
            self._controls.offer(targets, offer.commands)
        if self._handles is not None:
            self._handles.offer(targets)

    def close(self, reason: str, patience: float | None) -> None:
        """Close the page."""
        self._health.end(reason)
        if self._page is not None:
            self._page.close()


def main() -> NoReturn:
    """Run the node."""
    process.run(ViewerNode)


if __name__ == "__main__":
    main()
