"""Lists and tables of docs/ros2.md against parameters, publishers and subscriptions of the nodes on a real graph."""

from __future__ import annotations

import contextlib
import re
import time
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import rclpy
from rcl_interfaces.srv import DescribeParameters, ListParameters
from rclpy.context import Context
from rclpy.node import NodeNameNonExistentError

from motion_generation.standing import ready_for_plans
from multi_qp_ros import com_markers, markers, plan_markers
from multi_qp_ros.node_table import LAUNCH_ARGUMENTS, node_table
from multi_qp_scene import load_scenario

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ros2.md").read_text("utf-8")
NODES = ("multi_qp_controller", "simulator", "com_trajectory", "viewer")
#: Nodes that plans go through; they are looked at in a namespace of their own, with a scenario that has a plan.
PLANNING = ("multi_qp_controller", "com_trajectory", "contact_planner")
PLANNED = Path(__file__).with_name("one_step.yaml")
#: Topics that need packages which are not among the wheels.
OPTIONAL = {
    "/tf": "tf2_msgs",
    "/tf_static": "tf2_msgs",
    "multi_qp/targets/update": "interactive_markers",
    "multi_qp/targets/feedback": "interactive_markers",
}
SPACE = "/planned"
OF_EVERY_NODE = ("/rosout", "/parameter_events")
LOADS = "\nloads:\n  ballast: {link: box/box_link, xyz: [0, 0, 0], mass: 0, min: 0, max: 2}\n"


#: An item of the lists: topics with their type and nodes, parameters with default and values.
TOPIC = re.compile(r"- `(\S+)` \((\S+)\)(?:, from (.*?))?(?:, to (.*?))?: .+")
PARAMETER = re.compile(r"- `(\w+)`(?: = \S+)?(?: \(([^)]*)\))?: (.+)")


