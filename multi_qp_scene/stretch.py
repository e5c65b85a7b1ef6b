"""Scaling of a rigid body: a URDF and its surfaces, scaled along the axes of the link frame."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.schema.model_file import GraspSurfaceSpec, PlanarSurfaceSpec, SurfaceSpec
from multi_qp_scene.urdf_document import UrdfDocument

UNSTRETCHED: Vector3 = (1.0, 1.0, 1.0)
_ROUND = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}


def stretch_urdf(document: UrdfDocument, scale: Vector3) -> None:
    """Scale a URDF of one rigid link in place: shapes, centre of mass and inertia; the mass is unchanged.

    Args:
        document: the URDF; modified.
        scale: factors along x, y and z of the link's frame.

    Raises:
        MultiQpError: when there are joints, or round or rotated shapes would change their type.
    """
    if scale == UNSTRETCHED:
        return
    if document.root.find("joint") is not None:
        raise MultiQpError("only a model of one link can be scaled, and this one has joints")
    for link in document.root.findall("link"):
        for kind in ("visual", "collision"):
            for part in link.findall(kind):
                _stretch_shape(part, scale)
        _stretch_inertial(link.find("inertial"), scale)


def stretch_surfaces(surfaces: Mapping[str, SurfaceSpec], scale: Vector3) -> dict[str, SurfaceSpec]:
    """Return the surfaces of the scaled body.

    Raises:
        MultiQpError: when a handle would become elliptic, or a rectangle oblique.
    """
    if scale == UNSTRETCHED:
        return dict(surfaces)
    return {name: _stretch_surface(name, surface, np.array(scale)) for name, surface in surfaces.items()}


def _stretch_surface(name: str, surface: SurfaceSpec, scale: Array) -> SurfaceSpec:
    moved: dict[str, object] = {"xyz": tuple((scale * surface.xyz).tolist())}
    R = pin.rpy.rpyToMatrix(*surface.rpy)
    edges = scale[:, None] * R
    if isinstance(surface, PlanarSurfaceSpec):
        if np.abs(edges.T @ edges - np.diag(np.sum(edges**2, axis=0))).max() > 1e-9:
            raise MultiQpError(f"surface '{name}' would become oblique")
        lengths = np.linalg.norm(edges, axis=0)
        x, y = (float(length) for length in lengths[:2])
        if surface.size is not None:
            moved["size"] = (surface.size[0] * x, surface.size[1] * y)
        else:
            moved["outline"] = [(x * a, y * b) for a, b in surface.outline or ()]
    elif isinstance(surface, GraspSurfaceSpec):
        moved |= {"radius": surface.radius * _one_factor(scale), "length": surface.length * _one_factor(scale)}
    return surface.model_copy(update=moved)


def _stretch_shape(part: Element, scale: Vector3) -> None:
    origin, geometry = part.find("origin"), part.find("geometry")
    uniform = len(set(scale)) == 1
    if origin is not None:
        if not uniform and np.any(_numbers(origin.get("rpy"), 0.0)):
            raise MultiQpError("a rotated shape can only be scaled by the same factor along x, y and z")
        _multiply(origin, "xyz", scale, 0.0)
    for shape in geometry if geometry is not None else ():
        if shape.tag == "box":
            _multiply(shape, "size", scale, 0.0)
        elif shape.tag == "mesh":
            _multiply(shape, "scale", scale, 1.0)
        else:
            for length in _ROUND.get(shape.tag, ()):
                shape.set(length, f"{float(shape.get(length, '0')) * _one_factor(np.array(scale)):.12g}")


def _stretch_inertial(inertial: Element | None, scale: Vector3) -> None:
    """Scale the second moment of mass Σ m r rᵀ, from which the inertia is computed."""
    if inertial is None:
        return
    origin, inertia = inertial.find("origin"), inertial.find("inertia")
    if origin is not None:
        _multiply(origin, "xyz", scale, 0.0)
    if inertia is None:
        return
    names = {(i, j): f"i{'xyz'[i]}{'xyz'[j]}" for i in range(3) for j in range(i, 3)}
    about = np.zeros((3, 3))
    for (i, j), name in names.items():
        about[i, j] = about[j, i] = float(inertia.get(name, "0"))
    turn = np.eye(3) if origin is None else pin.rpy.rpyToMatrix(*_numbers(origin.get("rpy"), 0.0))
    about = turn @ about @ turn.T
    spread = np.diag(scale) @ (0.5 * np.trace(about) * np.eye(3) - about) @ np.diag(scale)
    about = turn.T @ (np.trace(spread) * np.eye(3) - spread) @ turn
    for (i, j), name in names.items():
        inertia.set(name, f"{about[i, j]:.12g}")


def _one_factor(scale: Array) -> float:
    if np.ptp(scale) > 0.0:
        raise MultiQpError("a round shape can only be scaled by the same factor along x, y and z")
    return float(scale[0])


def _multiply(element: Element, attribute: str, scale: Vector3, default: float) -> None:
    values = _numbers(element.get(attribute), default) * scale
    element.set(attribute, " ".join(f"{value:.12g}" for value in values))


def _numbers(text: str | None, default: float) -> Array:
    return np.full(3, default) if text is None else np.array([float(part) for part in text.split()])
