"""URDF of each part of a scene for other programs: RViz, robot_state_publisher, Gazebo."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from multi_qp_scene.blocks import block_urdf, mesh_urdf
from multi_qp_scene.mimic import MIMIC_TYPES
from multi_qp_scene.models import urdf_path
from multi_qp_scene.resources import model_path, resolve_uri, ros_package_share
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.subsystems import EnvironmentSpec, SubsystemSpec
from multi_qp_scene.stretch import stretch_urdf
from multi_qp_scene.urdf import TINT_MATERIAL
from multi_qp_scene.urdf_document import UrdfDocument

#: Replacement for infinity, which URDF does not have: position or velocity limit [rad or m, rad/s or m/s].
UNLIMITED = 1e6


def robot_descriptions(scenario: Scenario) -> dict[str, str]:
    """Return the URDF of every subsystem and every piece of the environment, by name, as text.

    It is the file's, with five changes: meshes are named by URIs that need no search, `package://` where the ROS
    installation has the package and `file://` elsewhere; the tint material has the colour, the links the masses, and a
    rigid body the size that the scenario gives; joints have the limits that the controller enforces, with the
    scenario's set of effort limits.

    Raises:
        MultiQpError: when a file was removed after the scenario was loaded.
    """
    return {name: ElementTree.tostring(root, encoding="unicode") for name, root in description_trees(scenario).items()}


def description_trees(scenario: Scenario) -> dict[str, Element]:
    """Return the result of `robot_descriptions` as XML trees that may be modified."""
    spec, scene = scenario.spec, scenario.scene
    trees = {}
    for name, part in {**scene.environment, **scene.subsystems}.items():
        given = spec.subsystems[name] if name in spec.subsystems else spec.environment[name]
        root = _read(given, scenario.path.parent)
        if part.color is not None:
            _tint(root, part.color)
        if isinstance(given, SubsystemSpec) and given.mass is not None:
            _scale_masses(root, given.mass)
        _write_limits(root, name, scene)
        trees[name] = root
    return trees


def _read(part: SubsystemSpec | EnvironmentSpec, folder: Path) -> Element:
    if isinstance(part, EnvironmentSpec) and part.box is not None:
        return ElementTree.fromstring(block_urdf(part.box))
    if isinstance(part, EnvironmentSpec) and part.mesh is not None:
        return mesh_urdf(_mesh_uri(part.mesh, folder), part.scale)
    if isinstance(part, EnvironmentSpec) and part.urdf is not None:
        path = resolve_uri(part.urdf, relative_to=folder)
    else:
        assert part.model is not None  # the scenario was checked
        path = urdf_path(model_path(part.model, relative_to=folder))
    document = UrdfDocument.load(path)
    stretch_urdf(document, part.scale)
    root = document.root
    for mesh in root.iter("mesh"):
        mesh.set("filename", _mesh_uri(mesh.get("filename", ""), path.parent))
    return root


def _write_limits(root: Element, part: str, scene: Scene) -> None:
    """Write the scene's limits of position, velocity and effort; `UNLIMITED` where there is none."""
    limits, efforts = scene.limits, dict(zip(scene.actuated_v.tolist(), scene.torque_limits.tolist(), strict=True))
    ranges = np.clip([limits.lower, limits.upper, limits.velocity], -UNLIMITED, UNLIMITED).T
    held = dict(zip(limits.v_index.tolist(), ranges.tolist(), strict=True))
    for joint in root.iterfind("joint"):
        name = f"{part}/{joint.get('name')}"
        if joint.get("type") not in MIMIC_TYPES or not scene.model.existJointName(name):
            continue
        index = scene.model.joints[scene.model.getJointId(name)].idx_v
        lower, upper, velocity = held[index]
        element = joint.find("limit")
        element = SubElement(joint, "limit") if element is None else element
        if joint.get("type") != "continuous":
            element.set("lower", repr(lower))
            element.set("upper", repr(upper))
        element.set("velocity", repr(velocity))
        element.set("effort", repr(efforts.get(index, float(element.get("effort", "0")))))


def _mesh_uri(uri: str, folder: Path) -> str:
    package = uri.removeprefix("package://").lstrip("/").partition("/")[0]
    if uri.startswith("package://") and ros_package_share(package) is not None:
        return uri
    return resolve_uri(uri, relative_to=folder).as_uri()


def _tint(root: Element, color: tuple[float, float, float]) -> None:
    for material in root.iter("material"):
        if material.get("name") == TINT_MATERIAL and (shown := material.find("color")) is not None:
            shown.set("rgba", " ".join(f"{channel:g}" for channel in (*color, 1.0)))


def _scale_masses(root: Element, mass: float) -> None:
    """Scale the inertias of all links to a total mass [kg], as the scene does."""
    masses = [element for element in root.iterfind("link/inertial/mass")]
    scale = mass / sum(float(element.get("value", "0")) for element in masses)
    for element in masses:
        element.set("value", f"{scale * float(element.get('value', '0')):.12g}")
    for inertia in root.iterfind("link/inertial/inertia"):
        for moment, value in inertia.attrib.items():
            inertia.set(moment, f"{scale * float(value):.12g}")
