"""Reading of SRDF files: reference postures, rotors and disabled collision pairs."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from xml.etree.ElementTree import Element

import pinocchio as pin
from pydantic import ValidationError

from multi_qp_scene.errors import ConfigError, ConfigProblem, Location, MultiQpError, shown_path
from multi_qp_scene.files import exists, read_bytes
from multi_qp_scene.limits import excess
from multi_qp_scene.schema.model_file import MotorSpec
from multi_qp_scene.sources import note
from multi_qp_scene.suggestions import shortened
from multi_qp_scene.urdf import UrdfModel
from multi_qp_scene.urdf_document import parse_xml

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Srdf:
    """Content of an SRDF, restricted to the joints and links of a URDF.

    Attributes:
        postures: `<group_state>` by name: angles by joint [rad]; states of one name of several groups are one posture.
        motors: `<rotor_params>`, as pinocchio reads them: rotor inertia [kg m²] and gear ratio by actuated joint.
        disabled: pairs of links of `<disable_collisions>`.
    """

    postures: dict[str, dict[str, float]]
    motors: dict[str, MotorSpec]
    disabled: frozenset[frozenset[str]]

    def monitored_pairs(self, urdf: UrdfModel) -> list[tuple[str, str]]:
        """Return the pairs of links with collision shapes that can meet and are not disabled.

        Links of one rigid body, and of two bodies with a joint between them, are left out.
        """
        model = urdf.model
        joint_of = {
            model.frames[item.parentFrame].name: item.parentJoint for item in urdf.collision_model.geometryObjects
        }
        names = [name for name in urdf.links if name in joint_of]
        return [
            (a, b)
            for a, b in combinations(names, 2)
            if frozenset((a, b)) not in self.disabled and not _adjacent(model, joint_of[a], joint_of[b])
        ]


def read_srdf(path: Path, urdf: UrdfModel) -> Srdf:
    """Read an SRDF of a robot.

    Joints and links that the URDF lacks are left out, with a warning; so are joints that mimic another, which follow
    their leader, and joints with several values, such as the floating base, which the scenario places.

    Raises:
        ConfigError: with all errors of the file and their lines.
        MultiQpError: when the file is missing.
    """
    if not exists(path):
        raise MultiQpError(f"the SRDF {shown_path(path)} does not exist")
    note(path)
    root, lines = parse_xml(_content(path), path)
    if root.tag != "robot":
        message = f"not an SRDF: its top element is <{shortened(root.tag)}>, expected <robot>"
        raise ConfigError([ConfigProblem(Location(path, lines[root]), message)])
    problems: list[ConfigProblem] = []
    unknown: dict[str, None] = {}
    postures: dict[str, dict[str, float]] = {}
    for state in root.findall("group_state"):
        posture = postures.setdefault(state.get("name", ""), {})
        for joint in state.findall("joint"):
            name = joint.get("name", "")
            if name not in urdf.joints:
                if name and len(joint.get("value", "").split()) == 1:
                    unknown[f"joint '{shortened(name)}'"] = None
            elif name not in urdf.mimics:
                value = _angle(joint)
                if isinstance(value, str):
                    problems.append(ConfigProblem(Location(path, lines[joint]), f"joint '{name}': {value}"))
                else:
                    posture[name] = value
    motors: dict[str, MotorSpec] = {}
    for joint in root.iterfind("rotor_params/joint"):
        name = joint.get("name", "")
        if name not in urdf.actuated_joints:
            unknown[f"joint '{shortened(name)}'"] = None
            continue
        values = _number(joint, "mass"), _number(joint, "gear_ratio")
        message = next((value for value in values if isinstance(value, str)), "")
        if not message:
            try:
                motors[name] = MotorSpec.model_validate(dict(zip(("rotor_inertia", "gear_ratio"), values, strict=True)))
            except ValidationError as error:
                message = error.errors()[0]["msg"]
        if message:
            problems.append(ConfigProblem(Location(path, lines[joint]), f"rotor of joint '{name}': {message}"))
    disabled = set()
    for element in root.findall("disable_collisions"):
        pair = element.get("link1", ""), element.get("link2", "")
        unknown |= dict.fromkeys(f"link '{shortened(link)}'" for link in pair if link not in urdf.links)
        disabled.add(frozenset(pair))
    if problems:
        raise ConfigError(problems)
    if unknown:
        count = f"{len(unknown)} joints and links" if len(unknown) > 1 else "a joint or link"
        few = ", ".join(list(unknown)[:5]) + (", ..." if len(unknown) > 5 else "")
        _log.warning("%s names %s that %s lacks: %s", shown_path(path), count, shown_path(urdf.path), few)
    return Srdf(postures, motors, frozenset(disabled))


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, "xml_bytes")
    except MultiQpError as error:
        raise ConfigError([ConfigProblem(Location(path), str(error))]) from None


def _angle(joint: Element) -> float | str:
    """Return the value of a joint, or a message."""
    value = _number(joint, "value")
    return value if isinstance(value, str) else excess("angle", value, signed=True, zero=True) or value


def _number(element: Element, attribute: str) -> float | str:
    """Return the number of an attribute, or a message."""
    text = element.get(attribute, "")
    try:
        value = float(text)
    except ValueError:
        return f"{attribute}: expected one number, got '{shortened(text)}'"
    return value if math.isfinite(value) else f"{attribute}: expected a finite number, got '{shortened(text)}'"


def _adjacent(model: pin.Model, a: int, b: int) -> bool:
    return a == b or (a > 0 and model.parents[a] == b) or (b > 0 and model.parents[b] == a)
