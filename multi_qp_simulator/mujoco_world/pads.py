"""Pads: collision shapes of contact surfaces whose links have no fitting shape."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from multi_qp_scene.scenario import Scenario
from multi_qp_scene.surface_fit import surface_fit
from multi_qp_scene.surfaces import Surface
from multi_qp_simulator.mujoco_world.shapes import body_name, wxyz

#: Thickness of the pad of a planar surface, and radius of the ball of a point surface, behind the surface [m]. The ball
#: is small, since links turn about points: with radius r it rolls by r θ, and lifts its link by r (1 − cos θ).
THICKNESS, RADIUS = 0.01, 0.002


def pad_name(surface: str) -> str:
    """Return the name of a surface's pad."""
    return f"{surface}#pad"


def padded_surfaces(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Return the names of the surfaces that touch by a pad, by contact."""
    scene = scenario.scene
    found: dict[str, tuple[str, ...]] = {}
    fits: dict[str, bool] = {}
    for name, contact in scenario.spec.contacts.items():
        own = [scene.surfaces[s] for s in contact.surfaces if s.partition("/")[0] in scene.subsystems]
        own = [] if contact.pad == "never" or scene.surfaces[contact.surfaces[0]].kind == "grasp" else own
        for surface in own:
            if surface.name not in fits:
                fits[surface.name] = surface_fit(scene, surface).fits
        found[name] = tuple(s.name for s in own if contact.pad == "always" or not fits[s.name])
    return found


def add_pads(spec: Any, scenario: Scenario, bodies: dict[str, Any], aligned: set[str]) -> dict[str, dict[str, str]]:
    """Add the pads to their bodies, and return their names by surface, by contact.

    Pads touch only what their contacts touch: they have no collision mask.

    Args:
        spec: the world.
        scenario: the scenario.
        bodies: bodies by name.
        aligned: names of the bodies whose boxes are convex hulls, see `add_shape`.
    """
    scene = scenario.scene
    by_contact = padded_surfaces(scenario)
    for name in dict.fromkeys(surface for surfaces in by_contact.values() for surface in surfaces):
        surface = scene.surfaces[name]
        place = body_name(scene, surface.joint_id, name.partition("/")[0])
        geom = _add_pad(spec, bodies[place], surface, scene.model.frames[surface.frame_id].placement, place in aligned)
        geom.contype = geom.conaffinity = 0
    return {contact: {surface: pad_name(surface) for surface in surfaces} for contact, surfaces in by_contact.items()}


def _add_pad(spec: Any, body: Any, surface: Surface, placement: Any, hull: bool) -> Any:
    """Add a pad with its outer face at the surface: a box or the prism of a polygon; a ball for a point."""
    x, y = surface.points[:, 0], surface.points[:, 1]
    middle, behind = np.zeros(3), RADIUS if surface.kind == "point" else 0.5 * THICKNESS
    middle[:2] = 0.5 * (x.max() + x.min()), 0.5 * (y.max() + y.min())
    middle[2] = -behind
    rectangle = surface.kind != "point" and len(x) == 4 and np.allclose(np.ptp(x) * np.ptp(y), _area(surface))
    if surface.kind != "point" and (hull or not rectangle):
        geom = body.add_geom(name=pad_name(surface.name), pos=placement.translation, quat=wxyz(placement.rotation))
        back = surface.points - np.array([0.0, 0.0, THICKNESS])
        mesh = spec.add_mesh(name=pad_name(surface.name), uservert=np.concatenate([surface.points, back]).ravel())
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        geom.type, geom.meshname = mujoco.mjtGeom.mjGEOM_MESH, pad_name(surface.name)
        return geom
    at, turned = placement.act(middle), wxyz(placement.rotation)
    geom = body.add_geom(name=pad_name(surface.name), pos=at, quat=turned)
    if surface.kind == "point":
        geom.type, geom.size[0] = mujoco.mjtGeom.mjGEOM_SPHERE, RADIUS
    else:
        geom.type = mujoco.mjtGeom.mjGEOM_BOX
        geom.size[:] = [0.5 * np.ptp(x), 0.5 * np.ptp(y), 0.5 * THICKNESS]
    return geom


def _area(surface: Surface) -> float:
    """Return the area of a planar surface [m²]."""
    x, y = surface.points[:, 0], surface.points[:, 1]
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
