"""Dependencies declared in package.xml; without ROS."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Packages of ROS that a launch file starts by name.
STARTED = {
    "rviz2",
    "ros_gz_sim",
    "ros_gz_bridge",
    "robot_state_publisher",
    "controller_manager",
}
ROS = ("rclpy", "launch", "launch_ros", "ament_index_python", "interactive_markers", "builtin_interfaces")


def declared() -> list[str]:
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    assert root.tag == "package" and root.get("format") == "3"
    return [element.text for element in root if element.tag.endswith("depend")]


def imported() -> set[str]:
    """Return the ROS packages that the code and the launch files import."""
    folders = [*ROOT.glob("multi_qp_*"), ROOT / "launch"]
    found = set()
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {module.partition(".")[0] for module in modules}
    return {name for name in found if name in ROS or name.endswith(("_msgs", "_srvs", "rcl_interfaces"))}


def test_every_import_from_ros_is_declared_once():
    dependencies = declared()
    assert len(set(dependencies)) == len(dependencies)
    assert imported() <= set(dependencies)
    assert {"tf2_msgs", "visualization_msgs", "launch_ros"} <= imported()


def test_executables_of_launch_files_are_declared():
    started = set()
    for path in (ROOT / "launch").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "package" and isinstance(node.value, ast.Constant):
                started.add(node.value.value)
    assert started - {"multi_qp_controller"} == STARTED
    assert set(declared()) >= STARTED


def test_every_folder_of_data_is_installed():
    setup = (ROOT / "setup.py").read_text("utf-8")
    for folder in ("launch", "urdf", "config", "rviz"):
        assert (ROOT / folder).is_dir()
        assert f'"{folder}"' in setup
