"""Is a URDF one that a scene can be built from? Says everything that is wrong, with the line and the link or joint.

The parser behind pinocchio stops at the first mistake, prints it to standard error without a line, and lets some pass.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from xml.etree.ElementTree import Element

import numpy as np

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.mimic import MIMIC_TYPES
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import resolve_uri
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.urdf_document import UrdfDocument

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
_INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

#: Attributes that hold numbers: element, attribute, how many.
_NUMBERS = {
    ("origin", "xyz"): 3,
    ("origin", "rpy"): 3,
    ("axis", "xyz"): 3,
    ("mass", "value"): 1,
    **{("inertia", name): 1 for name in _INERTIA},
    **{("limit", name): 1 for name in ("lower", "upper", "effort", "velocity")},
    **{("mimic", name): 1 for name in ("multiplier", "offset")},
    **{("dynamics", name): 1 for name in ("damping", "friction")},
    ("box", "size"): 3,
    ("sphere", "radius"): 1,
    **{("cylinder", name): 1 for name in ("radius", "length")},
    **{("capsule", name): 1 for name in ("radius", "length")},
    ("mesh", "scale"): 3,
}
_NOT_NEGATIVE = {
    ("mass", "value"),
    ("limit", "effort"),
    ("limit", "velocity"),
    ("box", "size"),
    ("sphere", "radius"),
    ("cylinder", "radius"),
    ("cylinder", "length"),
    ("capsule", "radius"),
    ("capsule", "length"),
}

#: A principal moment may be so far below zero: exporters round, and massless helper links hold made-up values [kg m²].
INERTIA_ROUNDING = 1e-6


def check_urdf(document: UrdfDocument, problems: Problems) -> None:
    """Check the links and joints of a URDF, and that the meshes exist."""
    _Checker(document, problems).check()


class _Checker:
    def __init__(self, document: UrdfDocument, problems: Problems) -> None:
        self._document = document
        self._problems = problems
        self._links = document.root.findall("link")
        self._joints = document.root.findall("joint")

    def check(self) -> None:
        for kind, elements in (("link", self._links), ("joint", self._joints)):
            self._check_names(kind, elements)
            for element in elements:
                self._check_numbers(element)
        for link in self._links:
            self._check_inertial(link)
            self._check_meshes(link)
        for joint in self._joints:
            self._check_joint(joint)
        self._check_mimics()
        self._check_tree()

    def _complain(self, owner: Element, place: Element, message: str) -> None:
        self._problems.add(self._document.location(place), f"{owner.tag} {owner.get('name', '')!r}: {message}")

    def _check_names(self, kind: str, elements: list[Element]) -> None:
        seen: set[str] = set()
        for element in elements:
            name = element.get("name", "")
            if not name:
                self._problems.add(self._document.location(element), f"a {kind} without a name")
            elif name in seen:
                self._complain(element, element, f"there is another {kind} of this name")
            seen.add(name)

    def _check_numbers(self, owner: Element) -> None:
        for element in owner.iter():
            for attribute, text in element.items():
                count = _NUMBERS.get((element.tag, attribute))
                if count is None:
                    continue
                where = f"<{element.tag} {attribute}={text!r}>"
                values = numbers(text)
                if values is None or len(values) != count:
                    expected = "a number" if count == 1 else f"{count} numbers"
                    self._complain(owner, element, f"{where}: expected {expected}")
                elif not (element.tag == "limit" or all(map(math.isfinite, values))) or any(map(math.isnan, values)):
                    self._complain(owner, element, f"{where}: expected a finite number")
                elif (element.tag, attribute) in _NOT_NEGATIVE and min(values) < 0:
                    unit = " kg" if element.tag == "mass" else ""
                    self._complain(owner, element, f"the {attribute_name(element, attribute)} {text}{unit} is negative")

    def _check_inertial(self, link: Element) -> None:
        inertial = link.find("inertial")
        if inertial is None:
            return
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        if mass is None or mass.get("value") is None:
            self._complain(link, inertial, "<inertial> holds no <mass value=...>")
        if inertia is None or not any(name in inertia.attrib for name in _INERTIA):
            self._complain(link, inertial, "<inertial> holds no <inertia ixx=... iyy=... izz=...>")
            return
        moments = principal_moments(inertia)
        if moments is not None and moments[0] < -max(INERTIA_ROUNDING, INERTIA_ROUNDING * moments[2]):
            shown = ", ".join(f"{moment:.3g}" for moment in moments)
            message = f"the inertia is not positive definite: its principal moments are {shown} kg m²"
            self._complain(link, inertia, message)

    def _check_meshes(self, link: Element) -> None:
        for mesh in link.iter("mesh"):
            if not mesh.get("filename"):
                self._complain(link, mesh, "<mesh> without a filename")
                continue
            try:
                resolve_uri(mesh.get("filename", ""), relative_to=self._document.path.parent)
            except MultiQpError as error:
                self._complain(link, mesh, f"mesh {error}")

    def _check_joint(self, joint: Element) -> None:
        kind = joint.get("type", "")
        if kind not in JOINT_TYPES:
            self._complain(joint, joint, unknown_name("type", kind, JOINT_TYPES))
        known = [link.get("name", "") for link in self._links]
        for end in ("parent", "child"):
            element = joint.find(end)
            if element is None:
                self._complain(joint, joint, f"<{end} link=...> is missing")
            elif (name := element.get("link", "")) not in known:
                self._complain(joint, element, f"{end} {unknown_name('link', name, known)}")
        axis, limit = joint.find("axis"), joint.find("limit")
        if axis is not None and kind in _WITH_AXIS and not any(numbers(axis.get("xyz", "1 0 0")) or [1.0]):
            self._complain(joint, axis, "the axis is zero")
        if limit is not None:
            lower, upper = (numbers(limit.get(name, "0")) for name in ("lower", "upper"))
            if lower and upper and lower > upper:
                self._complain(joint, limit, f"the lower limit {lower[0]:g} is above the upper limit {upper[0]:g}")

    def _check_mimics(self) -> None:
        """Every joint that mimics, at the end of its chain, follows one that moves and mimics nothing."""
        types = {joint.get("name", ""): joint.get("type", "") for joint in self._joints}
        written = {
            joint.get("name", ""): (joint, mimic)
            for joint in self._joints
            if joint.get("type") != "fixed" and (mimic := joint.find("mimic")) is not None
        }
        leaders = {name: mimic.get("joint", "") for name, (_, mimic) in written.items()}
        for name, (joint, mimic) in written.items():
            leader = leaders[name]
            if types[name] not in MIMIC_TYPES:
                self._complain(joint, mimic, f"a {types[name]} joint cannot mimic another")
            elif "joint" not in mimic.attrib:
                self._complain(joint, mimic, "<mimic> without a joint")
            elif leader not in types:
                others = [other for other in types if other != name]
                self._complain(joint, mimic, f"mimics {unknown_name('joint', leader, others)}")
            elif types[leader] not in MIMIC_TYPES:
                self._complain(joint, mimic, f"mimics '{leader}', which is a {types[leader]} joint")
            elif _comes_back(name, leaders):
                self._complain(joint, mimic, "mimics itself" if leader == name else f"mimics itself through '{leader}'")

    def _check_tree(self) -> None:
        """Every link but one hangs on one joint, and there are no loops."""
        if not self._links:
            self._problems.add(self._document.location(self._document.root), "there are no links")
            return
        parents = [(_end(joint, "parent"), _end(joint, "child")) for joint in self._joints]
        names = [link.get("name", "") for link in self._links]
        held = Counter(child for _, child in parents)
        for joint in self._joints:
            if held[child := _end(joint, "child")] > 1:
                self._complain(joint, joint, f"link {child!r} hangs on {held[child]} joints; a URDF is a tree")
        roots = [name for name in dict.fromkeys(names) if not held[name]]
        if len(roots) > 1:
            listed = ", ".join(map(repr, roots))
            message = f"{len(roots)} links hang on no joint: {listed}; a URDF has one root"
            self._problems.add(self._document.location(self._document.root), message)
        reached = _reached(roots, parents)
        loop = [name for name in dict.fromkeys(names) if name not in reached]
        if loop and max(held.values(), default=0) <= 1:
            message = f"the joints between {', '.join(map(repr, loop))} form a loop; a URDF is a tree"
            self._problems.add(self._document.location(self._document.root), message)


def numbers(text: str) -> list[float] | None:
    """Return the numbers in an attribute, None if it holds anything else."""
    try:
        return [float(part) for part in text.split()]
    except ValueError:
        return None


def principal_moments(inertia: Element) -> np.ndarray | None:
    """Return the principal moments of an `<inertia>`, ascending, (3,) [kg m²]; None if they cannot be read."""
    values = [numbers(inertia.get(name, "0")) for name in _INERTIA]
    if any(value is None or len(value) != 1 or not math.isfinite(value[0]) for value in values):
        return None
    ixx, iyy, izz, ixy, ixz, iyz = (value[0] for value in values if value)
    return np.linalg.eigvalsh(np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]))


def attribute_name(element: Element, attribute: str) -> str:
    """Return what a person calls an attribute: `mass`, `effort limit`, `box size`."""
    if element.tag == "mass":
        return "mass"
    return f"{attribute} {element.tag}" if element.tag == "limit" else f"{element.tag} {attribute}"


def _comes_back(name: str, leaders: dict[str, str]) -> bool:
    """Return whether a joint that follows others, by name, follows itself in the end."""
    passed, present = {name}, leaders[name]
    while present in leaders and present not in passed:
        passed.add(present)
        present = leaders[present]
    return present == name


def _end(joint: Element, end: str) -> str:
    element = joint.find(end)
    return "" if element is None else element.get("link", "")


def _reached(roots: Iterable[str], joints: list[tuple[str, str]]) -> set[str]:
    reached, border = set(roots), list(roots)
    while border:
        link = border.pop()
        new = [child for parent, child in joints if parent == link and child not in reached]
        reached.update(new)
        border.extend(new)
    return reached
