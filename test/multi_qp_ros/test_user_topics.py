"""User input on topics and on the page: commands, targets, loads; on a real graph in lock-step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from std_msgs.msg import Float64, String

from multi_qp_ros import topics
from multi_qp_ros.health import Health
from multi_qp_ros.qos import EVENT_QOS
from multi_qp_ros.robot_states import RobotStates
from multi_qp_ros.user_output import UserOutput
from multi_qp_scene import load_scenario
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_viewer.graph_controls import GraphControls

HERE = Path(__file__).parent
NODE, SCENE = "multi_qp_controller", "user"
FOR_EVER = 1e9


class User:
    """Says something until it is received, and sees what becomes of it."""

    def __init__(self, graph) -> None:
        self.graph, self.scene = graph, load_scenario(str(HERE / "user.yaml")).scene
        make, scene = graph.node.create_publisher, SCENE
        self.publishers = {
            "command": make(String, topics.user_command(scene), EVENT_QOS),
            "point": make(PointStamped, topics.target_point(scene, "hand"), EVENT_QOS),
            "pose": make(PoseStamped, topics.target(scene, "hand"), EVENT_QOS),
            "load": make(Float64, topics.target(scene, "weight"), EVENT_QOS),
        }
        self.robots = RobotStates(graph.node, Health(graph.node, dt=0.01), self.scene, max_age=FOR_EVER, period=0.01)
        self.feet: dict[str, float] = {}
        for foot in ("left", "right"):
            topic = topics.wrench(f"{foot}_foot", f"humanoid/{foot}_sole")
            graph.node.create_subscription(WrenchStamped, topic, self._take(foot), EVENT_QOS)

    def _take(self, foot: str):
        def take(message: WrenchStamped) -> None:
            self.feet[foot] = message.wrench.force.z

        return take

    def until_met(self) -> None:
        for name, publisher in self.publishers.items():
            listeners = 2 if name == "load" else 1  # controller and simulator
            self.graph.until(
                lambda p=publisher, n=listeners: p.get_subscription_count() >= n, what=f"who receives {name}"
            )

    def give(self, name: str, state: str) -> None:
        """Give a command until it has been followed."""
        self.publishers["command"].publish(String(data=name))
        self.in_state(state)

    def in_state(self, name: str) -> None:
        self.graph.until(lambda: self.graph.states() and self.graph.states()[-1]["state"] == name, what=name)

    def hand(self) -> np.ndarray:
        state = self.robots.state()[0]
        data = place_frames(self.scene.model, state.q)
        return np.array(data.oMf[self.scene.frame_id("humanoid/r_gripper")].translation)

    def weight(self) -> float:
        """What the feet press on the ground with [kg]; the soles' z axes point down."""
        return abs(sum(self.feet.values())) / 9.81 if len(self.feet) == 2 else 0.0


@pytest.fixture(scope="module")
def user(start, graph):
    settings = {"scenario": str(HERE / "user.yaml"), "lock_step": True}
    start("multi_qp_ros.nodes.controller_node", autostart=True, interactive=True, marker_rate=0.0, **settings)
    start("multi_qp_ros.nodes.simulator_node", speed=3.0, **settings)
    graph.clear()
    made = User(graph)
    made.until_met()
    graph.until(lambda: graph.states() and graph.states()[-1]["status"] == "ok", what="a good command")
    return made


@pytest.fixture
def reaching(user, graph):
    """The state whose target is the user's."""
    graph.clear()
    user.give("go", "reach")
    yield user
    user.give("back", "wait")


def settled(user, place) -> bool:
    return float(np.linalg.norm(user.hand() - place)) < 0.005


def test_a_command_is_accepted_only_in_a_state_with_a_transition_for_it(user, graph):
    graph.clear()
    user.publishers["command"].publish(String(data="nonsense"))
    user.give("go", "reach")
    user.give("back", "wait")
    assert {state["state"] for state in graph.states()} == {"wait", "reach"}


