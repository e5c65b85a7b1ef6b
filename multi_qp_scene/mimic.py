"""URDF `<mimic>` relations: joints driven by another joint through a gear or a linkage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

#: Types of joints that can lead or mimic: those with one degree of freedom.
MIMIC_TYPES = ("revolute", "continuous", "prismatic")
#: Tolerance for a mimicking joint's angle in a posture [rad].
POSTURE_ROUNDING = 1e-3


@dataclass(frozen=True)
class Mimic:
    """Mimic relation of a joint: angle = multiplier · angle of the leader + offset [rad or m]."""

    leader: str
    multiplier: float
    offset: float


def read_mimics(root: Element) -> dict[str, Mimic]:
    """Return the mimic relations of a checked URDF by joint; chains are resolved: no leader mimics another joint."""
    written = {
        joint.get("name", ""): mimic_of(mimic)
        for joint in root.findall("joint")
        if joint.get("type") in MIMIC_TYPES and (mimic := joint.find("mimic")) is not None
    }
    return {name: _resolved(name, written) for name in written}


def mimic_of(element: Element) -> Mimic:
    """Return the content of a `<mimic>` element."""
    multiplier, offset = float(element.get("multiplier", "1")), float(element.get("offset", "0"))
    return Mimic(element.get("joint", ""), multiplier, offset)


def _resolved(name: str, written: Mapping[str, Mimic]) -> Mimic:
    mimic = written[name]
    while (further := written.get(mimic.leader)) is not None:
        offset = mimic.multiplier * further.offset + mimic.offset
        mimic = Mimic(further.leader, mimic.multiplier * further.multiplier, offset)
    return mimic


def mimic_violations(mimics: Mapping[str, Mimic], posture: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield the joints of a posture whose angles violate their mimic relations, with a message."""
    for joint, angle in posture.items():
        if (mimic := mimics.get(joint)) is None:
            continue
        leading = posture.get(mimic.leader, 0.0)
        follows = mimic.multiplier * leading + mimic.offset
        if abs(angle - follows) > POSTURE_ROUNDING:
            yield joint, f"'{joint}' mimics '{mimic.leader}': its angle is {follows:g} when the leader's is {leading:g}"
