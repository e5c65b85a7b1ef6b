"""Models of the environment without a model file: boxes given by their size, and the URDF of a single mesh."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import pinocchio as pin

from multi_qp_scene.config_file import YamlDocument
from multi_qp_scene.models import LoadedModel
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.schema.model_file import ModelFile, PlanarSurfaceSpec, SurfaceSpec
from multi_qp_scene.urdf import TINT_MATERIAL, UrdfModel

#: Name of the link of a box or mesh.
LINK, MESH_LINK = "block", "mesh"
#: Colour of environment models without a model file.
DEFAULT_COLOR = (0.62, 0.6, 0.56)
_QUARTER = 1.5707963267948966


def block_model(document: YamlDocument, size: tuple[float, float, float]) -> LoadedModel:
    """Return the model of a box whose frame is at its centre.

    Args:
        document: the scenario that contains the box.
        size: along x, y and z [m].

    Returns:
        A fixed model of one link, with a planar surface on each face: `front` (+x), `back` (-x), `left` (+y), `right`
        (-y), `top` (+z) and `bottom` (-z).
    """
    surfaces: dict[str, SurfaceSpec] = dict(box_faces(size, LINK))
    spec = ModelFile(description="box", urdf="", root="fixed", color=DEFAULT_COLOR, surfaces=surfaces)
    return LoadedModel(document, spec, _urdf_model(document.path or Path(), size))


def box_faces(size: tuple[float, float, float], link: str) -> dict[str, PlanarSurfaceSpec]:
    """Return the planar surfaces of a box on a link, in the box's frame, by name.

    Args:
        size: along x, y and z [m].
        link: name of the link that carries the box.
    """
    x, y, z = size
    placements = {
        "top": ((0.0, 0.0, z / 2), (0.0, 0.0, 0.0), (x, y)),
        "bottom": ((0.0, 0.0, -z / 2), (2 * _QUARTER, 0.0, 0.0), (x, y)),
        "front": ((x / 2, 0.0, 0.0), (0.0, _QUARTER, 0.0), (z, y)),
        "back": ((-x / 2, 0.0, 0.0), (0.0, -_QUARTER, 0.0), (z, y)),
        "left": ((0.0, y / 2, 0.0), (-_QUARTER, 0.0, 0.0), (x, z)),
        "right": ((0.0, -y / 2, 0.0), (_QUARTER, 0.0, 0.0), (x, z)),
    }
    return {
        name: PlanarSurfaceSpec(type="planar", link=link, xyz=xyz, rpy=rpy, size=extent)
        for name, (xyz, rpy, extent) in placements.items()
    }


def block_urdf(size: tuple[float, float, float]) -> str:
    """Return the URDF of a box of this size along x, y and z [m]."""
    shape = f'<geometry><box size="{size[0]} {size[1]} {size[2]}"/></geometry>'
    return (
        f'<robot name="block"><link name="{LINK}"><visual>{shape}<material name="{TINT_MATERIAL}">'
        f'<color rgba="0.6 0.6 0.6 1"/></material></visual><collision>{shape}</collision></link></robot>'
    )


def mesh_urdf(filename: str, scale: Vector3) -> Element:
    """Return the URDF of a mesh of that name."""
    robot = Element("robot", name="mesh")
    link = SubElement(robot, "link", name=MESH_LINK)
    for kind in ("visual", "collision"):
        part = SubElement(link, kind)
        factors = " ".join(f"{factor:.12g}" for factor in scale)
        SubElement(SubElement(part, "geometry"), "mesh", filename=filename, scale=factors)
        if kind == "visual":
            SubElement(SubElement(part, "material", name=TINT_MATERIAL), "color", rgba="0.6 0.6 0.6 1")
    return robot


def _urdf_model(path: Path, size: tuple[float, float, float]) -> UrdfModel:
    xml = block_urdf(size)
    model = pin.buildModelFromXML(xml)
    return UrdfModel(
        path=path,
        model=model,
        collision_model=pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.COLLISION),
        visual_model=pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.VISUAL),
        joints=(),
        actuated_joints=(),
        mimics={},
        links=(LINK,),
        tinted=frozenset({f"{LINK}_0"}),
    )
