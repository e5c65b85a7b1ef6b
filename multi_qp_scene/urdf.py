"""Reading a URDF: pinocchio models out of it, and the few things that pinocchio does not keep."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pinocchio as pin

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import resolve_uri

_T = TypeVar("_T")

#: Material whose colour is replaced by the character's.
TINT_MATERIAL = "tint"


@dataclass(frozen=True)
class UrdfModel:
    """What was read from one URDF, names as in the file.

    Attributes:
        path: the file.
        model: pinocchio model, with the root joint asked for.
        collision_model: collision geometry.
        visual_model: visual geometry.
        actuated_joints: movable joints with a finite effort limit above zero, in the order of the file.
        links: names of all links.
        tinted: names of the visual geometries that take the character's colour.
    """

    path: Path
    model: pin.Model
    collision_model: pin.GeometryModel
    visual_model: pin.GeometryModel
    actuated_joints: tuple[str, ...]
    links: tuple[str, ...]
    tinted: frozenset[str]


def read_urdf(path: Path, *, free_flyer: bool) -> UrdfModel:
    """Read a URDF with its geometry.

    Args:
        path: the file.
        free_flyer: whether its root floats.

    Raises:
        MultiQpError: when the file is missing, is not a URDF, or names a mesh that is not there.
    """
    if not path.is_file():
        raise MultiQpError(f"the URDF {path} does not exist")
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        raise MultiQpError(f"{path} is not valid XML: {error}") from None
    if root.tag != "robot":
        raise MultiQpError(f"{path} is not a URDF: its top element is <{root.tag}>, expected <robot>")
    _require_link_masses(root, path)
    _resolve_meshes(root, path)
    xml = ElementTree.tostring(root, encoding="unicode")
    model = _pinocchio(path, lambda: _build_model(xml, free_flyer))
    collision = _pinocchio(path, lambda: pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.COLLISION))
    visual = _pinocchio(path, lambda: pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.VISUAL))
    return UrdfModel(
        path=path,
        model=model,
        collision_model=collision,
        visual_model=visual,
        actuated_joints=_actuated_joints(root, model),
        links=tuple(link.get("name", "") for link in root.findall("link")),
        tinted=_tinted_visuals(root),
    )


def _build_model(xml: str, free_flyer: bool) -> pin.Model:
    return pin.buildModelFromXML(xml, pin.JointModelFreeFlyer()) if free_flyer else pin.buildModelFromXML(xml)


def _pinocchio(path: Path, build: Callable[[], _T]) -> _T:
    try:
        return build()
    except Exception as error:  # pinocchio raises several types, among them bare RuntimeError and ValueError
        raise MultiQpError(f"{path} cannot be read as a URDF: {error}") from None


def _require_link_masses(root: ElementTree.Element, path: Path) -> None:
    """Refuse negative masses, which pinocchio takes in silence."""
    for link in root.findall("link"):
        mass = link.find("inertial/mass")
        if mass is not None and float(mass.get("value", "0")) < 0:
            raise MultiQpError(f"{path}: link '{link.get('name')}' has the negative mass {mass.get('value')} kg")


def _resolve_meshes(root: ElementTree.Element, path: Path) -> None:
    for mesh in root.iter("mesh"):
        uri = mesh.get("filename", "")
        mesh.set("filename", str(resolve_uri(uri, relative_to=path.parent)))


def _actuated_joints(root: ElementTree.Element, model: pin.Model) -> tuple[str, ...]:
    names = []
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        effort = float(limit.get("effort", "0")) if limit is not None else 0.0
        name = joint.get("name", "")
        if model.existJointName(name) and math.isfinite(effort) and effort > 0:
            names.append(name)
    return tuple(names)


def _tinted_visuals(root: ElementTree.Element) -> frozenset[str]:
    """Return the names that pinocchio gives ("<link>_<k>") to visuals of the tint material."""
    return frozenset(
        f"{link.get('name')}_{k}"
        for link in root.findall("link")
        for k, visual in enumerate(link.findall("visual"))
        if (material := visual.find("material")) is not None and material.get("name") == TINT_MATERIAL
    )
