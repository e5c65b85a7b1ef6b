"""Reading of URDF files: pinocchio models, and data that pinocchio does not provide."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio as pin

from multi_qp_scene.errors import ConfigError, ConfigProblem, Location, MultiQpError, shown_path
from multi_qp_scene.files import exists, is_file
from multi_qp_scene.limits import check, excess
from multi_qp_scene.mimic import Mimic, read_mimics
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import resolve_uri
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.sources import note
from multi_qp_scene.stretch import UNSTRETCHED, stretch_urdf
from multi_qp_scene.urdf_checks import INERTIA_ROUNDING, check_urdf, principal_moments
from multi_qp_scene.urdf_document import UrdfDocument

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

#: Material whose colour is replaced by that of the character.
TINT_MATERIAL = "tint"
#: Name of the joint between the world and a floating base, and the alternative if the URDF has a joint of that name.
ROOT_JOINT, OTHER_ROOT_JOINT = "root_joint", "floating_base_joint"


@dataclass(frozen=True)
class UrdfModel:
    """Content of one URDF, with the names of the file.

    Models are cached and shared: copy them before modification.

    Attributes:
        path: the file.
        model: pinocchio model, with the requested root joint.
        collision_model: collision geometry.
        visual_model: visual geometry.
        joints: movable joints of the file, in pinocchio's order, without the floating base's.
        actuated_joints: movable joints with a finite effort limit above zero that mimic no other, in the file's order.
        mimics: mimic relations by joint, in the order of the file.
        links: names of all links.
        tinted: names of the visual geometries with the character's colour.
    """

    path: Path
    model: pin.Model
    collision_model: pin.GeometryModel
    visual_model: pin.GeometryModel
    joints: tuple[str, ...]
    actuated_joints: tuple[str, ...]
    mimics: dict[str, Mimic]
    links: tuple[str, ...]
    tinted: frozenset[str]

    @property
    def mass(self) -> float:
        """Total mass of the moving links [kg]."""
        return float(sum(self.model.inertias[k].mass for k in range(1, self.model.njoints)))


def read_urdf(path: Path, *, free_flyer: bool, scale: Vector3 = UNSTRETCHED) -> UrdfModel:
    """Read a URDF with its geometry.

    Args:
        path: the file.
        free_flyer: whether its root floats.
        scale: scale factors of a rigid body along its axes.

    Raises:
        ConfigError: with all errors of the file and their lines.
        MultiQpError: when the file is missing, or cannot be scaled.
    """
    if not exists(path):
        raise MultiQpError(f"the URDF {shown_path(path)} does not exist")
    note(path)
    document = UrdfDocument.load(path)
    problems = Problems()
    check_urdf(document, problems)
    problems.raise_if_any()
    root = document.root
    _warn_of_odd_inertias(document)
    stretch_urdf(document, scale)
    _complete_limits(root)
    _resolve_meshes(root, path)
    xml = document.to_xml()
    root_joint = _root_joint_name(root) if free_flyer else None
    model, collision, visual = _pinocchio(path, lambda: _build(xml, root_joint, _mesh_stamps(root)))
    check("degrees_of_freedom", model.nv, f"{shown_path(path)}: its degrees of freedom")
    mimics = read_mimics(root)
    _check_moved_inertia(document, model, root_joint, mimics)
    return UrdfModel(
        path=path,
        model=model,
        collision_model=collision,
        visual_model=visual,
        joints=tuple(name for name in list(model.names)[1:] if name != root_joint),
        actuated_joints=tuple(name for name in _joints_with_effort(root, model) if name not in mimics),
        mimics=mimics,
        links=tuple(link.get("name", "") for link in root.findall("link")),
        tinted=_tinted_visuals(root),
    )


@lru_cache(maxsize=32)
def _build(
    xml: str, root_joint: str | None, meshes: tuple[tuple[str, int], ...]
) -> tuple[pin.Model, pin.GeometryModel, pin.GeometryModel]:
    """Build pinocchio's models; cached, since scenes may contain a robot several times and sweeps load it for each run.

    Args:
        xml: the URDF.
        root_joint: name of the floating base's joint, None for a fixed base.
        meshes: mesh files and their modification times, as part of the cache key.
    """
    model = (
        pin.buildModelFromXML(xml)
        if root_joint is None
        else pin.buildModelFromXML(xml, pin.JointModelFreeFlyer(), root_joint)
    )
    collision = pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.COLLISION)
    visual = pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.VISUAL)
    _separate_frame_names(model)
    return model, collision, visual


def _mesh_stamps(root: Element) -> tuple[tuple[str, int], ...]:
    files = {mesh.get("filename", "") for mesh in root.iter("mesh")}
    return tuple((file, Path(file).stat().st_mtime_ns) for file in sorted(files) if is_file(Path(file)))


def _root_joint_name(root: Element) -> str:
    taken = {joint.get("name") for joint in root.findall("joint")}
    return OTHER_ROOT_JOINT if ROOT_JOINT in taken else ROOT_JOINT


def _pinocchio(path: Path, build: Callable[[], _T]) -> _T:
    try:
        return build()
    except Exception as error:  # pinocchio raises several types, among them bare RuntimeError and ValueError
        raise ConfigError([ConfigProblem(Location(path), f"cannot be read as a URDF: {_in_one_line(error)}")]) from None


def _in_one_line(error: Exception) -> str:
    """Return an error's message in one line, without the source location that coal's messages contain."""
    _, _, text = str(error).rpartition("message:")
    text, _, _ = text.partition("Hint:")
    return " ".join(text.split()) or type(error).__name__


def _check_moved_inertia(
    document: UrdfDocument, model: pin.Model, root_joint: str | None, mimics: Mapping[str, Mimic]
) -> None:
    """Refuse joints that move no inertia: their acceleration would be undetermined.

    Mimicking joints are excluded, since their leader determines their motion; the leader moves their inertia as well.
    """
    if model.nv == 0:
        return
    bent = pin.integrate(model, pin.neutral(model), 0.1 * np.sin(np.arange(model.nv)))  # away from singular postures
    velocities = np.eye(model.nv)  # of all joints, by velocity of those that mimic none
    for name, mimic in mimics.items():
        joint, leader = (model.joints[model.getJointId(each)].idx_v for each in (name, mimic.leader))
        velocities[joint, leader] = mimic.multiplier
    moved = np.einsum("ik,ij,jk->k", velocities, pin.crba(model, model.createData(), bent), velocities, optimize=True)
    elements = {joint.get("name", ""): joint for joint in document.root.findall("joint")}
    problems = Problems()
    for k, name in enumerate(list(model.names)[1:], start=1):
        joint = model.joints[k]
        least = float(moved[joint.idx_v : joint.idx_v + joint.nv].min())
        element = document.root if name == root_joint else elements[name]
        if name == root_joint and not any(inertia.mass for inertia in model.inertias):
            continue  # reported by the check of model files with a floating root
        if name in mimics or (message := excess("joint_inertia", least)) is None:
            continue
        subject = "the floating base" if name == root_joint else f"joint {name!r}"
        advice = f"; or give the links that it moves an <inertial>{'' if name == root_joint else ', or make it fixed'}"
        problems.add(document.location(element), f"{subject}: the inertia that it moves: {message}{advice}")
    problems.raise_if_any()


def _warn_of_odd_inertias(document: UrdfDocument) -> None:
    """Warn of physically inconsistent inertias; many published robots have some, and can still be simulated."""
    for link in document.root.findall("link"):
        inertia = link.find("inertial/inertia")
        moments = None if inertia is None else principal_moments(inertia)
        if inertia is None or moments is None or moments[2] <= moments[0] + moments[1] + INERTIA_ROUNDING:
            continue
        shown = ", ".join(f"{moment:.3g}" for moment in moments)
        _log.warning(
            "%s: link %r: no rigid body has this inertia: of its principal moments %s kg m² the largest is above the "
            "sum of the others",
            document.location(inertia),
            link.get("name"),
            shown,
        )


def _complete_limits(root: Element) -> None:
    """Add the limits that pinocchio's parser requires to joints without: zero effort, and an empty range."""
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        if joint.get("type") in ("revolute", "prismatic"):
            limit = SubElement(joint, "limit") if limit is None else limit
        if limit is not None:
            for name in ("effort", "velocity"):
                limit.attrib.setdefault(name, "0")


