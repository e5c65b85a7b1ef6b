"""RViz configuration of a scenario: the shipped one, with robots, wrenches and camera of the scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from multi_qp_ros.topics import robot_description, wrench
from multi_qp_scene.resources import find_resource
from multi_qp_scene.scenario import Scenario

#: The shipped configuration.
BASE = "rviz/scenario.rviz"
_LATCHED = {"Durability Policy": "Transient Local", "History Policy": "Keep Last", "Reliability Policy": "Reliable"}
_VOLATILE = {**_LATCHED, "Durability Policy": "Volatile"}


def rviz_config(scenario: Scenario, *, namespace: str = "") -> str:
    """Return the text of a configuration.

    Args:
        scenario: scenario to display.
        namespace: namespace of the graph.
    """
    config: dict[str, Any] = yaml.safe_load(find_resource(BASE).read_text(encoding="utf-8"))
    root = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    manager = config["Visualization Manager"]
    displays = manager["Displays"]
    scene = scenario.scene
    displays += [_robot(name, root) for name in (*scene.subsystems, *scene.environment)]
    displays.append(_wrenches(scenario, root))
    for display in displays:
        _make_absolute(display, root)
    for tool in manager["Tools"]:
        _make_absolute(tool, root)
    if scenario.spec.camera is not None:
        position, target = np.array(scenario.spec.camera.position), np.array(scenario.spec.camera.target)
        manager["Views"]["Current"].update(_orbit(position, target))
    return str(yaml.safe_dump(config, sort_keys=False))


def _robot(name: str, root: str) -> dict[str, Any]:
    return {
        "Class": "rviz_default_plugins/RobotModel",
        "Name": name,
        "Enabled": True,
        "Value": True,
        "Alpha": 1,
        "Description Source": "Topic",
        "Description Topic": {**_LATCHED, "Depth": 1, "Value": root + robot_description(name)},
        "TF Prefix": name,  # RViz adds the slash
        "Visual Enabled": True,
        "Collision Enabled": False,
        "Update Interval": 0,
    }


def _wrenches(scenario: Scenario, root: str) -> dict[str, Any]:
    """Return a group, initially disabled, with the wrench of each contact on its first surface's body."""
    displays = [
        {
            "Class": "rviz_default_plugins/Wrench",
            "Name": name,
            "Enabled": True,
            "Value": True,
            "Force Arrow Scale": 0.002,
            "Torque Arrow Scale": 0.01,
            "Arrow Width": 0.1,
            "History Length": 1,
            "Topic": {**_VOLATILE, "Depth": 5, "Value": root + wrench(name, contact.surfaces[0])},
        }
        for name, contact in scenario.spec.contacts.items()
    ]
    return {
        "Class": "rviz_common/Group",
        "Name": "Contact wrenches",
        "Enabled": False,
        "Displays": displays,
    }


def _make_absolute(display: dict[str, Any], root: str) -> None:
    """Prefix topic names with the namespace of the graph, as RViz itself is in none."""
    namespace = "Interactive Markers Namespace"
    if namespace in display:
        display[namespace] = root + display[namespace]
    topic = display.get("Topic")
    if isinstance(topic, dict) and not topic["Value"].startswith("/"):
        topic["Value"] = root + topic["Value"]


def _orbit(position: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the orbit view from a position to a target, (3,) each [m]."""
    x, y, z = position - target
    distance = float(np.linalg.norm([x, y, z]))
    return {
        "Distance": distance,
        "Focal Point": dict(zip("XYZ", map(float, target), strict=True)),
        "Yaw": float(np.arctan2(y, x)),
        "Pitch": float(np.arcsin(z / distance)),
    }