@pytest.mark.parametrize("kind", ["point", "pose"])
def test_the_hand_moves_to_the_target_of_the_user(reaching, graph, kind):
    place = reaching.hand() + [0.05, -0.03, 0.04 if kind == "point" else -0.04]
    message = PointStamped() if kind == "point" else PoseStamped()
    message.header.frame_id = "world"
    position = message.point if kind == "point" else message.pose.position
    position.x, position.y, position.z = place.tolist()
    if kind == "pose":  # no rotation: it stays as it is
        message.pose.orientation.w = 0.0
    assert not settled(reaching, place)
    reaching.publishers[kind].publish(message)
    graph.until(lambda: settled(reaching, place), what="the hand there")


@pytest.mark.parametrize(
    ("change", "published"),
    [({"frame": "odom"}, "frame"), ({"x": float("nan")}, "finite")],
    ids=["another frame", "NaN"],
)
def test_a_point_that_cannot_be_followed_is_refused(reaching, graph, change, published):
    message = PointStamped()
    message.header.frame_id = change.get("frame", "world")
    message.point.x = change.get("x", 0.5)
    graph.until(lambda: np.abs(reaching.robots.state()[0].v).max() < 1e-3, what="rest")
    before = reaching.hand()
    reaching.publishers["point"].publish(message)
    graph.until(lambda: graph.diagnosed(NODE, published), what="a refusal")
    np.testing.assert_allclose(reaching.hand(), before, atol=2e-3)


def test_a_target_of_another_state_is_refused(user, graph):
    graph.clear()
    message = PointStamped()
    message.header.frame_id = "world"
    user.publishers["point"].publish(message)
    graph.until(lambda: graph.diagnosed(NODE, "the present state has no such target"), what="a refusal")


def test_controller_and_simulator_receive_a_load(user, graph):
    """The feet carry what the world weighs only if the world weighs what the controller believes, else it sinks."""
    robot = 39.0
    graph.until(lambda: abs(user.weight() - robot - 1.0) < 0.2, what="the weight before")
    height = user.hand()[2]
    user.publishers["load"].publish(Float64(data=4.0))
    graph.until(lambda: abs(user.weight() - robot - 4.0) < 0.2, what="three kilogrammes more")
    for _ in range(3):
        graph.listen(0.2)
        assert user.hand()[2] == pytest.approx(height, abs=5e-3)
    graph.clear()
    user.publishers["load"].publish(Float64(data=50.0))
    graph.until(
        lambda: graph.diagnosed(NODE, "weight", DiagnosticStatus.WARN) or graph.diagnosed(NODE, "refused"),
        what="a refusal of 50 kg",
    )
    assert user.weight() == pytest.approx(robot + 4.0, abs=0.2)


class Page:
    """What is put on a page, without a browser: a test of its own has that (`test_browser.py`)."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Callable[..., None]] = {}

    def add_slider(self, name, minimum, maximum, value, take):
        return self._add(name, take)

    def add_target_handle(self, name, position, take):
        return self._add(name, take)

    def add_button(self, name, click):
        return self._add(name, click)

    def _add(self, name, take):
        self.callbacks[name] = take
        return SimpleNamespace(remove=lambda: self.callbacks.pop(name))


def test_inputs_on_the_page_reach_the_controller(user, graph):
    """A button gives a command, a handle moves the hand, a slider hangs a weight on; what is over is taken away."""
    page, graph_user = Page(), UserOutput(graph.node, load_scenario(str(HERE / "user.yaml")))
    controls = GraphControls(page, graph_user, {"weight": (0.5, 5.0, 1.0)}, {})
    met = (*graph_user.publishers, *user.publishers.values())
    graph.until(lambda: all(publisher.get_subscription_count() for publisher in met), what="who receives")

    def do(name, *arguments) -> None:
        page.callbacks[name](*arguments)
        controls.send_pending()

    graph.clear()
    controls.offer({}, ["go"])
    do("go")
    user.in_state("reach")
    place = user.hand() + [0.04, 0.04, 0.0]
    controls.offer({"hand": user.hand()}, ["back"])
    assert set(page.callbacks) == {"weight [kg]", "hand", "back"}
    do("hand", place)
    graph.until(lambda: settled(user, place), what="the hand there")
    do("weight [kg]", 2.0)
    graph.until(lambda: abs(user.weight() - 41.0) < 0.2, what="two kilogrammes")
    do("back")
    user.in_state("wait")