def _resolve_meshes(root: Element, path: Path) -> None:
    for link in root.findall("link"):
        for mesh in link.iter("mesh"):
            file = resolve_uri(mesh.get("filename", ""), relative_to=path.parent)
            note(file)
            mesh.set("filename", str(file))


def _separate_frame_names(model: pin.Model) -> None:
    """Rename joint frames with the name of a link: a name in a scenario refers to the link."""
    links = {frame.name for frame in model.frames if frame.type == pin.FrameType.BODY}
    for frame in list(model.frames)[1:]:
        if frame.type != pin.FrameType.BODY and frame.name in links:
            model.frames[model.getFrameId(frame.name, frame.type)].name = f"{frame.name} (joint)"


def _joints_with_effort(root: Element, model: pin.Model) -> tuple[str, ...]:
    names = []
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        effort = float(limit.get("effort", "0")) if limit is not None else 0.0
        name = joint.get("name", "")
        if model.existJointName(name) and math.isfinite(effort) and effort > 0:
            names.append(name)
    return tuple(names)


def _tinted_visuals(root: Element) -> frozenset[str]:
    """Return the names that pinocchio gives ("<link>_<k>") to visuals of the tint material."""
    return frozenset(
        f"{link.get('name')}_{k}"
        for link in root.findall("link")
        for k, visual in enumerate(link.findall("visual"))
        if (material := visual.find("material")) is not None and material.get("name") == TINT_MATERIAL
    )
