"""Settings of motion generators as parameters of a node: ranges, changes, and values given at its start."""

from __future__ import annotations

import math

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

from multi_qp_controller import Controller
from multi_qp_ros import parameters
from multi_qp_ros.controller_parameters import PARAMETERS
from multi_qp_ros.generator_parameters import GeneratorParameters
from multi_qp_ros.node_table import CONTROLLER
from multi_qp_ros.user_output import UserOutput
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError

TENSION = "generators.arms.tension"


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("hold")


def make_node(graph, **given: float) -> Node:
    node = Node(
        CONTROLLER,
        context=graph.node.context,
        automatically_declare_parameters_from_overrides=True,
        parameter_overrides=[Parameter(f"generators.arms.{name}", value=value) for name, value in given.items()],
    )
    parameters.declare(node, PARAMETERS, generators=True)
    return node


def test_a_change_reaches_the_generators_of_all_controllers(scenario, graph):
    node = make_node(graph)
    declared = GeneratorParameters(node, scenario)
    controller = Controller(scenario)
    declared.attach(controller)
    (limits,) = node.describe_parameter(TENSION).floating_point_range
    assert (limits.from_value, limits.to_value) == (0.0, 1.0)
    for value in (2.0, math.nan, "tense"):
        assert not node.set_parameters([Parameter(TENSION, value=value)])[0].successful
    assert not controller.generator("arms").changed
    assert node.set_parameters([Parameter(TENSION, value=0.75)])[0].successful
    assert controller.generator("arms").setting("tension") == 0.75
    other = Controller(scenario)
    declared.attach(other)
    assert other.generator("arms").setting("tension") == 0.75
    declared.destroy()
    assert not node.has_parameter(TENSION)
    node.destroy_node()


def test_values_given_at_the_start_hold(scenario, graph):
    node = make_node(graph, tension=0.25)
    controller = Controller(scenario)
    GeneratorParameters(node, scenario).attach(controller)
    assert controller.generator("arms").changed == {"tension": 0.25}
    node.destroy_node()


@pytest.mark.parametrize(("name", "value"), [("tensoin", 0.5), ("tension", 3.0), ("tension", 1)])
def test_values_that_are_no_settings_are_refused(scenario, graph, name, value):
    node = make_node(graph, **{name: value})
    with pytest.raises(MultiQpError, match=rf"parameter '?generators\.arms\.{name}"):
        GeneratorParameters(node, scenario)
    node.destroy_node()


def test_a_slider_of_the_page_sets_the_parameter(scenario, graph):
    node = make_node(graph)
    controller, user = Controller(scenario), UserOutput(graph.node, scenario)
    GeneratorParameters(node, scenario).attach(controller)
    graph.executor.add_node(node)

    def changed() -> bool:
        user.adjust(TENSION, 0.5)
        graph.executor.spin_once(timeout_sec=0.05)
        return controller.generator("arms").changed == {"tension": 0.5}

    graph.until(changed, what="the change")
    node.destroy_node()
