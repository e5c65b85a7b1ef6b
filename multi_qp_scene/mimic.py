"""URDF `<mimic>`: which joints are moved by another one, through a gear or a linkage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

#: Joints that can lead or mimic: those with one degree of freedom.
MIMIC_TYPES = ("revolute", "continuous", "prismatic")
#: A posture may write a mimicking joint's angle as coarsely as this [rad].
POSTURE_ROUNDING = 1e-3


@dataclass(frozen=True)
class Mimic:
    """What a joint follows: angle = multiplier · angle of the leader + offset [rad or m]."""

    leader: str
    multiplier: float
    offset: float


def read_mimics(root: Element) -> dict[str, Mimic]:
    """Return what each mimicking joint of a checked URDF follows; chains are resolved: no leader mimics another."""
    written = {
        joint.get("name", ""): mimic_of(mimic)
        for joint in root.findall("joint")
        if joint.get("type") in MIMIC_TYPES and (mimic := joint.find("mimic")) is not None
    }
    return {name: _resolved(name, written) for name in written}


def mimic_of(element: Element) -> Mimic:
    """Return what a `<mimic>` says."""
    multiplier, offset = float(element.get("multiplier", "1")), float(element.get("offset", "0"))
    return Mimic(element.get("joint", ""), multiplier, offset)


def _resolved(name: str, written: Mapping[str, Mimic]) -> Mimic:
    mimic = written[name]
    while (further := written.get(mimic.leader)) is not None:
        offset = mimic.multiplier * further.offset + mimic.offset
        mimic = Mimic(further.leader, mimic.multiplier * further.multiplier, offset)
    return mimic


def contradictions(mimics: Mapping[str, Mimic], posture: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield the joints of a posture that cannot stand as it says beside their leaders, with the reason."""
    for joint, angle in posture.items():
        if (mimic := mimics.get(joint)) is None:
            continue
        leading = posture.get(mimic.leader, 0.0)
        follows = mimic.multiplier * leading + mimic.offset
        if abs(angle - follows) > POSTURE_ROUNDING:
            yield joint, f"'{joint}' mimics '{mimic.leader}': it is at {follows:g} where that is at {leading:g}"
