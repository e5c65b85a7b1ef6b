"""Reading a URDF: pinocchio models out of it, and the few things that pinocchio does not keep."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import Element, SubElement

import pinocchio as pin

from multi_qp_scene.errors import ConfigError, Location, MultiQpError, Problem, shown_path
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

#: Material whose colour is replaced by the character's.
TINT_MATERIAL = "tint"
#: Name of the joint between the world and a floating base, and its stand-in where the URDF has a joint of that name.
ROOT_JOINT, OTHER_ROOT_JOINT = "root_joint", "floating_base_joint"


@dataclass(frozen=True)
class UrdfModel:
    """What was read from one URDF, names as in the file.

    What is read twice may be the same objects: copy before you change them.

    Attributes:
        path: the file.
        model: pinocchio model, with the root joint asked for.
        collision_model: collision geometry.
        visual_model: visual geometry.
        joints: movable joints of the file, in pinocchio's order, without the floating base's.
        actuated_joints: movable joints with a finite effort limit above zero that mimic no other, in the file's order.
        mimics: what each joint that mimics another follows, in the order of the file.
        links: names of all links.
        tinted: names of the visual geometries that take the character's colour.
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
        """Mass of what moves with its joints [kg]."""
        return float(sum(self.model.inertias[k].mass for k in range(1, self.model.njoints)))


def read_urdf(path: Path, *, free_flyer: bool, scale: Vector3 = UNSTRETCHED) -> UrdfModel:
    """Read a URDF with its geometry.

    Args:
        path: the file.
        free_flyer: whether its root floats.
        scale: factors by which a rigid body is stretched along its axes.

    Raises:
        ConfigError: with everything that is wrong in the file, and the lines.
        MultiQpError: when the file is missing, or cannot be stretched.
    """
    if not path.is_file():
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
    mimics = read_mimics(root)
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
    """Build pinocchio's models; kept, for a scene may hold one robot several times, and a sweep loads it for each run.

    Args:
        xml: the URDF.
        root_joint: name of the floating base's joint, None for a fixed base.
        meshes: files and when they were changed, which is all that they are needed for here.
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
    return tuple((file, Path(file).stat().st_mtime_ns) for file in sorted(files) if Path(file).is_file())


def _root_joint_name(root: Element) -> str:
    taken = {joint.get("name") for joint in root.findall("joint")}
    return OTHER_ROOT_JOINT if ROOT_JOINT in taken else ROOT_JOINT


def _pinocchio(path: Path, build: Callable[[], _T]) -> _T:
    try:
        return build()
    except Exception as error:  # pinocchio raises several types, among them bare RuntimeError and ValueError
        raise ConfigError([Problem(Location(path), f"cannot be read as a URDF: {_in_one_line(error)}")]) from None


def _in_one_line(error: Exception) -> str:
    """Return what an error says; coal's meshes say it on several lines, after the place in its own source."""
    _, _, said = str(error).rpartition("message:")
    said, _, _ = said.partition("Hint:")
    return " ".join(said.split()) or type(error).__name__


def _warn_of_odd_inertias(document: UrdfDocument) -> None:
    """Warn of inertias that no distribution of mass has: many published robots have some, and can still be moved."""
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
    """Give joints without limits what pinocchio's parser demands: no effort, and no range, which is none at all."""
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
    """Rename the frames of joints that are called like a link: a name in a scenario means the link."""
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
