"""Environment models with automatically extracted contact surfaces: from a mesh, or from the shapes of a URDF."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import tostring

import coal
import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from multi_qp_scene.arrays import Array
from multi_qp_scene.blocks import DEFAULT_COLOR, MESH_LINK, box_faces, mesh_urdf
from multi_qp_scene.config_file import YamlDocument
from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.facets import WIDTH, Facet, Solid, solids_of
from multi_qp_scene.mesh_files import check_meshes
from multi_qp_scene.models import LoadedModel
from multi_qp_scene.placement import pose_of
from multi_qp_scene.resources import resolve_uri
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.schema.model_file import ModelFile, PlanarSurfaceSpec, SurfaceSpec
from multi_qp_scene.sources import note
from multi_qp_scene.stretch import UNSTRETCHED
from multi_qp_scene.urdf import UrdfModel, read_urdf

_log = logging.getLogger(__name__)


def mesh_model(document: YamlDocument, uri: str, *, relative_to: Path, scale: Vector3 = UNSTRETCHED) -> LoadedModel:
    """Return the model of a triangle mesh: STL, OBJ, DAE or PLY.

    Args:
        document: the scenario that refers to the file.
        uri: of the mesh: a path, or package://...
        relative_to: the folder that relative paths start from.
        scale: factors along x, y and z of the mesh's frame.

    Returns:
        A fixed model, with a planar surface on each of its facets: `facet_1` is the largest. Its collision geometry
        consists of convex solids: closed convex shells, columns under the facets of shells without overhang, plates
        behind the facets of others.

    Raises:
        MultiQpError: the file does not exist, cannot be read, or is not a mesh with usable facets or solids.
    """
    file = resolve_uri(uri, relative_to=relative_to)
    note(file)
    if (wrong := check_meshes([file], solid=[file]).get(file)) is not None:
        raise MultiQpError(f"{shown_path(file)}: {wrong}")
    xml = tostring(mesh_urdf(str(file), scale), encoding="unicode")
    model = pin.buildModelFromXML(xml)
    try:
        collision, visual = (
            pin.buildGeomFromUrdfString(model, xml, kind)
            for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL)
        )
    except Exception as error:  # coal raises bare RuntimeErrors and ValueErrors, over several lines
        text = " ".join(str(error).rpartition("message:")[2].partition("Hint:")[0].split())
        raise MultiQpError(f"{shown_path(file)} cannot be read as a mesh: {text}") from None
    urdf = UrdfModel(file, model, collision, visual, (), (), {}, (MESH_LINK,), frozenset({f"{MESH_LINK}_0"}))
    return _with_found_surfaces(document, urdf, MESH_LINK)


def urdf_model(document: YamlDocument, uri: str, *, relative_to: Path, scale: Vector3 = UNSTRETCHED) -> LoadedModel:
    """Return the model of a URDF without moving joints, with the surfaces of its collision boxes and meshes.

    Args:
        document: the scenario that refers to the file.
        uri: of the URDF: a path, or package://...
        relative_to: the folder that relative paths start from.
        scale: factors along x, y and z of a URDF of one link.

    Returns:
        A fixed model. A box on link `step` has the surfaces `step_top`, `step_front` and so on, a mesh `step_facet_1`
        and so on; where a link has several shapes they are counted: `step_1_top`.

    Raises:
        MultiQpError: the file does not exist, is invalid, has moving joints, or a mesh has no usable facets or solids.
    """
    urdf = read_urdf(resolve_uri(uri, relative_to=relative_to), free_flyer=False, scale=scale)
    if urdf.joints:
        names = ", ".join(urdf.joints)
        message = (
            f"{shown_path(urdf.path)} has moving joints: {names}; models with moving joints belong under `subsystems`"
        )
        raise MultiQpError(message)
    return _with_found_surfaces(document, urdf, None)


def _with_found_surfaces(document: YamlDocument, urdf: UrdfModel, alone: str | None) -> LoadedModel:
    """Return a model with a surface on each face of its boxes and meshes; meshes become solids.

    Args:
        document: the scenario that refers to the file.
        urdf: as read.
        alone: name of the link whose surfaces are named without the link's name.
    """
    finder = _SurfaceExtraction(urdf)
    items = list(urdf.collision_model.geometryObjects)
    owners = [str(urdf.model.frames[item.parentFrame].name) for item in items]
    for k, (item, link) in enumerate(zip(items, owners, strict=True)):
        number = "" if owners.count(link) == 1 else f"_{owners[: k + 1].count(link)}"
        finder.add(item, link, f"{link}{number}", "" if link == alone else f"{link}{number}_")
    spec = ModelFile(description="found", urdf="", root="fixed", color=DEFAULT_COLOR, surfaces=finder.surfaces)
    return LoadedModel(document, spec, finder.model_with_solids())


class _SurfaceExtraction:
    def __init__(self, urdf: UrdfModel) -> None:
        self._urdf, self._model, self._collision = urdf, urdf.model.copy(), pin.GeometryModel()
        self._links = list(urdf.links)
        self.surfaces: dict[str, SurfaceSpec] = {}

    def model_with_solids(self) -> UrdfModel:
        """Return the URDF with solids instead of meshes, some of them on links of their own."""
        return replace(self._urdf, model=self._model, collision_model=self._collision, links=tuple(self._links))

    def add(self, item: pin.GeometryObject, link: str, stem: str, prefix: str) -> None:
        """Add one shape.

        Args:
            item: the shape.
            link: name of the link that carries it.
            stem: prefix of the names of additional links.
            prefix: prefix of the names of its surfaces.
        """
        X_link_item = self._model.frames[item.parentFrame].placement.actInv(item.placement)
        if isinstance(item.geometry, coal.BVHModelBase):
            self._add_mesh(item, link, stem, prefix, X_link_item)
            return
        self._collision.addGeometryObject(item)
        if isinstance(item.geometry, coal.Box):
            x, y, z = (float(side) for side in 2.0 * item.geometry.halfSide)
            for name, face in box_faces((x, y, z), link).items():
                pose = X_link_item * pose_of(face)
                self.surfaces[prefix + name] = face.model_copy(update=_placed(pose))

    def _add_mesh(self, item: pin.GeometryObject, link: str, stem: str, prefix: str, X_link_item: pin.SE3) -> None:
        solids = _solids(item, self._urdf.path)
        facets: list[tuple[Facet, str]] = []
        for number, solid in enumerate(solids, 1):
            # collision avoidance is off for links in contact: separate links keep it for the other parts of a hollow
            # mesh
            own = len(solids) > 1 and bool(solid.facets)
            part = f"{stem}_part_{number}" if own else link
            if own:
                self._add_link(part, item.parentFrame)
            frame = self._model.getFrameId(part, pin.FrameType.BODY)
            shape = _convex(solid.points, shown_path(Path(item.meshPath or self._urdf.path)))
            name = f"{part}_0" if own else f"{item.name}_{number}"
            piece = pin.GeometryObject(name, item.parentJoint, frame, item.placement, shape)
            piece.meshColor = item.meshColor
            self._collision.addGeometryObject(piece)
            facets += [(facet, part) for facet in solid.facets]
        facets.sort(key=lambda entry: _size_and_place(entry[0]))
        for number, (facet, part) in enumerate(facets, 1):
            outline = [(float(x), float(y)) for x, y in facet.outline]
            spec = PlanarSurfaceSpec(type="planar", link=part, outline=outline)
            self.surfaces[f"{prefix}facet_{number}"] = spec.model_copy(update=_placed(X_link_item * facet.pose))

    def _add_link(self, name: str, beside: int) -> None:
        place = self._model.frames[beside].placement
        self._model.addFrame(pin.Frame(name, 0, beside, place, pin.FrameType.BODY))
        self._links.append(name)


def _solids(item: pin.GeometryObject, path: Path) -> list[Solid]:
    shape = item.geometry
    vertices = np.array(shape.vertices()).reshape(-1, 3)
    corners = map(shape.tri_indices, range(shape.num_tris))
    triangles = np.array([(c[0], c[1], c[2]) for c in corners], dtype=np.int64).reshape(-1, 3)
    file = shown_path(Path(item.meshPath or path))
    try:
        solids = solids_of(vertices, triangles)
    except MultiQpError as error:
        raise MultiQpError(f"{file} is not usable as a contact or collision mesh: {error}") from None
    if not any(solid.facets for solid in solids):
        size = " x ".join(f"{length:.3g}" for length in np.ptp(vertices, axis=0))
        message = "%s: no planar facet is %g mm wide, it is an obstacle without surfaces; its size is %s m, see `scale`"
        _log.warning(message, file, 1e3 * WIDTH, size)
    return solids


def _convex(points: Array, file: str) -> coal.ConvexBase:
    try:
        ConvexHull(points)  # coal's crashes where they are flat
    except (QhullError, ValueError):
        raise MultiQpError(f"{file} is not usable as a contact or collision mesh: a part of it has no volume") from None
    corners = coal.StdVec_Vec3s()
    corners.extend(list(points))
    return coal.Convex.convexHull(corners, True, "Qt")


def _size_and_place(facet: Facet) -> tuple[float, ...]:
    """Return the sorting key of facets: by area, then by height, then by position."""
    x, y, z = facet.pose.translation
    return tuple(round(float(value), 4) + 0.0 for value in (-facet.area, z, x, y))


def _placed(pose: pin.SE3) -> dict[str, Vector3]:
    xyz, rpy = pose.translation, pin.rpy.matrixToRpy(pose.rotation)
    return {"xyz": (float(xyz[0]), float(xyz[1]), float(xyz[2])), "rpy": (float(rpy[0]), float(rpy[1]), float(rpy[2]))}
