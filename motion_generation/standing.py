"""Scenarios that stand until a plan is received, with all contacts that a plan may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from motion_generation.state_parts import FOREVER, contact_name
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.plan import PlanSpec
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.surfaces import Surface

if TYPE_CHECKING:
    from contact_planner.faces import Face


#: Name of the state before the first plan.
WAITING = "waiting"
_NEAR = 5e-3  # [m] tolerance between the corners of a touching surface and a face; ground is soft in a physics engine
_FACING = -0.999  # cosine between the normals of touching surfaces


def ready_for_plans(scenario: Scenario) -> Scenario:
    """Return a scenario with a `plan` that stands at its start, with all contacts that any plan may use.

    All nodes of a graph then have the names of the contacts before a plan exists, and only the planner needs the plan.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    spec = _plan_of(scenario)
    own, faces = scenario.scene.surfaces, _faces(scenario, scenario.scene.q0)
    contacts = {
        contact_name(effector, face.name): ContactSpec(
            surfaces=(f"{spec.character}/{effector}", face.name), friction=face.friction
        )
        for effector in spec.limbs.values()
        for face in faces
        if own[f"{spec.character}/{effector}"].kind in ("planar", "point")
    }
    scenario = replace(
        scenario, spec=scenario.spec.model_copy(update={"contacts": {**scenario.spec.contacts, **contacts}})
    )
    return standing(scenario, [contact.name for contact in touching(scenario, scenario.scene.q0)])


def standing(scenario: Scenario, contacts: Sequence[str]) -> Scenario:
    """Return the scenario with one state, in which the character maintains its configuration at entry.

    Args:
        scenario: with a `plan`.
        contacts: names of the supporting contacts.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    body = scenario.scene.subsystems[_plan_of(scenario).character]
    tasks: dict[str, object] = {
        "planned_com": {"type": "com", "subsystems": [body.name], "weight": 1000, "stiffness": 100},
        "planned_posture": {
            "type": "posture", "subsystem": body.name, "posture": "entry", "weight": 2, "stiffness": 20,
        },
    }  # fmt: skip
    if body.floating:
        axes = ["z", "roll", "pitch", "yaw"]
        tasks["planned_base"] = {
            "type": "pose", "frame": body.base_link, "axes": axes, "weight": 20, "stiffness": 20,
        }  # fmt: skip
    state = StateSpec.model_validate(
        {"description": "waits for a plan", "contacts": list(contacts), "tasks": tasks, "hold": FOREVER}
    )
    states = {"states": {WAITING: state}, "initial_state": WAITING}
    return replace(scenario, spec=scenario.spec.model_copy(update=states))


def touching(scenario: Scenario, q: Array) -> tuple[Contact, ...]:
    """Return the contacts of the limbs that touch a face at a configuration of the whole scene, (nq,)."""
    spec, scene = _plan_of(scenario), scenario.scene
    data = place_frames(scene.model, q)
    faces, found = _faces(scenario, q), []
    for effector in spec.limbs.values():
        surface = scene.surfaces[f"{spec.character}/{effector}"]
        pose = data.oMf[surface.frame_id].copy()
        face = next((face for face in faces if _lies_on(surface, pose, face)), None)
        if face is not None:
            found.append(_contact(surface, spec.character, effector, pose, face))
    return tuple(found)


def _lies_on(surface: Surface, pose: pin.SE3, face: Face) -> bool:
    corners = surface.points @ pose.rotation.T + pose.translation
    level = bool((np.abs((corners - face.pose.translation) @ face.normal) <= _NEAR).all())
    facing = surface.kind != "planar" or pose.rotation[:, 2] @ face.normal <= _FACING
    return level and facing and face.holds(corners, -_NEAR)


def _contact(surface: Surface, subsystem: str, effector: str, pose: pin.SE3, face: Face) -> Contact:
    extent = 2.0 * np.abs(surface.points[:, :2]).max(axis=0)
    size = (float(extent[0]), float(extent[1])) if surface.kind == "planar" else (0.0, 0.0)
    points, normals = surface.points, surface.normals
    name = contact_name(effector, face.name)
    return Contact(name, subsystem, effector, pose, points, normals, face.friction, surface.kind, size, face.name)


def _faces(scenario: Scenario, q: Array) -> list[Face]:
    """Return the faces that a plan may touch, at a configuration of the whole scene, (nq,)."""
    from contact_planner.faces import faces_of

    spec = _plan_of(scenario)
    steep = np.cos(spec.slope) - 1e-9
    faces = faces_of(scenario.scene, q, names=spec.faces, friction=spec.friction, frictions=spec.frictions)
    return [face for face in faces if face.normal[2] >= steep]


def _plan_of(scenario: Scenario) -> PlanSpec:
    if scenario.spec.plan is None:
        raise MultiQpError(f"{scenario.name} has no `plan`")
    return scenario.spec.plan
