"""Validation of URDF files; all errors are reported with the line and the link or joint.

The parser of pinocchio stops at the first error, prints it to standard error without a line, and accepts some invalid
files.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.limits import excess
from multi_qp_scene.mesh_files import check_meshes
from multi_qp_scene.mimic import MIMIC_TYPES
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import resolve_uri
from multi_qp_scene.suggestions import shortened, unknown_name
from multi_qp_scene.urdf_document import UrdfDocument

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
_INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

#: Numeric attributes: element, attribute, number of values.
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

#: Limits of attributes; joint position and velocity limits are not restricted.
_LIMITS = {
    ("origin", "xyz"): "position",
    ("origin", "rpy"): "angle",
    ("axis", "xyz"): "position",
    ("mass", "value"): "mass",
    **{("inertia", name): "inertia" for name in _INERTIA},
    ("limit", "effort"): "effort",
    ("mimic", "multiplier"): "mimic",
    ("mimic", "offset"): "angle",
    **{("dynamics", name): "force" for name in ("damping", "friction")},
    ("box", "size"): "length",
    ("sphere", "radius"): "length",
    **{("cylinder", name): "length" for name in ("radius", "length")},
    **{("capsule", name): "length" for name in ("radius", "length")},
    ("mesh", "scale"): "scale",
}

#: Tolerance for negative principal moments, due to rounding and arbitrary values of massless links [kg m²].
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
        shapes = sum(len(link.findall(kind)) for link in self._links for kind in ("visual", "collision"))
        for name, count in (("links", len(self._links)), ("links", len(self._joints)), ("shapes", shapes)):
            if (message := excess(name, count)) is not None:
                self._problems.add(self._document.location(self._document.root), f"its {name}: {message}")
                return
        for kind, elements in (("link", self._links), ("joint", self._joints)):
            self._check_names(kind, elements)
            for element in elements:
                self._check_numbers(element)
        for link in self._links:
            self._check_inertial(link)
        self._check_meshes()
        for joint in self._joints:
            self._check_joint(joint)
        self._check_mimics()
        self._check_tree()

    def _report_error(self, owner: Element, place: Element, message: str) -> None:
        self._problems.add(self._document.location(place), f"{owner.tag} {owner.get('name', '')!r}: {message}")

    def _check_names(self, kind: str, elements: list[Element]) -> None:
        seen: set[str] = set()
        for element in elements:
            name = element.get("name", "")
            if not name:
                self._problems.add(self._document.location(element), f"a {kind} without a name")
            elif (message := excess("name_length", len(name))) is not None:
                self._problems.add(self._document.location(element), f"the name {shortened(name)!r}: {message}")
            elif name in seen:
                self._report_error(element, element, f"there is another {kind} of this name")
            seen.add(name)

    def _check_numbers(self, owner: Element) -> None:
        for element in owner.iter():
            for attribute, text in element.items():
                count = _NUMBERS.get((element.tag, attribute))
                if count is None:
                    continue
                where = f"<{element.tag} {attribute}={shortened(text)!r}>"
                values = numbers(text)
                if values is None or len(values) != count:
                    expected = "a number" if count == 1 else f"{count} numbers"
                    self._report_error(owner, element, f"{where}: expected {expected}")
                elif not (element.tag == "limit" or all(map(math.isfinite, values))) or any(map(math.isnan, values)):
                    self._report_error(owner, element, f"{where}: expected a finite number")
                elif (element.tag, attribute) in _NOT_NEGATIVE and min(values) < 0:
                    unit = " kg" if element.tag == "mass" else ""
                    self._report_error(
                        owner, element, f"the {attribute_name(element, attribute)} {text}{unit} is negative"
                    )
                elif (message := _implausible(element, attribute, values)) is not None:
                    self._report_error(owner, element, f"{where}: {message}")

    def _check_inertial(self, link: Element) -> None:
        inertial = link.find("inertial")
        if inertial is None:
            return
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        if mass is None or mass.get("value") is None:
            self._report_error(link, inertial, "<inertial> has no <mass value=...>")
        if inertia is None or not any(name in inertia.attrib for name in _INERTIA):
            self._report_error(link, inertial, "<inertial> has no <inertia ixx=... iyy=... izz=...>")
            return
        moments = principal_moments(inertia)
        if moments is not None and moments[0] < -max(INERTIA_ROUNDING, INERTIA_ROUNDING * moments[2]):
            shown = ", ".join(f"{moment:.3g}" for moment in moments)
            message = f"the inertia is not positive definite: its principal moments are {shown} kg m²"
            self._report_error(link, inertia, message)

    def _check_meshes(self) -> None:
        uses: list[tuple[Element, Element, Path]] = []
        for link in self._links:
            for mesh in link.iter("mesh"):
                if not mesh.get("filename"):
                    self._report_error(link, mesh, "<mesh> without a filename")
                    continue
                try:
                    file = resolve_uri(mesh.get("filename", ""), relative_to=self._document.path.parent)
                    uses.append((link, mesh, file))
                except MultiQpError as error:
                    self._report_error(link, mesh, f"mesh {error}")
        solid = {mesh for link in self._links for shape in link.iter("collision") for mesh in shape.iter("mesh")}
        wrong = check_meshes((file for _, _, file in uses), solid={file for _, mesh, file in uses if mesh in solid})
        for link, mesh, file in uses:
            if file in wrong:
                self._report_error(link, mesh, f"mesh {shown_path(file)}: {wrong[file]}")

    def _check_joint(self, joint: Element) -> None:
        kind = joint.get("type", "")
        if kind not in JOINT_TYPES:
            self._report_error(joint, joint, unknown_name("type", kind, JOINT_TYPES))
        known = [link.get("name", "") for link in self._links]
        for end in ("parent", "child"):
            element = joint.find(end)
            if element is None:
                self._report_error(joint, joint, f"<{end} link=...> is missing")
            elif (name := element.get("link", "")) not in known:
                self._report_error(joint, element, f"{end} {unknown_name('link', name, known)}")
        axis, limit = joint.find("axis"), joint.find("limit")
        if axis is not None and kind in _WITH_AXIS and not any(numbers(axis.get("xyz", "1 0 0")) or [1.0]):
            self._report_error(joint, axis, "the axis is zero")
        if limit is not None:
            lower, upper = (numbers(limit.get(name, "0")) for name in ("lower", "upper"))
            if lower and upper and lower > upper:
                self._report_error(joint, limit, f"the lower limit {lower[0]:g} is above the upper limit {upper[0]:g}")

    def _check_mimics(self) -> None:
        """Check that the last leader of each mimic chain is a movable joint that does not mimic another."""
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
                self._report_error(joint, mimic, f"a {types[name]} joint cannot mimic another")
            elif "joint" not in mimic.attrib:
                self._report_error(joint, mimic, "<mimic> without a joint")
            elif leader not in types:
                others = [other for other in types if other != name]
                self._report_error(joint, mimic, f"mimics {unknown_name('joint', leader, others)}")
            elif types[leader] not in MIMIC_TYPES:
                self._report_error(joint, mimic, f"mimics '{leader}', which is a {types[leader]} joint")
            elif _is_cyclic(name, leaders):
                self._report_error(
                    joint, mimic, "mimics itself" if leader == name else f"mimics itself through '{leader}'"
                )

    def _check_tree(self) -> None:
        """Check that every link but one has one parent joint, and that there are no loops."""
        if not self._links:
            self._problems.add(self._document.location(self._document.root), "there are no links")
            return
        parents = [(_end(joint, "parent"), _end(joint, "child")) for joint in self._joints]
        names = [link.get("name", "") for link in self._links]
        held = Counter(child for _, child in parents)
        for joint in self._joints:
            if held[child := _end(joint, "child")] > 1:
                self._report_error(joint, joint, f"link {child!r} has {held[child]} parent joints; a URDF is a tree")
        roots = [name for name in dict.fromkeys(names) if not held[name]]
        if len(roots) > 1:
            listed = ", ".join(map(repr, roots))
            message = f"{len(roots)} links have no parent joint: {listed}; a URDF has one root"
            self._problems.add(self._document.location(self._document.root), message)
        reached = _reached(roots, parents)
        loop = [name for name in dict.fromkeys(names) if name not in reached]
        if loop and max(held.values(), default=0) <= 1:
            message = f"the joints between {', '.join(map(repr, loop))} form a loop; a URDF is a tree"
            self._problems.add(self._document.location(self._document.root), message)


def _implausible(element: Element, attribute: str, values: list[float]) -> str | None:
    """Return which of the numbers of an attribute is outside its limit; infinite ones are not limited."""
    name = _LIMITS.get((element.tag, attribute))
    if name is None:
        return None
    if name == "scale":  # negative factors mirror
        found = (excess(name, abs(value)) for value in values)
    else:
        signed = (element.tag, attribute) not in _NOT_NEGATIVE
        found = (excess(name, value, signed=signed, zero=True) for value in values if math.isfinite(value))
    return next(filter(None, found), None)


def numbers(text: str) -> list[float] | None:
    """Return the numbers in an attribute, None if it contains anything else."""
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
    """Return the name of an attribute for messages: `mass`, `effort limit`, `box size`."""
    if element.tag == "mass":
        return "mass"
    return f"{attribute} {element.tag}" if element.tag == "limit" else f"{element.tag} {attribute}"


def _is_cyclic(name: str, leaders: dict[str, str]) -> bool:
    """Return whether the mimic chain of a joint contains the joint itself."""
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