def part(name: str) -> list[str]:
    """Return the lines of a marked part of the page; the lines of an item are joined."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert found, name
    return found[1].strip().replace("\n  ", " ").splitlines()


def items(name: str, form: re.Pattern[str]) -> list[tuple[str, ...]]:
    """Return the groups of each item of a list of the page."""
    found = [form.fullmatch(line) for line in part(name)]
    assert found and all(found), name
    return [match.groups(default="") for match in found if match]


@pytest.fixture(scope="module")
def scenario_file(tmp_path_factory):
    """The box scene with a load: everything that there can be a topic for."""
    file = tmp_path_factory.mktemp("scenes") / "everything.yaml"
    file.write_text((ROOT / "config" / "scenarios" / "box.yaml").read_text("utf-8") + LOADS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def nodes(start, graph, scenario_file):
    for node in node_table(str(scenario_file), com_trajectory={}, viewer={"port": 18700}):
        start(node.module, **node.parameters)
    found = graph.until(lambda: set(NODES) <= set(graph.node.get_node_names()) and NODES, what="all nodes")
    last = "/everything/target/ballast"  # the viewer makes it late
    graph.until(lambda: last in dict(publishers(graph.node, "viewer")), what="the viewer's topics")
    return found


@pytest.fixture(scope="module")
def planning_nodes(start, graph):
    table = node_table(str(PLANNED), com_trajectory={}, contact_planner={"goal": "none"})
    for node in table:
        if node.name in PLANNING:
            start(node.module, namespace=SPACE, **node.parameters)

    def there():
        names = {name for name, space in graph.node.get_node_names_and_namespaces() if space == SPACE}
        return set(PLANNING) <= names

    return graph.until(there, 300.0, "the nodes of a plan")


def publishers(observing, node, space="/"):
    return observing.get_publisher_names_and_types_by_node(node, space)


def general(topic: str, scenario) -> str:
    """Return a topic as the page has it, for any subsystem, contact, target and load."""
    name = topic.removeprefix("/")
    if topic in OPTIONAL or topic in ("/clock", "/diagnostics"):
        return topic
    if name in {f"{node}/transition_event" for node in NODES}:
        return "<node>/transition_event"
    parts = name.split("/")
    if parts[0] in {**scenario.scene.subsystems, **scenario.scene.environment}:
        parts[0] = "<subsystem>"
        if parts[1] == "contacts":
            assert parts[2] in scenario.spec.contacts
            parts[2:] = ["<contact>", "<surface>"]
    elif parts[0] == scenario.name:
        parts[0] = "<scenario>"
        if parts[1] == "target":
            parts[2] = "<load>" if parts[2] in scenario.scene.loads.masses else "<target>"
    return "/".join(parts)


def written_in(name: str):
    """Return (topic, type, node, direction) of a list of the page, as far as the packages are here."""
    found = set()
    for topic, kind, sources, sinks in items(name, TOPIC):
        if topic in OPTIONAL and find_spec(OPTIONAL[topic]) is None:
            continue
        for direction, names in (("from", sources), ("to", sinks)):
            found |= {(topic, kind, node.strip(), direction) for node in names.split(",") if node.strip()}
    return found


def live(observing, node, scenario, space="/"):
    """Return (topic, type, node, direction) of a node of the graph, as a node that looks on finds them."""
    found = set()
    subscribers = observing.get_subscriber_names_and_types_by_node(node, space)
    for direction, topics in (("from", publishers(observing, node, space)), ("to", subscribers)):
        for topic, kinds in topics:
            name = "/" + topic.removeprefix(space).removeprefix("/")
            if topic not in OF_EVERY_NODE:
                found |= {(general(name, scenario), kind.replace("/msg/", "/"), node, direction) for kind in kinds}
    return found


def discovered(found, expected) -> set:
    """Return `found(node)` as soon as an observer of the graph finds what is expected, else what the last one found.

    DDS discovery may lose an endpoint for the whole life of the participant that looks on; a new one finds it.
    """
    rows_found: set = set()
    for _ in range(5):
        with observer() as node:
            end = time.monotonic() + 60.0
            while rows_found != expected and time.monotonic() < end:
                time.sleep(0.1)
                with contextlib.suppress(NodeNameNonExistentError):  # it has not been discovered yet
                    rows_found = found(node)
        if rows_found == expected:
            break
    return rows_found


@contextlib.contextmanager
def observer():
    """A node of its own, with a DDS participant of its own."""
    context = Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node("observer", context=context)
        yield node
        node.destroy_node()
    finally:
        context.try_shutdown()


@pytest.mark.parametrize("node", NODES)
def test_the_topics_of_a_node(nodes, scenario_file, node):
    scenario = load_scenario(scenario_file)
    expected = {row for row in written_in("topics") if row[2] == node}
    assert discovered(lambda observing: live(observing, node, scenario), expected) == expected


@pytest.mark.parametrize("node", PLANNING)
def test_the_topics_of_a_node_that_plans_go_through(planning_nodes, node):
    scenario = ready_for_plans(load_scenario(PLANNED))
    of_plans = {row for row in written_in("topics of plans") if row[2] == node}
    # the planner's list is complete; of the other nodes, the first list has what they have in every scenario
    common = set() if node == "contact_planner" else {row for row in written_in("topics") if row[2] == node}
    found = discovered(lambda observing: live(observing, node, scenario, SPACE) - common, of_plans - common)
    assert found == of_plans - common


@pytest.mark.parametrize("node", [*NODES, "contact_planner"])
def test_the_parameters_of_a_node(nodes, planning_nodes, graph, node):
    place = f"{SPACE}/{node}" if node == "contact_planner" else f"/{node}"
    names = graph.call(ListParameters, f"{place}/list_parameters", ListParameters.Request()).result.names
    names = [name for name in names if name not in ("use_sim_time", "start_type_description_service")]
    names = [name for name in names if not name.startswith("qos_overrides")]
    request = DescribeParameters.Request(names=names)
    described = graph.call(DescribeParameters, f"{place}/describe_parameters", request).descriptors
    table = {row[0]: row for row in items(f"parameters of {node}", PARAMETER)}
    assert table.keys() == set(names)
    for descriptor in described:
        _, values, description = table[descriptor.name]
        assert description == descriptor.description
        for limits in (*descriptor.floating_point_range, *descriptor.integer_range):
            assert values == f"{limits.from_value:g} … {limits.to_value:g}"
        if descriptor.additional_constraints:
            assert values and all(f"'{choice}'" in descriptor.additional_constraints for choice in values.split(", "))


def test_the_generated_lists_are_up_to_date():
    spec = spec_from_file_location("ros_parameters", ROOT / "tools" / "ros_parameters.py")
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    lists = {f"parameters of {node}": tool.parameter_list(node) for node in (*NODES, "contact_planner")}
    lists["launch"] = tool.launch_list(LAUNCH_ARGUMENTS)
    for name, text in lists.items():
        assert f"<!-- {name} -->\n{text}\n<!-- end -->" in PAGE, "run python tools/ros_parameters.py"


def test_the_namespaces_of_markers():
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part("markers")[2:]]
    table = {name.strip("`"): text for name, text in rows}
    assert table == {**markers.NAMESPACES, **plan_markers.NAMESPACES, **com_markers.NAMESPACES}
